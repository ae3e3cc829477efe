//! Tokens: which are accepted, as whom, and what an attacker might try instead.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use factum_model::registry::{Scope, Scopes};
use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use super::signer::{RSA, RSA_OTHER, Signer, claims, claims_with, unsigned};
use super::*;

const SECRET: &str = "a secret that two sides share, long enough";

#[tokio::test]
async fn good_tokens_of_every_kind_of_key() {
    let world = World::new().await;
    for (name, signer) in
        [("rsa", &*RSA), ("p256", &Signer::p256()), ("p384", &Signer::p384()), ("ed", &Signer::ed25519())]
    {
        let set =
            world.write_jwks(name, &[RSA_OTHER.jwk("old"), signer.jwk("k1"), json!({ "kty": "quantum", "kid": "k1" })]);
        let pem = world.write(&format!("{name}.pem"), &signer.public_pem);
        for keys in [IssuerKeys::JwksFile(set), IssuerKeys::PemFile(pem)] {
            let authenticator = world.with_keys(keys).await;
            let header = format!("Bearer {}", signer.token("k1"));
            let caller = authenticator.authenticate(Some(&header), ELSEWHERE).await.unwrap();
            assert_eq!(who(&caller), ("agent://ada", "acme", scopes([Scope::SessionsRead])), "{name}");
        }
    }
    let authenticator = world.with_keys(IssuerKeys::Secret(SECRET.into())).await;
    assert!(accepts_token(&authenticator, &Signer::secret(SECRET.as_bytes(), Algorithm::HS256).token("any")).await);
    assert!(!accepts_token(&authenticator, &Signer::secret(b"another one", Algorithm::HS256).token("any")).await);
    assert!(!accepts_token(&authenticator, &Signer::secret(SECRET.as_bytes(), Algorithm::HS512).token("any")).await);
}

#[tokio::test]
async fn claims_decide() {
    let world = World::new().await;
    let signer = Signer::ed25519();
    let authenticator = world.with_keys(IssuerKeys::JwksFile(world.write_jwks("jwks", &[signer.jwk("k1")]))).await;
    let long = "x".repeat(65);
    let bad = [
        json!({ "iss": "https://other.example" }),
        json!({ "iss": "https://id.example/" }),
        json!({ "iss": [ISSUER] }),
        json!({ "iss": null }),
        json!({ "aud": "another" }),
        json!({ "aud": [] }),
        json!({ "aud": null }),
        json!({ "exp": null }),
        json!({ "exp": NOW - 31 }),
        json!({ "exp": "2999-01-01" }),
        json!({ "nbf": NOW + 31 }),
        json!({ "nbf": "soon" }),
        json!({ "sub": null }),
        json!({ "sub": "" }),
        json!({ "sub": "a b" }),
        json!({ "sub": 7 }),
        json!({ "account": null }),
        json!({ "account": "" }),
        json!({ "account": ".." }),
        json!({ "account": "." }),
        json!({ "account": "a/b" }),
        json!({ "account": "acmé" }),
        json!({ "account": "*runtime" }),
        json!({ "account": ["acme"] }),
        json!({ "account": long }),
    ];
    for changes in bad {
        let token = signer.claiming("k1", &claims_with(&changes));
        assert!(!accepts_token(&authenticator, &token).await, "{changes}");
    }
    let good = [
        json!({ "aud": ["other", AUDIENCE] }),
        json!({ "exp": NOW - 29 }),
        json!({ "exp": NOW as f64 + 0.5 }),
        json!({ "nbf": NOW + 29 }),
        json!({ "sub": "user://ada" }),
    ];
    for changes in good {
        let token = signer.claiming("k1", &claims_with(&changes));
        assert!(accepts_token(&authenticator, &token).await, "{changes}");
    }
}

#[tokio::test]
async fn a_token_without_a_scope_we_know_is_somebody_who_may_do_nothing() {
    let world = World::new().await;
    let signer = Signer::ed25519();
    let authenticator = world.with_keys(IssuerKeys::JwksFile(world.write_jwks("jwks", &[signer.jwk("k1")]))).await;
    for scope in [json!(null), json!(""), json!("openid profile"), json!(["ADMIN"]), json!({ "admin": true })] {
        let header = format!("Bearer {}", signer.claiming("k1", &claims_with(&json!({ "scope": scope }))));
        let caller = authenticator.authenticate(Some(&header), ELSEWHERE).await.unwrap();
        assert_eq!(*caller.scopes, Scopes::default(), "{scope}");
    }
}

