//! Finding a peer: where cards are, which are believed, and where a credential goes.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::super::{Binding, Failure, PeerOptions, Signature, Spoken, Trust, VerifyCard, discover};
use super::fake::{CARD, Fake, card, client, json_of, not_found};

#[tokio::test]
async fn a_card_is_found_where_each_version_puts_it() {
    let new = Fake::start(|asked, address| match asked.path.as_str() {
        CARD => card(address, "/a2a", "HTTP+JSON", "1.0"),
        _ => not_found(),
    });
    let peer = new.await;
    let found = peer.discover().await.unwrap();
    assert_eq!((found.interface().binding, found.interface().spoken), (Binding::HttpJson, Spoken::V1_0));
    assert_eq!(peer.last().header("A2A-Version"), "1.0");

    let old = Fake::start(|asked, address| match asked.path.as_str() {
        "/.well-known/agent.json" => json_of(json!({
            "name": "old", "url": format!("http://{address}/"), "protocolVersion": "0.3.0", "capabilities": {},
        })),
        _ => not_found(),
    })
    .await;
    let found = old.discover().await.unwrap();
    assert_eq!((found.interface().binding, found.interface().spoken), (Binding::JsonRpc, Spoken::V0_3));
    let paths: Vec<String> = old.asked().into_iter().map(|asked| asked.path).collect();
    assert_eq!(paths, [CARD, "/.well-known/agent.json"]);

    let options = PeerOptions { url: format!("http://{}{CARD}", peer.address), ..PeerOptions::default() };
    assert_eq!(discover(&client(), options).await.unwrap().card().name, "fake");
}

