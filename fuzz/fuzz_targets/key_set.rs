//! Key files of an issuer, a JSON Web Key Set or a PEM: a token is accepted only where the file holds the very key that
//! signed it, and a secret that others can read never counts as one.
//!
//! The first byte picks the kind of file; the rest is its content.

#![no_main]

use std::net::{IpAddr, Ipv4Addr};
use std::sync::OnceLock;

use aws_lc_rs::signature::Ed25519KeyPair;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use factum_api::{AuthOptions, Authenticator, IssuerKeys, IssuerOptions};
use factum_fuzz::random::Random;
use factum_fuzz::{json, world};
use hmac::{Hmac, KeyInit, Mac};
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use serde_json::{Value, json};
use sha2::Sha256;

/// The key of RFC 8037, appendix A: everybody has it.
const PRIVATE: &str = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A";
const PUBLIC: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
/// What a symmetric key of a set would be.
const SHARED: &str = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";

fuzz_target!(|data: &[u8]| {
    let Some((kind, content)) = data.split_first() else { return };
    let is_pem = kind & 1 != 0;
    let file = file();
    std::fs::write(file, content).expect("a file in memory");
    let keys = if is_pem { IssuerKeys::PemFile(file.into()) } else { IssuerKeys::JwksFile(file.into()) };
    let issuers = vec![IssuerOptions::new("https://id.example", "factum", keys)];
    world::with(&AuthOptions::default(), |world| {
        world.tokio.block_on(async {
            let options = AuthOptions { issuers, ..AuthOptions::default() };
            // A file that says nothing usable stops the start.
            let Ok(authenticator) = Authenticator::new(world.runtime.clone(), options).await else { return };
            let accepts = async |token: &str| {
                let header = format!("Bearer {token}");
                authenticator.authenticate(Some(&header), IpAddr::V4(Ipv4Addr::LOCALHOST)).await.is_ok()
            };
            for kid in ["", r#","kid":"one""#] {
                let asymmetric = token("EdDSA", kid, |text| pair().sign(text.as_bytes()).as_ref().to_vec());
                if accepts(&asymmetric).await {
                    assert!(holds(content, is_pem), "accepted without its key");
                }
                for secret in [&URL_SAFE_NO_PAD.decode(SHARED).expect("base64")[..], content, PUBLIC.as_bytes()] {
                    let symmetric = token("HS256", kid, |text| hmac(secret, text));
                    assert!(!accepts(&symmetric).await, "a public key was taken for a secret");
                }
            }
        });
    });
});

/// Whether the file holds the public key.
fn holds(content: &[u8], is_pem: bool) -> bool {
    let key = URL_SAFE_NO_PAD.decode(PUBLIC).expect("base64");
    if is_pem {
        let text = String::from_utf8_lossy(content);
        let lines = text.lines().filter(|line| !line.contains("-----"));
        let base64: String = lines.flat_map(str::chars).filter(|letter| !letter.is_whitespace()).collect();
        return STANDARD.decode(base64).is_ok_and(|der| der.windows(key.len()).any(|part| part == key));
    }
    // What stands in fields that nobody reads need not be UTF-8.
    let set: Value = serde_json::from_str(&String::from_utf8_lossy(content)).unwrap_or_default();
    let keys = set["keys"].as_array().cloned().unwrap_or_default();
    keys.iter().any(|one| {
        let x = one["x"].as_str().and_then(|x| URL_SAFE_NO_PAD.decode(x.trim_end_matches('=')).ok());
        x == Some(key.clone()) && one["kty"] == "OKP" && one["crv"] == "Ed25519"
    })
}

fn token(algorithm: &str, kid: &str, sign: impl FnOnce(&str) -> Vec<u8>) -> String {
    let header = format!(r#"{{"alg":"{algorithm}"{kid}}}"#);
    let claims = json!({
        "iss": "https://id.example", "aud": "factum", "exp": world::NOW + 60, "sub": "ada", "account": "acme",
    });
    let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims.to_string()));
    let signature = URL_SAFE_NO_PAD.encode(sign(&signed));
    format!("{signed}.{signature}")
}

fn hmac(secret: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("any length will do");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn pair() -> &'static Ed25519KeyPair {
    static PAIR: OnceLock<Ed25519KeyPair> = OnceLock::new();
    PAIR.get_or_init(|| {
        let seed = URL_SAFE_NO_PAD.decode(PRIVATE).expect("base64");
        Ed25519KeyPair::from_seed_unchecked(&seed).expect("a seed of 32 bytes")
    })
}

fn file() -> &'static std::path::Path {
    static FILE: OnceLock<tempfile::TempPath> = OnceLock::new();
    FILE.get_or_init(|| {
        let made = tempfile::NamedTempFile::new_in("/dev/shm").or_else(|_| tempfile::NamedTempFile::new());
        made.expect("a file").into_temp_path()
    })
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    json::mutate(data, size, max_size, seed, 1, words(), |random, head| {
        head[0] = 0;
        let count = random.below(3);
        json!({ "keys": (0..=count).map(|_| key(random)).collect::<Vec<_>>() })
    })
});

fn key(random: &mut Random) -> Value {
    match random.below(3) {
        0 => json!({ "kty": "oct", "k": SHARED, "alg": "HS256", "kid": "one" }),
        1 => json!({ "kty": "EC", "crv": "P-256", "x": PUBLIC, "y": PUBLIC, "use": "sig" }),
        _ => json!({ "kty": "OKP", "crv": "Ed25519", "x": PUBLIC, "kid": "one" }),
    }
}

fn words() -> &'static [String] {
    static WORDS: OnceLock<Vec<String>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let names = ["keys", "kty", "crv", "x", "y", "n", "e", "k", "kid", "use", "alg", "key_ops", "x5c"];
        let values = ["OKP", "EC", "RSA", "oct", "Ed25519", "P-256", "P-384", "sig", "enc", "EdDSA", "HS256", "RS256"];
        names.into_iter().chain(values).chain([PUBLIC, SHARED, "one", "AQAB", "none"]).map(str::to_owned).collect()
    })
}
