//! Tokens of every kind, well-formed or not: header and claims are texts, so that a test can write what no library would.

use std::sync::LazyLock;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
    Ed25519KeyPair, KeyPair,
};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use serde_json::{Value, json};

use super::{AUDIENCE, ISSUER, NOW};

/// Somebody who signs tokens.
pub(super) struct Signer {
    key: EncodingKey,
    algorithm: Algorithm,
    /// The public key, SPKI in PEM.
    pub(super) public_pem: String,
}

/// RSA keys are slow to make, so there are two for all tests.
pub(super) static RSA: LazyLock<Signer> = LazyLock::new(Signer::rsa);
pub(super) static RSA_OTHER: LazyLock<Signer> = LazyLock::new(Signer::rsa);

impl Signer {
    pub(super) fn rsa() -> Self {
        let pair = aws_lc_rs::rsa::KeyPair::generate(KeySize::Rsa2048).unwrap();
        let private: Pkcs8V1Der<'_> = pair.as_der().unwrap();
        let public: PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
        let key = EncodingKey::from_rsa_pem(pem("PRIVATE KEY", private.as_ref()).as_bytes()).unwrap();
        Self { key, algorithm: Algorithm::RS256, public_pem: pem("PUBLIC KEY", public.as_ref()) }
    }

    pub(super) fn p256() -> Self {
        Self::ec(&ECDSA_P256_SHA256_FIXED_SIGNING, Algorithm::ES256)
    }

    pub(super) fn p384() -> Self {
        Self::ec(&ECDSA_P384_SHA384_FIXED_SIGNING, Algorithm::ES384)
    }

    fn ec(curve: &'static EcdsaSigningAlgorithm, algorithm: Algorithm) -> Self {
        let private = EcdsaKeyPair::generate_pkcs8(curve, &SystemRandom::new()).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(curve, private.as_ref()).unwrap();
        let public: PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
        let key = EncodingKey::from_ec_der(private.as_ref());
        Self { key, algorithm, public_pem: pem("PUBLIC KEY", public.as_ref()) }
    }

    pub(super) fn ed25519() -> Self {
        let private = Ed25519KeyPair::generate_pkcs8v1(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(private.as_ref()).unwrap();
        let public: PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
        let key = EncodingKey::from_ed_der(private.as_ref());
        Self { key, algorithm: Algorithm::EdDSA, public_pem: pem("PUBLIC KEY", public.as_ref()) }
    }

    pub(super) fn secret(secret: &[u8], algorithm: Algorithm) -> Self {
        Self { key: EncodingKey::from_secret(secret), algorithm, public_pem: String::new() }
    }

    /// The public key as an entry of a key set, without `alg`.
    pub(super) fn jwk(&self, kid: &str) -> Value {
        let mut jwk = serde_json::to_value(Jwk::from_encoding_key(&self.key, self.algorithm).unwrap()).unwrap();
        jwk["kid"] = json!(kid);
        jwk.as_object_mut().unwrap().remove("alg");
        jwk
    }

    /// A token under a `kid` with the usual claims.
    pub(super) fn token(&self, kid: &str) -> String {
        self.claiming(kid, &claims())
    }

    /// A token under a `kid` with these claims.
    pub(super) fn claiming(&self, kid: &str, claims: &Value) -> String {
        let header = json!({ "typ": "JWT", "alg": format!("{:?}", self.algorithm), "kid": kid });
        self.raw(&header.to_string(), &claims.to_string())
    }

    /// Signs any two texts with this signer's own algorithm, whatever the header says.
    pub(super) fn raw(&self, header: &str, claims: &str) -> String {
        let message = unsigned(header, claims);
        let signature = crypto::sign(message.as_bytes(), &self.key, self.algorithm).unwrap();
        format!("{message}.{signature}")
    }
}

/// The usual claims.
pub(super) fn claims() -> Value {
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "account": "acme", "scope": "sessions:read openid", "exp": NOW + 600,
    })
}

/// The usual claims with some others instead; `null` takes one out.
pub(super) fn claims_with(changes: &Value) -> Value {
    let mut claims = claims();
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        } else {
            claims[name] = value.clone();
        }
    }
    claims
}

/// Header and claims, encoded, without a signature.
pub(super) fn unsigned(header: &str, claims: &str) -> String {
    format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims))
}

pub(super) fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<_> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}
