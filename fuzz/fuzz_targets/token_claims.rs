//! The header and the claims of a token whose signature is right, or wrong in one of the ways that have fooled others. Only
//! a right one for us, of our issuer, within its time, is anybody, and then exactly whom it names.
//!
//! The first byte says how it is signed; then come the header and, on the next line, the claims.

#![no_main]

use std::net::{IpAddr, Ipv4Addr};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use factum_api::{AuthOptions, Authenticator, IssuerKeys, IssuerOptions};
use factum_fuzz::random::Random;
use factum_fuzz::{json, world};
use factum_model::ErrorCode;
use factum_model::registry::{Scope, Scopes};
use hmac::{Hmac, KeyInit, Mac};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use secrecy::SecretString;
use serde_json::{Value, json};
use sha2::{Sha256, Sha512};

const ISSUER: &str = "https://id.example";
const SECRET: &str = "a secret of more than thirty-two bytes";
const LEEWAY: f64 = 30.0;

fuzz_target!(|data: &[u8]| {
    let Some((way, text)) = data.split_first() else { return };
    let mut lines = text.splitn(2, |byte| *byte == b'\n');
    let (header, claims) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let signature = match way % 8 {
        1 => hmac(b"another secret", &signed),
        2 => hmac(b"", &signed),
        3 => Vec::new(),
        4 => hmac(SECRET.as_bytes(), &signed)[..31].to_vec(),
        5 => Hmac::<Sha512>::new_from_slice(SECRET.as_bytes()).map(|mac| finish(mac, &signed)).unwrap_or_default(),
        _ => hmac(SECRET.as_bytes(), &signed),
    };
    let right = matches!(way % 8, 0 | 6 | 7);
    let token = format!("Bearer {signed}.{}", URL_SAFE_NO_PAD.encode(signature));
    let keys = IssuerKeys::Secret(SecretString::from(SECRET));
    let issuers = vec![IssuerOptions::new(ISSUER, "factum", keys)];
    let found = world::with(&AuthOptions::default(), |world| {
        world.tokio.block_on(async {
            let options = AuthOptions { issuers, ..AuthOptions::default() };
            let authenticator = Authenticator::new(world.runtime.clone(), options).await.expect("a secret is enough");
            authenticator.authenticate(Some(&token), IpAddr::V4(Ipv4Addr::LOCALHOST)).await
        })
    });
    let expected = expected(header, claims).filter(|_| right && token.len() <= 8 * 1024);
    match found {
        Ok(caller) => {
            let found = (caller.principal.to_string(), caller.account.to_string(), (*caller.scopes).clone());
            assert_eq!(Some(found), expected);
        }
        Err(refusal) => {
            assert_eq!(refusal.code, ErrorCode::Unauthenticated);
            assert_eq!(refusal.message, "a valid credential is needed: Authorization: Bearer …");
            // A header may be refused for more reasons than are written down here.
            let plain = matches!(header, br#"{"alg":"HS256"}"# | br#"{"alg":"HS256","typ":"JWT"}"#);
            assert!(expected.is_none() || !plain, "{} was refused", String::from_utf8_lossy(claims));
        }
    }
});

fn hmac(secret: &[u8], text: &str) -> Vec<u8> {
    Hmac::<Sha256>::new_from_slice(secret).map(|mac| finish(mac, text)).unwrap_or_default()
}

fn finish(mut mac: impl Mac, text: &str) -> Vec<u8> {
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// Whom the claims name, by the rules of RFC 7519 and of our documentation.
fn expected(header: &[u8], claims: &[u8]) -> Option<(String, String, Scopes)> {
    let header: Value = serde_json::from_slice(header).ok()?;
    if header["alg"] != "HS256" || header.get("crit").is_some_and(|crit| !crit.is_null()) {
        return None;
    }
    let text = std::str::from_utf8(claims).ok()?;
    let all: Value = serde_json::from_str(text).ok()?;
    let is_once = |name: &str| names(text).iter().filter(|other| *other == name).count() <= 1;
    if !all.as_object()?.keys().all(|name| is_once(name)) {
        return None;
    }
    let audiences = match &all["aud"] {
        Value::Array(many) => many.clone(),
        one => vec![one.clone()],
    };
    let now = world::NOW as f64;
    let in_time = all["exp"].as_f64()? > now - LEEWAY
        && match all.get("nbf") {
            None => true,
            Some(starts) => starts.as_f64()? <= now + LEEWAY,
        };
    let ours = all["iss"] == ISSUER && audiences.iter().any(|one| one == "factum");
    let account = all["account"].as_str().filter(|name| is_account(name))?;
    let principal = principal(all["sub"].as_str()?)?;
    (in_time && ours).then(|| (principal, account.to_owned(), scopes(&all["scope"])))
}

/// The names at the top of an object, as often as they are there.
fn names(text: &str) -> Vec<String> {
    struct Names;
    impl<'de> serde::de::Visitor<'de> for Names {
        type Value = Vec<String>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut entries: A) -> Result<Vec<String>, A::Error> {
            let mut names = Vec::new();
            while let Some((name, _)) = entries.next_entry::<String, serde::de::IgnoredAny>()? {
                names.push(name);
            }
            Ok(names)
        }
    }
    serde::Deserializer::deserialize_map(&mut serde_json::Deserializer::from_str(text), Names).unwrap_or_default()
}

fn is_account(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let named = name.bytes().any(|byte| byte.is_ascii_alphanumeric());
    name.len() <= 64 && named && name.bytes().all(plain)
}

fn principal(name: &str) -> Option<String> {
    let scheme = name.split_once("://").map(|(scheme, _)| scheme);
    let of_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let has_scheme = scheme.is_some_and(|scheme| {
        scheme.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) && scheme.bytes().all(of_scheme)
    });
    let full = if has_scheme { name.to_owned() } else { format!("agent://{name}") };
    let plain = !full.chars().any(|letter| letter.is_control() || letter.is_whitespace());
    let named = full.find("://").is_some_and(|at| full.len() > at + 3);
    (plain && named && full.len() <= 200).then_some(full)
}

