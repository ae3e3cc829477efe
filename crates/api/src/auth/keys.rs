//! An issuer's public keys, and which of them a token's header selects.
//!
//! A key knows the algorithms it is good for: those of its type, cut down to what the operator allows and what the key
//! itself declares. A header can only choose among them, so no token can talk us into checking it in another way: a public
//! RSA key is never used as an HMAC secret, and `none` is not an algorithm. A `kid` is compared, nothing else.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

/// The most keys of one issuer. Providers publish two to five.
const KEYS_MAX: usize = 64;

/// Why keys could not be read.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    #[error("the key file {path} cannot be read: {source}")]
    File { path: String, source: std::io::Error },
    #[error("the key set cannot be fetched: {0}")]
    Fetch(#[from] factum_outbound::Error),
    #[error("the key set was answered with status {0}, not 200")]
    Status(u16),
    #[error("the keys are larger than {0} bytes")]
    TooLarge(u64),
    #[error("the key set is not JSON of the form {{\"keys\": [...]}}: {0}")]
    NotJwks(#[from] serde_json::Error),
    #[error("this is a private key; configure the public one and keep the other where tokens are signed")]
    Private,
    #[error("this is not a public RSA, EC (P-256, P-384) or Ed25519 key in PEM")]
    NotPem,
    #[error("none of the keys is good for the allowed algorithms")]
    NoneUsable,
}

/// One public key, or a secret, and what it is good for.
#[derive(Debug)]
pub(super) struct Key {
    kid: Option<String>,
    algorithms: Vec<Algorithm>,
    pub(super) key: DecodingKey,
}

/// The keys of one issuer.
#[derive(Debug, Default)]
pub(super) struct KeySet {
    keys: Vec<Key>,
    /// A key that stands alone has no name, so a token's `kid` says nothing about it.
    unnamed: bool,
}

impl KeySet {
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The one key that fits. Where two would, neither is guessed.
    pub(super) fn find(&self, kid: Option<&str>, algorithm: Algorithm) -> Option<&Key> {
        let named = |key: &&Key| self.unnamed || kid.is_none() || key.kid.as_deref() == kid;
        let mut fitting = self.keys.iter().filter(|key| key.algorithms.contains(&algorithm)).filter(named);
        fitting.next().filter(|_| fitting.next().is_none())
    }

    /// A shared secret.
    pub(super) fn secret(secret: &[u8], allowed: &[Algorithm]) -> Self {
        Self::single(DecodingKey::from_secret(secret), allowed.to_vec())
    }

    /// One public key in PEM.
    pub(super) fn pem(bytes: &[u8], allowed: &[Algorithm]) -> Result<Self, KeysError> {
        let label = b"PRIVATE KEY-----";
        if bytes.windows(label.len()).any(|window| window == label) {
            return Err(KeysError::Private);
        }
        let key = DecodingKey::from_rsa_pem(bytes)
            .or_else(|_| DecodingKey::from_ec_pem(bytes))
            .or_else(|_| DecodingKey::from_ed_pem(bytes))
            .map_err(|_| KeysError::NotPem)?;
        let good = pem_algorithms(&key);
        Ok(Self::single(key, good.iter().copied().filter(|algorithm| allowed.contains(algorithm)).collect()))
    }

    /// A JSON Web Key Set. Keys we do not understand are left out, as RFC 7517 §5 asks.
    pub(super) fn jwks(bytes: &[u8], allowed: &[Algorithm]) -> Result<Self, KeysError> {
        #[derive(Deserialize)]
        struct Document {
            keys: Vec<Value>,
        }
        let document: Document = serde_json::from_slice(bytes)?;
        let keys = document.keys.into_iter().take(KEYS_MAX).filter_map(|key| Key::from_jwk(key, allowed)).collect();
        Ok(Self { keys, unnamed: false })
    }

    fn single(key: DecodingKey, algorithms: Vec<Algorithm>) -> Self {
        let keys = if algorithms.is_empty() { Vec::new() } else { vec![Key { kid: None, algorithms, key }] };
        Self { keys, unnamed: true }
    }
}

impl Key {
    fn from_jwk(key: Value, allowed: &[Algorithm]) -> Option<Key> {
        let jwk: Jwk = serde_json::from_value(key).ok()?;
        if jwk.common.public_key_use.as_ref().is_some_and(|used| *used != PublicKeyUse::Signature) {
            return None;
        }
        let declared = match jwk.common.key_algorithm {
            Some(algorithm) => Some(Algorithm::try_from(algorithm).ok()?),
            None => None,
        };
        let fits = |algorithm: &Algorithm| allowed.contains(algorithm) && declared.is_none_or(|it| it == *algorithm);
        let algorithms: Vec<_> = jwk_algorithms(&jwk.algorithm).iter().copied().filter(fits).collect();
        let key = DecodingKey::from_jwk(&jwk).ok()?;
        (!algorithms.is_empty()).then_some(Key { kid: jwk.common.key_id, algorithms, key })
    }
}

/// The asymmetric algorithms, which are all that is allowed unless the operator says otherwise.
pub(super) const ASYMMETRIC: &[Algorithm] = &[
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// The first six of them.
const RSA: &[Algorithm] = ASYMMETRIC.split_at(6).0;

/// What a key of a set is good for by its type. A symmetric key in a set that others can read is no secret.
fn jwk_algorithms(parameters: &AlgorithmParameters) -> &'static [Algorithm] {
    match parameters {
        AlgorithmParameters::RSA(_) => RSA,
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => &[Algorithm::ES256],
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P384 => &[Algorithm::ES384],
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => &[Algorithm::EdDSA],
        _ => &[],
    }
}

/// The same for a key in PEM, where the length of the point tells the curve.
fn pem_algorithms(key: &DecodingKey) -> &'static [Algorithm] {
    use jsonwebtoken::AlgorithmFamily;
    match (key.family(), key.try_get_as_bytes().map_or(0, <[u8]>::len)) {
        (AlgorithmFamily::Rsa, _) => RSA,
        (AlgorithmFamily::Ec, 65) => &[Algorithm::ES256],
        (AlgorithmFamily::Ec, 97) => &[Algorithm::ES384],
        (AlgorithmFamily::Ed, 32) => &[Algorithm::EdDSA],
        _ => &[],
    }
}