#[tokio::test]
async fn forged_tokens() {
    let world = World::new().await;
    let authenticator = world.with_keys(IssuerKeys::JwksFile(world.write_jwks("jwks", &[RSA.jwk("k1")]))).await;
    let good = RSA.token("k1");
    assert!(
        accepts_token(&authenticator, &good).await,
        "the good one is accepted, so the others are refused for a reason"
    );
    let claims = claims().to_string();
    let (message, signature) = good.rsplit_once('.').unwrap();
    let (header, payload) = message.split_once('.').unwrap();
    let public = RSA.public_pem.as_bytes();
    let modulus = URL_SAFE_NO_PAD.decode(RSA.jwk("k1")["n"].as_str().unwrap()).unwrap();
    let hs256 = |secret: &[u8]| Signer::secret(secret, Algorithm::HS256).token("k1");
    let with_header = |header: Value| RSA_OTHER.raw(&header.to_string(), &claims);
    let attempts = [
        ("alg none", format!("{}.", unsigned(r#"{"alg":"none","kid":"k1"}"#, &claims))),
        ("alg None", format!("{}.", unsigned(r#"{"alg":"None","kid":"k1"}"#, &claims))),
        ("alg none with a signature", format!("{}.{signature}", unsigned(r#"{"alg":"none","kid":"k1"}"#, &claims))),
        ("no alg", format!("{}.{signature}", unsigned(r#"{"kid":"k1"}"#, &claims))),
        ("two algs", RSA.raw(r#"{"alg":"none","alg":"RS256","kid":"k1"}"#, &claims)),
        ("the public key as a secret", hs256(public)),
        ("the trimmed public key as a secret", hs256(RSA.public_pem.trim().as_bytes())),
        ("the modulus as a secret", hs256(&modulus)),
        ("an empty secret", hs256(b"")),
        ("another key", RSA_OTHER.token("k1")),
        ("another algorithm in the header", RSA.raw(r#"{"alg":"PS256","kid":"k1"}"#, &claims)),
        ("another family in the header", RSA.raw(r#"{"alg":"ES256","kid":"k1"}"#, &claims)),
        ("an embedded key", with_header(json!({ "alg": "RS256", "kid": "k1", "jwk": RSA_OTHER.jwk("k1") }))),
        ("a key address", with_header(json!({ "alg": "RS256", "kid": "k1", "jku": "http://127.0.0.1:1/jwks" }))),
        ("a critical extension", RSA.raw(r#"{"alg":"RS256","kid":"k1","crit":["b64"],"b64":false}"#, &claims)),
        ("an unknown kid", RSA.token("k2")),
        ("a kid that is a path", RSA.token("../../../../../dev/null")),
        ("a kid that is a query", RSA.token("k1' OR '1'='1")),
        ("an empty kid", RSA.token("")),
        ("a kid that is no text", RSA.raw(r#"{"alg":"RS256","kid":{"k1":1}}"#, &claims)),
        ("changed claims", format!("{header}.{}.{signature}", URL_SAFE_NO_PAD.encode(claims.replace("acme", "evil")))),
        ("no signature", format!("{message}.")),
        ("two parts", message.to_owned()),
        ("four parts", format!("{good}.x")),
        ("five parts", format!("{good}.x.y")),
        ("padding", format!("{good}=")),
        (
            "a duplicated account",
            RSA.raw(r#"{"alg":"RS256","kid":"k1"}"#, &claims.replace('{', r#"{"account":"evil","#)),
        ),
        ("a duplicated exp", RSA.raw(r#"{"alg":"RS256","kid":"k1"}"#, &claims.replace('{', r#"{"exp":9999999999,"#))),
        ("claims that are a list", RSA.raw(r#"{"alg":"RS256","kid":"k1"}"#, &format!("[{claims}]"))),
        (
            "deep claims",
            RSA.raw(r#"{"alg":"RS256","kid":"k1"}"#, &claims.replace('{', &format!(r#"{{"x":{},"#, "[".repeat(1000)))),
        ),
        ("not base64", format!("{header}.!{payload}.{signature}")),
        ("nothing", "..".to_owned()),
        ("too long", RSA.claiming("k1", &claims_with(&json!({ "pad": "x".repeat(8192) })))),
        ("a space inside", good.replacen('.', ". ", 1)),
        ("a space behind", format!("{good} ")),
    ];
    for (name, token) in attempts {
        assert!(!accepts_token(&authenticator, &token).await, "{name}");
    }
    for (name, header) in [
        ("another scheme", format!("Basic {good}")),
        ("no scheme", good.clone()),
        ("twice", format!("Bearer {good}, Bearer {good}")),
    ] {
        assert!(!accepts(&authenticator, &header).await, "{name}");
    }
}

#[tokio::test]
async fn two_issuers_with_the_same_kid_do_not_speak_for_each_other() {
    let world = World::new().await;
    let (ours, theirs) = (Signer::p256(), Signer::p256());
    let set = |name: &str, signer: &Signer| IssuerKeys::JwksFile(world.write_jwks(name, &[signer.jwk("k1")]));
    let issuers = vec![
        IssuerOptions::new(ISSUER, AUDIENCE, set("ours", &ours)),
        IssuerOptions::new("https://theirs.example", "their-audience", set("theirs", &theirs)),
    ];
    let authenticator = world.authenticator(issuers).await;
    let as_theirs = json!({ "iss": "https://theirs.example", "aud": "their-audience" });
    assert!(accepts_token(&authenticator, &ours.token("k1")).await);
    assert!(accepts_token(&authenticator, &theirs.claiming("k1", &claims_with(&as_theirs))).await);
    assert!(!accepts_token(&authenticator, &theirs.token("k1")).await);
    assert!(!accepts_token(&authenticator, &ours.claiming("k1", &claims_with(&as_theirs))).await);
    let wrong_audience = json!({ "iss": "https://theirs.example" });
    assert!(!accepts_token(&authenticator, &theirs.claiming("k1", &claims_with(&wrong_audience))).await);
}

#[tokio::test]
async fn keys_are_used_only_for_what_they_are_meant_for() {
    let world = World::new().await;
    let signer = Signer::p256();
    let with = |name: &str, value: Value| {
        let mut jwk = signer.jwk("k1");
        jwk[name] = value;
        jwk
    };
    let oct = json!({ "kty": "oct", "kid": "k1", "k": URL_SAFE_NO_PAD.encode(SECRET) });
    let other = Signer::p384().jwk("another");
    for (jwks, token, accepted) in [
        (vec![with("use", json!("sig"))], signer.token("k1"), true),
        (vec![with("alg", json!("ES256"))], signer.token("k1"), true),
        (vec![with("alg", json!("RS256"))], signer.token("k1"), false),
        (vec![with("use", json!("enc"))], signer.token("k1"), false),
        (vec![oct], Signer::secret(SECRET.as_bytes(), Algorithm::HS256).token("k1"), false),
        (vec![signer.jwk("k1"), Signer::p256().jwk("k1")], signer.token("k1"), false),
        (vec![signer.jwk("k1")], signer.raw(r#"{"alg":"ES256"}"#, &claims().to_string()), true),
        (
            vec![signer.jwk("k1"), Signer::p256().jwk("k2")],
            signer.raw(r#"{"alg":"ES256"}"#, &claims().to_string()),
            false,
        ),
    ] {
        // The other key keeps the set from being empty, which stops a start.
        let keys: Vec<_> = jwks.iter().chain([&other]).cloned().collect();
        let authenticator = world.with_keys(IssuerKeys::JwksFile(world.write_jwks("jwks", &keys))).await;
        assert_eq!(accepts_token(&authenticator, &token).await, accepted, "{jwks:?}");
    }
}

#[tokio::test]
async fn other_claims_and_fewer_algorithms_can_be_configured() {
    let world = World::new().await;
    let signer = Signer::p256();
    let set = world.write_jwks("jwks", &[signer.jwk("k1"), RSA.jwk("k2")]);
    let mut options = IssuerOptions::new(ISSUER, AUDIENCE, IssuerKeys::JwksFile(set));
    options.algorithms = vec!["ES256".to_owned()];
    options.account_claim = "https://factum/tenant".to_owned();
    options.principal_claim = "email".to_owned();
    options.scopes_claim = "scp".to_owned();
    let authenticator = world.authenticator(vec![options]).await;
    let claims = claims_with(&json!({
        "https://factum/tenant": "tenant-1", "email": "ada@acme.example", "scp": ["tasks:read"], "scope": "admin",
    }));
    let header = format!("Bearer {}", signer.claiming("k1", &claims));
    let caller = authenticator.authenticate(Some(&header), ELSEWHERE).await.unwrap();
    assert_eq!(who(&caller), ("agent://ada@acme.example", "tenant-1", scopes([Scope::TasksRead])));
    assert!(!accepts_token(&authenticator, &RSA.claiming("k2", &claims)).await, "an algorithm that is not on the list");
}
