//! Checking the signatures of somebody's card against keys that the reader trusts. Getting those keys, and deciding whose to
//! trust, is the reader's: a `jku` in a card says where its writer claims they are, and is never followed here.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

use super::canonical::{NotCanonical, canonical, canonical_without_empty};

/// Signatures of a card that are looked at, at most.
const SIGNATURES_MAX: usize = 16;

/// Why a card is not to be trusted.
#[derive(Debug, thiserror::Error)]
pub enum Unverified {
    #[error("the card is no JSON object: {0}")]
    NoCard(String),
    #[error("the key set cannot be read: {0}")]
    NoKeys(serde_json::Error),
    #[error("the card is not signed")]
    NotSigned,
    #[error("no key in the key set is one that the card names ({0})")]
    UnknownKey(String),
    #[error("the signature does not fit the card: it was changed, or signed by somebody else")]
    Forged,
}

impl From<NotCanonical> for Unverified {
    fn from(error: NotCanonical) -> Self {
        Self::NoCard(error.to_string())
    }
}

#[derive(Deserialize)]
struct Signature {
    protected: String,
    signature: String,
}

#[derive(Deserialize)]
struct Protected {
    alg: Algorithm,
    kid: String,
    /// Names what a verifier has to understand, and this one understands none of it (RFC 7515 §4.1.11).
    crit: Option<Value>,
}

/// Checks a card: one signature that fits, by a key of the set, is enough. Tells the id of that key.
pub fn verify_card(card: &str, jwks: &str) -> Result<String, Unverified> {
    let card: Value = serde_json::from_str(card).map_err(|error| Unverified::NoCard(error.to_string()))?;
    let keys: JwkSet = serde_json::from_str(jwks).map_err(Unverified::NoKeys)?;
    let signatures = card.get("signatures").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if signatures.is_empty() {
        return Err(Unverified::NotSigned);
    }
    let payloads = [canonical(&card)?, canonical_without_empty(&card)?].map(|payload| BASE64URL.encode(payload));
    let mut unknown = Vec::new();
    let mut known = false;
    for signature in signatures.iter().take(SIGNATURES_MAX).filter_map(|one| Signature::deserialize(one).ok()) {
        let Some(protected) = protected(&signature.protected) else { continue };
        let Some(key) = keys.find(&protected.kid) else {
            unknown.push(protected.kid);
            continue;
        };
        known = true;
        if payloads.iter().any(|payload| fits(&signature, protected.alg, key, payload)) {
            return Ok(protected.kid);
        }
    }
    if known || unknown.is_empty() { Err(Unverified::Forged) } else { Err(Unverified::UnknownKey(unknown.join(", "))) }
}

fn protected(encoded: &str) -> Option<Protected> {
    let bytes = BASE64URL.decode(encoded).ok()?;
    let protected: Protected = serde_json::from_slice(&bytes).ok()?;
    // A shared secret proves nothing about who signed, and a public key must never be taken for one.
    let symmetric = matches!(protected.alg, Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512);
    (!symmetric && protected.crit.is_none()).then_some(protected)
}