fn card_with(address: std::net::SocketAddr, capabilities: Value) -> axum::response::Response {
    json_of(json!({ "name": "a", "capabilities": capabilities, "supportedInterfaces": [
        { "url": format!("http://{address}/a2a"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0" },
    ]}))
}

/// Seed 000: what the card declares is what the peer can do, and the card is known by where it is.
#[tokio::test]
async fn what_a_peer_can_do_is_what_its_card_says() {
    let modest = Fake::start(|_, address| card_with(address, json!({ "streaming": false }))).await;
    let found = modest.discover().await.unwrap();
    assert_eq!(found.card().capabilities, ["artifacts", "task_delegation"]);
    assert_eq!(found.card().url, format!("http://{}{CARD}", modest.address));
    let able = Fake::start(|_, address| {
        card_with(address, json!({ "streaming": true, "pushNotifications": true, "extendedAgentCard": true }))
    });
    let found = able.await.discover().await.unwrap();
    let expected = ["artifacts", "task_delegation", "streaming", "push_notifications", "extended_agent_card"];
    assert_eq!(found.card().capabilities, expected);
}

#[tokio::test]
async fn a_peer_that_requires_an_extension_nobody_knows_is_not_asked() {
    let strict = Fake::start(|_, address| {
        card_with(address, json!({ "extensions": [{ "uri": "https://example.com/ext", "required": true }] }))
    });
    let Err(Failure::Refused { code, message }) = strict.await.discover().await else { panic!("found") };
    assert_eq!(code, a2a::error_code::EXTENSION_SUPPORT_REQUIRED);
    assert!(message.contains("https://example.com/ext"), "{message}");
    let relaxed = Fake::start(|_, address| {
        let ours = crate::extension::MESSAGING_URI;
        let extensions = json!([{ "uri": "https://example.com/ext" }, { "uri": ours, "required": true }]);
        card_with(address, json!({ "extensions": extensions }))
    });
    assert!(relaxed.await.discover().await.is_ok());
}

#[tokio::test]
async fn a_peer_that_offers_nothing_we_speak_is_told_so_by_name() {
    let peer = Fake::start(|_, address| card(address, "", "GRPC", "0.3")).await;
    let Err(Failure::Refused { message, .. }) = peer.discover().await else { panic!("found") };
    assert!(message.contains("JSONRPC and HTTP+JSON in 1.0 and 0.3") && message.contains("GRPC 0.3"), "{message}");
}

#[tokio::test]
async fn a_credential_does_not_follow_an_unsigned_card_to_another_origin() {
    let peer = Fake::start(|_, _| card("127.0.0.9:9".parse().unwrap(), "", "JSONRPC", "1.0")).await;
    let Err(Failure::Refused { message, .. }) = peer.with_bearer("secret").await else { panic!("found") };
    assert!(message.contains("another origin"), "{message}");
    assert!(peer.discover().await.is_ok(), "without a credential there is nothing to lose");
}

#[tokio::test]
async fn an_interface_that_may_not_be_reached_is_not_used() {
    let peer = Fake::start(|_, _| card("169.254.169.254:80".parse().unwrap(), "", "JSONRPC", "1.0")).await;
    let Err(Failure::Refused { message, .. }) = peer.discover().await else { panic!("found") };
    assert!(message.contains("link-local"), "{message}");
}

/// Stands in for the check of a signature: says yes to cards that carry what the keys say.
fn fake_verify() -> VerifyCard {
    Arc::new(
        |card: &Value, jwks: &Value| {
            if card["signatures"][0]["signature"] == jwks["good"] { Ok(()) } else { Err("no key fits".to_owned()) }
        },
    )
}

fn signed(address: std::net::SocketAddr, jku: &str) -> Value {
    use base64::Engine;
    let header = json!({ "alg": "ES256", "kid": "1", "jku": jku }).to_string();
    let protected = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(header);
    json!({
        "name": "signed", "capabilities": {},
        "supportedInterfaces": [
            { "url": format!("http://{address}/a2a"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }
        ],
        "signatures": [{ "protected": protected, "signature": "good one" }],
    })
}

#[tokio::test]
async fn a_card_is_believed_by_what_configuration_trusts() {
    let peer = Fake::start(|asked, address| match asked.path.as_str() {
        CARD => json_of(signed(address, &format!("http://{address}/keys"))),
        "/keys" => json_of(json!({ "good": "good one" })),
        _ => not_found(),
    })
    .await;
    let verify = fake_verify;
    let keys = |good: &str| Trust::Keys { jwks: json!({ "good": good }), verify: verify() };
    let table = [
        (Trust::Connection, Ok(Signature::Unchecked)),
        (keys("good one"), Ok(Signature::Verified)),
        (keys("another"), Err("no key fits")),
        (Trust::OwnKeys { verify: verify() }, Ok(Signature::Verified)),
    ];
    for (trust, expected) in table {
        let shown = format!("{trust:?}");
        let found = discover(&client(), PeerOptions { trust, ..peer.options() }).await;
        match (found, expected) {
            (Ok(found), Ok(signature)) => assert_eq!(found.card().signature, signature, "{shown}"),
            (Err(Failure::Refused { message, .. }), Err(words)) => assert!(message.contains(words), "{message}"),
            (found, _) => panic!("{shown}: {found:?}"),
        }
    }
}

#[tokio::test]
async fn keys_elsewhere_and_missing_signatures_are_not_believed() {
    let elsewhere = Fake::start(|_, address| json_of(signed(address, "http://127.0.0.9/keys"))).await;
    let unsigned = Fake::start(|_, address| card(address, "", "JSONRPC", "1.0")).await;
    // The configuration knows the word that the hint names (`config/peers.rs` of the binary).
    let hint = "it is not signed; ask the peer to sign it, or set card_signed = false";
    for (peer, words) in [(&elsewhere, "not at the peer's own address"), (&unsigned, hint)] {
        let options = PeerOptions { trust: Trust::OwnKeys { verify: fake_verify() }, ..peer.options() };
        let Err(Failure::Refused { message, .. }) = discover(&client(), options).await else { panic!("believed") };
        assert!(message.contains(words), "{message}");
    }
}

/// A peer of 1.0 that cannot give its card now is not one of April 2025, whatever stands at the older place.
#[tokio::test]
async fn an_older_card_is_asked_for_only_where_there_is_no_newer_one() {
    for (status, older) in [(404, true), (405, true), (410, true), (500, false), (502, false), (400, false)] {
        static STATUS: std::sync::atomic::AtomicU16 = std::sync::atomic::AtomicU16::new(0);
        STATUS.store(status, std::sync::atomic::Ordering::SeqCst);
        let peer = Fake::start(|asked, address| match asked.path.as_str() {
            CARD => {
                let status = STATUS.load(std::sync::atomic::Ordering::SeqCst);
                StatusCode::from_u16(status).unwrap().into_response()
            }
            _ => json_of(json!({ "name": "old", "url": format!("http://{address}/"), "capabilities": {} })),
        })
        .await;
        let found = peer.discover().await;
        assert_eq!(found.is_ok(), older, "{status}: {found:?}");
        assert_eq!(peer.asked().len(), if older { 2 } else { 1 }, "{status}");
    }
}

#[tokio::test]
async fn what_keeps_a_card_from_being_read_is_told_apart() {
    type Judge = fn(&Failure) -> bool;
    let table: [(super::fake::Answering, Judge); 6] = [
        (|_, _| StatusCode::INTERNAL_SERVER_ERROR.into_response(), |f| matches!(f, Failure::Network { .. })),
        (|_, _| StatusCode::BAD_REQUEST.into_response(), |f| matches!(f, Failure::Network { .. })),
        (|_, _| StatusCode::UNAUTHORIZED.into_response(), |f| matches!(f, Failure::Auth { .. })),
        (|_, _| StatusCode::SERVICE_UNAVAILABLE.into_response(), |f| matches!(f, Failure::Network { .. })),
        (|_, _| not_found(), |f| matches!(f, Failure::Malformed { .. })),
        (|_, _| "<html>".into_response(), |f| matches!(f, Failure::Malformed { .. })),
    ];
    for (answering, expected) in table {
        let failure = Fake::start(answering).await.discover().await.unwrap_err();
        assert!(expected(&failure), "{failure:?}");
    }
}
