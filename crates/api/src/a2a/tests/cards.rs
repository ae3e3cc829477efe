//! The cards: forms, caching, signatures, one for each agent, and the extended one.

use a2a_pb::proto;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use factum_a2a::{CardKey, verify_card};

use super::grpc::Grpc;
use super::*;

pub(super) fn key() -> CardKey {
    let pair = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
    CardKey::from_pkcs8(pair.as_ref()).unwrap()
}

const USUAL: &str = "/.well-known/agent-card.json";

#[tokio::test]
async fn a_card_tells_where_its_agent_is() {
    let world = World::new(A2aOptions::default()).await;
    let host = [("host", "localhost:7420"), ("a2a-version", "1.0")];
    let card = world.ask("GET", USUAL, &host, None).await.json();
    let interfaces: Vec<_> = card["supportedInterfaces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["protocolBinding"].as_str().unwrap(),
                one["protocolVersion"].as_str().unwrap(),
                one["url"].as_str().unwrap(),
            )
        })
        .collect();
    let url = "http://localhost:7420/a2a";
    assert_eq!(
        interfaces,
        [
            ("JSONRPC", "1.0", url),
            ("JSONRPC", "0.3", url),
            ("HTTP+JSON", "1.0", url),
            ("HTTP+JSON", "0.3", url),
            ("GRPC", "1.0", "localhost:7420"),
        ]
    );
    assert_eq!((&card["name"], &card["skills"][0]["id"]), (&json!("demo"), &json!("demo")));
    assert_eq!(card["skills"].as_array().unwrap().len(), 1, "the others are for callers to know");
    let capabilities = &card["capabilities"];
    assert_eq!((&capabilities["streaming"], &capabilities["pushNotifications"]), (&json!(true), &json!(false)));

    let other = world.ask("GET", "/a2a/agents/waiting/.well-known/agent-card.json", &host, None).await.json();
    assert_eq!(
        (&other["name"], &other["supportedInterfaces"][0]["url"]),
        (&json!("waiting"), &json!(format!("{url}/agents/waiting")))
    );
    let tenants: Vec<_> = other["supportedInterfaces"].as_array().unwrap().iter().map(|one| &one["tenant"]).collect();
    let none = &Value::Null;
    assert_eq!(tenants, [none, none, none, none, &json!("agents/waiting")], "gRPC has no path");
    let april = world.ask("GET", "/a2a/agents/waiting/.well-known/agent.json", &[], None).await.json();
    assert_eq!(april["url"], "http://localhost/a2a/agents/waiting");
    assert_eq!(world.ask("GET", "/a2a/agents/nobody/.well-known/agent-card.json", &[], None).await.status, 404);
    let pushing = World::open().await.ask("GET", USUAL, &[], None).await.json();
    assert_eq!(pushing["capabilities"]["pushNotifications"], true);
}

#[tokio::test]
async fn a_card_is_signed_once_and_cached() {
    let (key, options) = (key(), A2aOptions::default());
    let kid = key.kid().to_owned();
    let world = World::new(A2aOptions { card_key: Some(key), ..options }).await;
    let keys = world.ask("GET", "/.well-known/jwks.json", &[], None).await.text;
    for (path, version) in [(USUAL, ""), (USUAL, "1.0"), ("/.well-known/agent.json", "")] {
        let headers = [("a2a-version", version)];
        let first = world.ask("GET", path, &headers, None).await;
        assert_eq!(verify_card(&first.text, &keys).unwrap(), kid, "{path} {version}");
        let again = world.ask("GET", path, &headers, None).await;
        assert_eq!(first.text, again.text, "a card stays what it is");
        assert_eq!(first.header("cache-control"), Some("public, max-age=60"));
        let etag = first.header("etag").unwrap();
        for said in [etag.to_owned(), format!("W/{etag}"), format!("\"x\", {etag}"), "*".to_owned()] {
            let known = world.ask("GET", path, &[("a2a-version", version), ("if-none-match", &said)], None).await;
            assert_eq!((known.status, known.text.as_str(), known.header("etag")), (304, "", Some(etag)), "{said}");
        }
        let other = world.ask("GET", path, &[("a2a-version", version), ("if-none-match", "\"x\"")], None).await;
        assert_eq!(other.status, 200);
    }
    let forged = world.ask("GET", USUAL, &[], None).await.text.replace("localhost", "evil.example");
    assert!(verify_card(&forged, &keys).is_err());
    // Whoever makes up names for this server fills no memory.
    for at in 0..200 {
        let host = format!("host{at}.localhost");
        assert_eq!(world.ask("GET", USUAL, &[("host", &host)], None).await.status, 200);
    }
}

