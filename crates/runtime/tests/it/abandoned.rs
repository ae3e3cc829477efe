//! A caller that goes away while its commit is on its way to the disk: it may come back with the same command at once, and
//! nothing happens twice.

use std::fmt::Debug;
use std::pin::pin;
use std::time::Duration;

use factum_engine::messaging::stream_name;
use factum_model::ErrorCode;
use factum_model::registry::Scopes;
use factum_model::value::Status;
use factum_runtime::{CallError, Caller, PeerMessage, PeerMessageAccepted};
use futures::FutureExt;
use serde_json::{Value, json};

use crate::inbound::message;
use crate::world::World;

const PATIENCE: Duration = Duration::from_secs(20);

/// Makes a call and gives up on it as soon as it has handed something to the disk, which is held back from then on.
async fn abandon<T: Debug>(world: &World, call: impl Future<Output = T>) {
    world.store.pause();
    let before = world.store.waiting();
    let mut call = pin!(call);
    let handed_over = async {
        while world.store.waiting() == before {
            let answer = call.as_mut().now_or_never();
            assert!(answer.is_none(), "answered before it was durable: {answer:?}");
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, handed_over).await.expect("nothing was handed over");
}

/// Comes back while the disk is still at work; gives the answer.
async fn come_back<T: Debug>(world: &World, call: impl Future<Output = T>) -> T {
    let mut call = pin!(call);
    let answer = call.as_mut().now_or_never();
    assert!(answer.is_none(), "answered before it was durable: {answer:?}");
    world.store.resume();
    tokio::time::timeout(PATIENCE, call).await.expect("no answer")
}

async fn call(world: &World, caller: &Caller, method: &str, params: &Value) -> Result<Value, ErrorCode> {
    match world.runtime.call_by_name(caller, method, &params.to_string()).await {
        Ok(result) => Ok(serde_json::from_str(result.get()).unwrap()),
        Err(CallError::Refused(refusal)) => Err(refusal.code),
        Err(CallError::UnknownMethod) => panic!("there is no {method}"),
    }
}

/// Abandons a command, and gives what it is answered with when it comes back: now and later the same.
async fn repeated(world: &World, method: &str, params: Value) -> Value {
    abandon(world, call(world, &world.caller, method, &params)).await;
    let answer = come_back(world, call(world, &world.caller, method, &params)).await.unwrap();
    assert_eq!(call(world, &world.caller, method, &params).await.unwrap(), answer, "{method}");
    answer
}

async fn count(world: &World, method: &str, params: Value, what: &str) -> usize {
    call(world, &world.caller, method, &params).await.unwrap()[what].as_array().unwrap().len()
}

#[tokio::test]
async fn a_turn_is_submitted_once_by_its_key_and_by_its_id() {
    for names in [json!({ "idempotency_key": "k" }), json!({ "turn_id": "turn-mine" })] {
        let world = World::new().await;
        let mut params = json!({ "input": [{ "type": "text", "text": "hello" }] });
        params.as_object_mut().unwrap().extend(names.as_object().unwrap().clone());
        let answer = repeated(&world, "submit_turn", params).await;
        assert_eq!(count(&world, "list_sessions", json!({}), "sessions").await, 1, "{names}");
        let session_id = answer["session_id"].as_str().unwrap().parse().unwrap();
        let thread = world.until(&session_id, Status::Completed).await;
        assert_eq!(thread.diagnostics.turns_submitted, 1, "{names}");
    }
}

#[tokio::test]
async fn a_session_and_a_channel_are_made_once_and_a_message_is_published_once() {
    let world = World::new().await;
    repeated(&world, "create_session", json!({ "idempotency_key": "s" })).await;
    assert_eq!(count(&world, "list_sessions", json!({}), "sessions").await, 1);
    let made = repeated(&world, "channels/create", json!({ "idempotencyKey": "k" })).await;
    assert_eq!(count(&world, "channels/list", json!({}), "channels").await, 1);
    let id = &made["channel"]["id"];
    let publish = json!({ "channelId": id, "parts": [{ "text": "hi" }], "idempotencyKey": "k" });
    let published = repeated(&world, "channels/publish", publish).await;
    let history = call(&world, &world.caller, "channels/history", &json!({ "channelId": id })).await.unwrap();
    assert_eq!(history["events"], json!([published["event"]]));
    let update = json!({ "channelId": id, "expectedVersion": 1, "name": "n", "idempotencyKey": "k" });
    assert_eq!(repeated(&world, "channels/update", update).await["channel"]["version"], 2);
}

/// The runtime's own stream has a lock besides, which goes the same way: whoever writes there next knows where it ended.
#[tokio::test]
async fn an_api_key_is_made_once_and_more_can_be_made_behind_it() {
    let world = World::new().await;
    let params = |key: &str| json!({ "principal": "agent://x", "scopes": ["sessions:read"], "idempotency_key": key });
    repeated(&world, "create_api_key", params("a")).await;
    call(&world, &world.caller, "create_api_key", &params("b")).await.unwrap();
    assert_eq!(count(&world, "list_api_keys", json!({}), "keys").await, 2);
}

/// An id that a caller gives is good for the account, whoever else asks for it at the same time.
#[tokio::test]
async fn an_id_is_taken_when_who_brought_it_went_away() {
    let world = World::new().await;
    let other = Caller::new("agent://other", "acme", Scopes::admin());
    let task = json!({ "task_id": "t", "objective": "x" });
    abandon(&world, call(&world, &world.caller, "create_task", &task)).await;
    let outcome = come_back(&world, call(&world, &other, "create_task", &task)).await;
    assert_eq!(outcome, Err(ErrorCode::Conflict));
    let job = json!({ "job_id": "j", "instruction": "x", "queue": "q" });
    abandon(&world, call(&world, &world.caller, "create_job", &job)).await;
    let outcome = come_back(&world, call(&world, &other, "create_job", &job)).await;
    assert_eq!(outcome, Err(ErrorCode::Conflict));
    assert_eq!(count(&world, "list_sessions", json!({}), "sessions").await, 2);
}

async fn receive(world: &World, said: &PeerMessage) -> PeerMessageAccepted {
    world.runtime.receive_message(&world.caller, said.clone()).await.unwrap().accepted
}

#[tokio::test]
async fn a_peers_message_is_taken_in_once_and_goes_on_with_what_the_first_one_made() {
    let world = World::new().await;
    // The first one of a peer makes its channel.
    let first = receive(&world, &message("hello")).await;
    world.until(&first.session_id, Status::Completed).await;
    let keyed = PeerMessage { idempotency_key: Some("k".to_owned()), ..message("hello") };
    abandon(&world, receive(&world, &keyed)).await;
    let taken = come_back(&world, receive(&world, &keyed)).await;
    assert_eq!(receive(&world, &keyed).await, taken);
    assert_eq!(count(&world, "list_sessions", json!({}), "sessions").await, 2);
    world.until(&taken.session_id, Status::Completed).await;
    let context = PeerMessage { context_id: Some("theirs".to_owned()), ..message("hello") };
    abandon(&world, receive(&world, &context)).await;
    let into = come_back(&world, receive(&world, &context)).await;
    assert_eq!(receive(&world, &context).await.session_id, into.session_id);
    assert_eq!(count(&world, "list_sessions", json!({}), "sessions").await, 3);
}

/// What the disk refuses leaves its key free.
#[tokio::test]
async fn a_key_is_free_when_its_commit_was_refused() {
    let world = World::new().await;
    let made = call(&world, &world.caller, "channels/create", &json!({})).await.unwrap();
    let id = made["channel"]["id"].as_str().unwrap();
    let stream = stream_name("acme", &id.parse().unwrap());
    let publish = json!({ "channelId": id, "parts": [{ "text": "hi" }], "idempotencyKey": "k" });
    world.store.refuse(&stream);
    abandon(&world, call(&world, &world.caller, "channels/publish", &publish)).await;
    let refused = come_back(&world, call(&world, &world.caller, "channels/publish", &publish)).await;
    assert_eq!(refused, Err(ErrorCode::LimitExceeded));
    world.store.accept(&stream);
    let published = call(&world, &world.caller, "channels/publish", &publish).await.unwrap();
    assert_eq!(published["event"]["sequence"], 1);
}
