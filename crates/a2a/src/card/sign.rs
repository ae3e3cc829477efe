//! Signing a card: a JWS (RFC 7515) over its canonical JSON, with an ES256 key. Where the key is kept is not known here.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use jsonwebtoken::jwk::{Jwk, PublicKeyUse, ThumbprintHash};
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};

use super::canonical::canonical;

/// The key that cards are signed with.
pub struct CardKey {
    key: EncodingKey,
    public: Jwk,
    kid: String,
}

impl std::fmt::Debug for CardKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CardKey").field("kid", &self.kid).finish_non_exhaustive()
    }
}

/// Why bytes are no key.
#[derive(Debug, thiserror::Error)]
#[error("this is no P-256 key in PKCS #8: {0}")]
pub struct BadKey(#[from] jsonwebtoken::errors::Error);

impl CardKey {
    /// A private P-256 key in PKCS #8. It is called by the thumbprint of its public part (RFC 7638).
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, BadKey> {
        let key = EncodingKey::from_ec_der(der);
        let mut public = Jwk::from_encoding_key(&key, Algorithm::ES256)?;
        let kid = public.thumbprint(ThumbprintHash::SHA256)?;
        public.common.key_id = Some(kid.clone());
        public.common.public_key_use = Some(PublicKeyUse::Signature);
        Ok(Self { key, public, kid })
    }

    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The public part, as it stands in a key set.
    pub fn jwk(&self) -> Value {
        json!(self.public)
    }

    /// Adds signatures: one over the card as it is, and where `reading` is given one over that: what is left of the card in
    /// the hands of a client that knows the fields of one version only, and checks those. `None` where it cannot be signed,
    /// which a card never is.
    pub fn sign(&self, card: &mut Value, reading: Option<&Value>, jku: &str) -> Option<()> {
        let whole = self.signature(card, jku)?;
        let signatures = std::iter::once(whole).chain(reading.and_then(|reading| self.signature(reading, jku)));
        card["signatures"] = signatures.collect();
        Some(())
    }

    fn signature(&self, card: &Value, jku: &str) -> Option<Value> {
        let header = json!({ "alg": "ES256", "typ": "JOSE", "kid": self.kid, "jku": jku });
        let protected = BASE64URL.encode(header.to_string());
        let input = format!("{protected}.{}", BASE64URL.encode(canonical(card).ok()?));
        let signature = jsonwebtoken::crypto::sign(input.as_bytes(), &self.key, Algorithm::ES256).ok()?;
        Some(json!({ "protected": protected, "signature": signature }))
    }
}