/// A card that says where an agent is, is signed only where the server knows that to be so: anybody can name a host.
#[tokio::test]
async fn a_card_for_a_name_that_a_stranger_said_is_not_signed() {
    let world = World::guarded(A2aOptions { card_key: Some(key()), ..A2aOptions::default() }).await;
    let bearer = ("authorization", "Bearer dev:agent://x@acme");
    for (host, signed) in [
        ("localhost", true),
        ("LocalHost:7420", true),
        ("127.0.0.1:7420", true),
        ("[::1]:7420", true),
        ("evil.example", false),
        ("evil.example:7420", false),
        ("localhost.evil.example", false),
        ("203.0.113.7", false),
        ("127.0.0.1.evil.example", false),
        ("evil.example@localhost", false),
        ("localhost/evil.example:80", false),
    ] {
        for (path, version) in
            [(USUAL, "1.0"), (USUAL, ""), ("/.well-known/agent.json", ""), ("/a2a/extendedAgentCard", "1.0")]
        {
            let headers = [("host", host), ("a2a-version", version), bearer];
            let card = world.ask("GET", path, &headers, None).await;
            let signatures = card.json()["signatures"].as_array().map_or(0, Vec::len);
            assert_eq!((card.status, signatures > 0), (200, signed), "{host} {path} {version:?}");
        }
    }
}

#[tokio::test]
async fn the_extended_card_tells_callers_more() {
    let world = World::guarded(A2aOptions::default()).await;
    let headers = [("host", "localhost:7420"), ("authorization", "Bearer dev:agent://x@acme"), ("a2a-version", "1.0")];
    let card = world.ask("GET", "/a2a/extendedAgentCard", &headers, None).await.json();
    let skills: Vec<_> = card["skills"].as_array().unwrap().iter().map(|skill| skill["id"].as_str().unwrap()).collect();
    assert_eq!(skills, ["demo", "waiting"]);
    let first = &card["supportedInterfaces"][0];
    assert_eq!((&first["tenant"], &first["url"]), (&json!("acme"), &json!("http://localhost:7420/a2a")));
    assert_eq!(card["capabilities"]["extendedAgentCard"], true);

    let v1_0 = world.rpc(Some("1.0"), "GetExtendedAgentCard", json!({})).await;
    assert_eq!(v1_0["result"]["supportedInterfaces"][0]["tenant"], "dev");
    let v0_3 = world.rpc(None, "agent/getAuthenticatedExtendedCard", json!({})).await;
    assert_eq!(
        (&v0_3["result"]["protocolVersion"], &v0_3["result"]["url"]),
        (&json!("0.3.0"), &json!("http://localhost/a2a"))
    );
}

