//! What an operator sets about credentials, and how a bad setting is told.

use std::path::PathBuf;

use secrecy::SecretString;

use super::keys::KeysError;

/// Which credentials are accepted, besides API keys, which always are.
#[derive(Clone, Debug, Default)]
pub struct AuthOptions {
    /// The rules of `factum dev`: loopback peers need no credential and may name themselves.
    pub dev: bool,
    pub issuers: Vec<IssuerOptions>,
    /// What may be reached to fetch keys, and how much of it is read.
    pub outbound: factum_outbound::Options,
}

/// Somebody whose tokens (JWTs) are accepted. Whoever holds its keys may speak for every account its tokens name, so two
/// issuers that are not to meet need accounts that cannot be the same.
#[derive(Clone, Debug)]
pub struct IssuerOptions {
    /// Compared byte for byte with `iss`.
    pub issuer: String,
    /// Must be, or be among, `aud`.
    pub audience: String,
    pub keys: IssuerKeys,
    /// The signature algorithms accepted. Where empty: every asymmetric one, or HS256 with a secret.
    pub algorithms: Vec<String>,
    /// The claim that names the account. A claim at the top level; paths into nested claims are not understood.
    pub account_claim: String,
    /// The claim that names the principal. A name without a scheme gets `agent://` in front.
    pub principal_claim: String,
    /// The claim that lists scopes: a text separated by spaces, or an array. Scopes we do not know are ignored, and a token
    /// with none that we know may do nothing.
    pub scopes_claim: String,
    /// How far the issuer's clock may be off, for `exp` and `nbf`.
    pub leeway_seconds: u64,
}

/// Where an issuer's keys come from.
#[derive(Clone, Debug)]
pub enum IssuerKeys {
    /// A JSON Web Key Set on disk. Read again when it changes.
    JwksFile(PathBuf),
    /// A JSON Web Key Set behind an address: `https`, or `http` on loopback. A network that is not public has to be allowed.
    JwksUrl(String),
    /// One public key (SPKI or PKCS#1). Read again when it changes.
    PemFile(PathBuf),
    /// A shared secret, for HS256 and its longer kin.
    Secret(SecretString),
}

impl IssuerOptions {
    /// An issuer with the usual claims.
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>, keys: IssuerKeys) -> Self {
        Self {
            issuer: issuer.into(),
            audience: audience.into(),
            keys,
            algorithms: Vec::new(),
            account_claim: "account".to_owned(),
            principal_claim: "sub".to_owned(),
            scopes_claim: "scope".to_owned(),
            leeway_seconds: 30,
        }
    }
}

/// Why credentials cannot be checked with these options. All of them are for the operator to fix.
#[derive(Debug, thiserror::Error)]
pub enum AuthSetupError {
    #[error("issuer {issuer:?}: {problem}")]
    Option { issuer: String, problem: String },
    #[error("issuer {issuer:?}: {source}")]
    Keys { issuer: String, source: KeysError },
    #[error(transparent)]
    Outbound(factum_outbound::Error),
}