fn scopes(claim: &Value) -> Scopes {
    let known = |text: &str| Scope::ALL.into_iter().find(|scope| scope.as_str() == text);
    match claim {
        Value::String(text) => text.split(' ').filter_map(known).collect(),
        Value::Array(items) => items.iter().filter_map(|item| known(item.as_str()?)).collect(),
        _ => Scopes::default(),
    }
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut random = Random::new(seed);
    let head = data[..size].iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if head == 0 && random.one_in(2) {
        let header = *random.pick(&[r#"{"alg":"HS256"}"#, r#"{"alg":"HS256","typ":"JWT"}"#, r#"{"alg":"none"}"#]);
        let start = format!("\0{header}\n{}", claims(&mut random));
        return match data.get_mut(..start.len()) {
            Some(room) => {
                room.copy_from_slice(start.as_bytes());
                start.len()
            }
            None => fuzzer_mutate(data, size, max_size),
        };
    }
    if random.one_in(8) && size > 0 {
        data[0] = random.below(8) as u8;
    }
    json::mutate(data, size, max_size, seed, head, words(), |random, _| claims(random))
});

fn claims(random: &mut Random) -> Value {
    let exp = world::NOW + random.below(100) as i64 - 50;
    json!({ "iss": ISSUER, "aud": "factum", "exp": exp, "sub": "ada", "account": "acme", "scope": "sessions:read" })
}

fn words() -> &'static [String] {
    static WORDS: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
    WORDS.get_or_init(|| {
        let names = ["iss", "aud", "exp", "nbf", "iat", "sub", "account", "scope", "crit", "kid", "jwk", "x5c"];
        let values = [ISSUER, "factum", "agent://ada", "user://ada", "1900000000", "sessions:read admin", "..", "acme"];
        names
            .into_iter()
            .chain(values)
            .chain(Scope::ALL.iter().map(|scope| scope.as_str()))
            .map(str::to_owned)
            .collect()
    })
}