/// Whoever is let in gets a card to rely on, too, in every form in which it is given.
#[tokio::test]
async fn the_extended_card_is_signed_and_cached_for_its_caller() {
    let key = key();
    let kid = key.kid().to_owned();
    let world = World::guarded(A2aOptions { card_key: Some(key), ..A2aOptions::default() }).await;
    let keys = world.ask("GET", "/.well-known/jwks.json", &[], None).await.text;
    let caller = "Bearer dev:agent://x@acme";
    for (path, version) in [("/a2a/extendedAgentCard", "1.0"), ("/a2a/v1/card", "0.3")] {
        let headers = [("authorization", caller), ("a2a-version", version)];
        let first = world.ask("GET", path, &headers, None).await;
        assert_eq!((first.status, verify_card(&first.text, &keys).unwrap()), (200, kid.clone()), "{path}");
        assert_eq!(first.text, world.ask("GET", path, &headers, None).await.text, "a card stays what it is");
        assert_eq!(first.header("cache-control"), Some("private, max-age=60"));
        assert_eq!(first.header("vary"), Some("Authorization, A2A-Version, Host"));
        let etag = first.header("etag").unwrap();
        let known = [("authorization", caller), ("a2a-version", version), ("if-none-match", etag)];
        let known = world.ask("GET", path, &known, None).await;
        assert_eq!((known.status, known.text.as_str(), known.header("etag")), (304, "", Some(etag)), "{path}");
        let other =
            [("authorization", "Bearer dev:agent://y@other"), ("a2a-version", version), ("if-none-match", etag)];
        assert_eq!(world.ask("GET", path, &other, None).await.status, 200, "another account's card is another");
    }
    for (version, method) in [(Some("1.0"), "GetExtendedAgentCard"), (None, "agent/getAuthenticatedExtendedCard")] {
        let card = world.rpc(version, method, json!({})).await["result"].clone();
        assert_eq!(verify_card(&card.to_string(), &keys).unwrap(), kid, "{method}");
        // What a client of 1.0 reads of it is signed as well.
        let read: a2a::AgentCard = serde_json::from_value(card).unwrap();
        assert_eq!(verify_card(&json!(read).to_string(), &keys).unwrap(), kid, "{method}");
    }
}

/// 1.0 §3.3.4: what is not promised is not supported. 0.3 has one error for it. Nobody is let in by a credential where none is asked
/// for (§13.3), so there it is not promised either, whatever a caller brings.
#[tokio::test]
async fn without_an_extended_card_the_card_says_so() {
    let off = World::guarded(A2aOptions { extended_card: false, ..A2aOptions::default() }).await;
    let open = World::new(A2aOptions::default()).await;
    for world in [off, open] {
        let card = world.ask("GET", USUAL, &[], None).await.json();
        assert_eq!(
            (&card["capabilities"]["extendedAgentCard"], &card["supportsAuthenticatedExtendedCard"]),
            (&json!(false), &json!(false))
        );
        let v1_0 = world.rpc(Some("1.0"), "GetExtendedAgentCard", json!({})).await;
        assert_eq!(v1_0["error"]["code"], -32004, "{v1_0}");
        let v0_3 = world.rpc(None, "agent/getAuthenticatedExtendedCard", json!({})).await;
        assert_eq!(v0_3["error"]["code"], -32007, "{v0_3}");
        let brought = [("authorization", "Bearer dev:agent://x@acme")];
        assert_eq!(world.ask("GET", "/a2a/extendedAgentCard", &brought, None).await.status, 400);
        let mut grpc = Grpc::start(&world).await;
        let refused = grpc.client.get_extended_agent_card(proto::GetExtendedAgentCardRequest::default()).await;
        assert_eq!(refused.unwrap_err().code(), tonic::Code::FailedPrecondition);
        assert!(world.fake.asked().is_empty());
    }
}

#[tokio::test]
async fn a_server_with_credentials_says_which() {
    let world = World::with(A2aOptions::default(), NEVER, false).await;
    let card = world.ask("GET", USUAL, &[("a2a-version", "1.0")], None).await.json();
    assert_eq!(card["securitySchemes"]["bearer"], json!({ "httpAuthSecurityScheme": { "scheme": "Bearer" } }));
    let scopes = json!(["sessions:read", "sessions:write", "tasks:read", "tasks:write"]);
    assert_eq!(card["securityRequirements"], json!([{ "schemes": { "bearer": { "list": scopes } } }]));
    assert_eq!(world.ask("GET", "/a2a/extendedAgentCard", &[], None).await.status, 401);
}