fn fits(signature: &Signature, algorithm: Algorithm, key: &Jwk, payload: &str) -> bool {
    // A key that says what it is for is not used for anything else.
    let meant = key.common.key_algorithm.is_none_or(|meant| meant.to_string() == format!("{algorithm:?}"));
    let Ok(key) = DecodingKey::from_jwk(key) else { return false };
    let input = format!("{}.{payload}", signature.protected);
    meant && jsonwebtoken::crypto::verify(&signature.signature, input.as_bytes(), &key, algorithm).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
    use serde_json::json;

    use super::*;
    use crate::card::tests::sample;
    use crate::card::{CardKey, Form};

    fn key() -> CardKey {
        let pair = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
        CardKey::from_pkcs8(pair.as_ref()).unwrap()
    }

    fn keys(of: &[&CardKey]) -> String {
        json!({ "keys": of.iter().map(|key| key.jwk()).collect::<Vec<_>>() }).to_string()
    }

    fn signed(key: &CardKey, form: Form) -> Value {
        let card = sample().agent_card();
        let mut signed = form.write(&card);
        let reading = (form == Form::V0_3).then(|| Form::V1_0.write(&card));
        key.sign(&mut signed, reading.as_ref(), "https://example.com/.well-known/jwks.json").unwrap();
        signed
    }

    #[test]
    fn a_card_is_verified_by_its_key_in_every_form() {
        let (ours, other) = (key(), key());
        for form in [Form::V1_0, Form::V0_3, Form::April2025] {
            let card = signed(&ours, form).to_string();
            assert_eq!(verify_card(&card, &keys(&[&other, &ours])).unwrap(), ours.kid(), "{form:?}");
            let unknown = verify_card(&card, &keys(&[&other]));
            assert!(matches!(unknown, Err(Unverified::UnknownKey(_))), "{unknown:?}");
        }
        let header = signed(&ours, Form::V1_0)["signatures"][0]["protected"].as_str().unwrap().to_owned();
        let header: Value = serde_json::from_slice(&BASE64URL.decode(header).unwrap()).unwrap();
        let jku = "https://example.com/.well-known/jwks.json";
        assert_eq!(header, json!({ "alg": "ES256", "typ": "JOSE", "kid": ours.kid(), "jku": jku }));
    }

    /// A client of 1.0 that drops the fields of 0.3 before it checks is satisfied, too.
    #[test]
    fn the_card_of_both_versions_also_holds_as_one_of_1_0() {
        let ours = key();
        let both = signed(&ours, Form::V0_3);
        let mut read = Form::V1_0.write(&sample().agent_card());
        read["signatures"] = both["signatures"].clone();
        assert_eq!(verify_card(&read.to_string(), &keys(&[&ours])).unwrap(), ours.kid());
    }

    #[test]
    fn whoever_changes_anything_is_found_out() {
        let (ours, other) = (key(), key());
        let set = keys(&[&ours, &other]);
        let card = signed(&ours, Form::V1_0);
        let changes: [fn(&mut Value); 6] = [
            |card| card["name"] = json!("evil"),
            |card| card["supportedInterfaces"][0]["url"] = json!("https://evil.example"),
            |card| card["more"] = json!(true),
            |card| drop(card.as_object_mut().unwrap().remove("securityRequirements")),
            |card| card["signatures"][0]["signature"] = json!("AAAA"),
            |card| card["signatures"][0]["protected"] = json!("AAAA"),
        ];
        for (at, change) in changes.into_iter().enumerate() {
            let mut changed = card.clone();
            change(&mut changed);
            let outcome = verify_card(&changed.to_string(), &set);
            assert!(matches!(outcome, Err(Unverified::Forged)), "{at}: {outcome:?}");
        }
        // The id of our key over the signature of another.
        let mut forged = signed(&other, Form::V1_0);
        forged["signatures"][0]["protected"] = card["signatures"][0]["protected"].clone();
        assert!(matches!(verify_card(&forged.to_string(), &set), Err(Unverified::Forged)));
    }

    #[test]
    fn what_proves_nothing_is_refused() {
        let ours = key();
        let set = keys(&[&ours]);
        let mut plain = Form::V1_0.write(&sample().agent_card());
        assert!(matches!(verify_card(&plain.to_string(), &set), Err(Unverified::NotSigned)));
        for header in [
            json!({ "alg": "none", "kid": ours.kid() }),
            json!({ "alg": "HS256", "kid": ours.kid() }),
            json!({ "alg": "ES384", "kid": ours.kid() }),
            json!({ "alg": "ES256", "kid": ours.kid(), "crit": ["exp"] }),
        ] {
            let protected = BASE64URL.encode(header.to_string());
            plain["signatures"] = json!([{ "protected": protected, "signature": "" }]);
            assert!(matches!(verify_card(&plain.to_string(), &set), Err(Unverified::Forged)), "{header}");
        }
        assert!(matches!(verify_card("[", &set), Err(Unverified::NoCard(_))));
        assert!(matches!(verify_card("{}", "[]"), Err(Unverified::NoKeys(_))));
    }
}
