//! What still reaches a client that does not read, once it may see no more.

use std::net::Ipv4Addr;
use std::time::Duration;

use factum_model::registry::Scopes;
use factum_runtime::{Agents, Options, Runtime, Secret};
use factum_store::{Blobs, MemoryStore};
use futures::FutureExt;
use serde_json::{Value, json};

use super::*;
use crate::auth::{AuthOptions, Authenticator};
use crate::limits::TransportLimits;
use crate::metrics::Metrics;

/// What is in hand when somebody is taken out: what was taken from the log at once, and one message.
const IN_HAND_BYTES: usize = (32 << 10) + 5_000;

#[tokio::test]
async fn little_of_a_channel_is_in_the_feed_of_who_was_taken_out() {
    let dir = tempfile::tempdir().unwrap();
    let blobs = Blobs::open(dir.path().join("blobs")).unwrap();
    let options = Options::new(Agents::demo(), Secret::new([7; 32]));
    let runtime = Runtime::start(Arc::new(MemoryStore::new()), blobs, options).await.unwrap();
    let auth = Authenticator::new(runtime.clone(), AuthOptions { dev: true, ..AuthOptions::default() }).await.unwrap();
    let metrics = Arc::new(Metrics::new(Vec::new()));
    let heartbeat = Duration::from_secs(3_600);
    let state = Arc::new(State::new(runtime, auth, true, TransportLimits::default(), heartbeat, metrics));
    let owner = Caller::new("agent://owner", "acme", Scopes::member());
    let call = async |method: &str, params: Value| -> Value {
        let answer = state.call(&owner, method, &params.to_string()).await.unwrap();
        serde_json::from_str(answer.get()).unwrap()
    };
    let created = call("channels/create", json!({ "members": [{ "principalId": "agent://member" }] })).await;
    let id = &created["channel"]["id"];
    for _ in 0..60 {
        call("channels/publish", json!({ "channelId": id, "parts": [{ "text": "x".repeat(4_000) }] })).await;
    }

    let mut request = Request::new(SubscribeRequest::default());
    request.metadata_mut().insert("authorization", "Bearer dev:agent://member@acme".parse().unwrap());
    request.extensions_mut().insert(Peer(Ipv4Addr::LOCALHOST.into()));
    let mut feed = Service::new(state.clone()).subscribe(request).await.unwrap().into_inner();
    feed.next().await.unwrap().unwrap();
    // As much as waits anywhere is there by now.
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    call("channels/removeMember", json!({ "channelId": id, "principalId": "agent://member" })).await;
    let mut bytes = 0;
    while let Some(event) = feed.next().now_or_never() {
        bytes += event.unwrap().unwrap().event.len();
    }
    assert!(bytes <= IN_HAND_BYTES, "{bytes} bytes were sent behind the removal");
}
