//! From what is configured of a peer to what the client needs: secrets and keys are read from their files.

use std::path::Path;

use anyhow::{Context, Result};
use factum_a2a::client::{Credential, PeerOptions, Trust};
use secrecy::SecretString;

use crate::config::{CardKeys, Peer, PeerCredential};

pub(super) fn of(name: &str, peer: &Peer) -> Result<PeerOptions> {
    let secret = |path: &Path| -> Result<SecretString> {
        let text = std::fs::read_to_string(path);
        let text =
            text.with_context(|| format!("the credential of peers.{name} cannot be read from {}", path.display()))?;
        Ok(SecretString::from(text.trim_end().to_owned()))
    };
    let credential = match &peer.credential {
        PeerCredential::None => Credential::None,
        PeerCredential::TokenFile(path) => Credential::Bearer(secret(path)?),
        PeerCredential::ApiKeyFile { header, path } => {
            Credential::Header { name: header.clone(), value: secret(path)? }
        }
    };
    let trust = match &peer.card_keys {
        CardKeys::None => Trust::Connection,
        CardKeys::Own => Trust::OwnKeys { verify: verifier() },
        CardKeys::File(path) => Trust::Keys { jwks: keys(name, path)?, verify: verifier() },
    };
    Ok(PeerOptions { url: peer.url.clone(), credential, trust, idempotent: peer.idempotent })
}

fn keys(name: &str, path: &Path) -> Result<serde_json::Value> {
    let text = std::fs::read_to_string(path);
    let text = text.with_context(|| format!("the keys of peers.{name} cannot be read from {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is no JSON Web Key Set", path.display()))
}

/// Checks signatures of cards.
fn verifier() -> factum_a2a::client::VerifyCard {
    std::sync::Arc::new(|card, jwks| {
        factum_a2a::verify_card(&card.to_string(), &jwks.to_string()).map(drop).map_err(|error| error.to_string())
    })
}
