//! Options that must stop a start, each with words that help.

use super::signer::{Signer, pem};
use super::*;

const SECRET: &str = "a secret that two sides share, long enough";

type Kind = fn(PathBuf) -> IssuerKeys;

async fn problem(world: &World, issuers: Vec<IssuerOptions>) -> String {
    match Authenticator::new(world.runtime.clone(), AuthOptions { issuers, ..AuthOptions::default() }).await {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn options_that_cannot_be_meant() {
    let world = World::new().await;
    let secret = || IssuerKeys::Secret(SECRET.into());
    let url = |url: &str| IssuerKeys::JwksUrl(url.to_owned());
    let file = world.write_jwks("jwks", &[Signer::p256().jwk("k1")]);
    let with = |keys: IssuerKeys, change: fn(&mut IssuerOptions)| {
        let mut options = IssuerOptions::new(ISSUER, AUDIENCE, keys);
        change(&mut options);
        vec![options]
    };
    let jwks = || IssuerKeys::JwksFile(file.clone());
    let table = [
        (with(secret(), |_| ()), ""),
        (with(jwks(), |_| ()), ""),
        (with(secret(), |options| options.issuer.clear()), "must not be empty"),
        (with(secret(), |options| options.audience.clear()), "must not be empty"),
        (with(secret(), |options| options.leeway_seconds = 301), "the limit is 300"),
        (with(IssuerKeys::Secret("short".into()), |_| ()), "shorter than 32 bytes"),
        (with(secret(), |options| options.algorithms = vec!["RS256".into()]), "does not go with"),
        (with(jwks(), |options| options.algorithms = vec!["ES256".into(), "HS256".into()]), "does not go with"),
        (with(jwks(), |options| options.algorithms = vec!["none".into()]), "is not known"),
        (with(jwks(), |options| options.algorithms = vec!["RS256".into()]), "none of the keys"),
        (with(url("http://id.example/jwks"), |_| ()), "must be https"),
        (with(url("file:///etc/passwd"), |_| ()), "must begin with http:// or https://"),
        (with(url("jwks"), |_| ()), "must begin with http:// or https://"),
        (with(url("https://2130706433/jwks"), |_| ()), "four decimal numbers"),
        (with(url("http://localhost/jwks"), |_| ()), "allow below [outbound]"),
        (with(url("http://127.0.0.1/jwks"), |_| ()), "allow below [outbound]"),
        (with(url("https://10.0.0.1/jwks"), |_| ()), "allow below [outbound]"),
        ([with(secret(), |_| ()), with(secret(), |_| ())].concat(), "configured twice"),
    ];
    for (issuers, expected) in table {
        let found = problem(&world, issuers).await;
        assert_eq!(expected.is_empty(), found.is_empty(), "{expected}: {found}");
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

#[tokio::test]
async fn key_files_that_are_none() {
    let world = World::new().await;
    let large = " ".repeat(300_000);
    let (private, private_rsa) = (pem("PRIVATE KEY", b"whatever"), pem("RSA PRIVATE KEY", b"whatever"));
    let (jwks, public): (Kind, Kind) = (IssuerKeys::JwksFile, IssuerKeys::PemFile);
    let table = [
        (jwks, "{}", "not JSON of the form"),
        (jwks, "keys", "not JSON of the form"),
        (jwks, r#"{"keys":[]}"#, "none of the keys"),
        (jwks, &large, "larger than"),
        (public, "", "not a public"),
        (public, "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "not a public"),
        (public, &private, "private key"),
        (public, &private_rsa, "private key"),
    ];
    for (keys, content, expected) in table {
        let keys = keys(world.write("keys", content));
        let found = problem(&world, vec![IssuerOptions::new(ISSUER, AUDIENCE, keys)]).await;
        assert!(found.contains(expected), "{expected}: {found}");
    }
    for path in [world.dir.path().join("absent"), world.dir.path().to_owned()] {
        let found = problem(&world, vec![IssuerOptions::new(ISSUER, AUDIENCE, IssuerKeys::JwksFile(path))]).await;
        assert!(found.contains("cannot be read"), "{found}");
    }
}

#[test]
fn secrets_do_not_show() {
    let options = IssuerOptions::new(ISSUER, AUDIENCE, IssuerKeys::Secret(SECRET.into()));
    assert!(!format!("{options:?}").contains(SECRET));
}
