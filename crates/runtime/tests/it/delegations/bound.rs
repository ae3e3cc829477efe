//! What a peer asks in a remote channel's own work is that channel's to decide, and the channel is told who asks, and for what.

use std::sync::Arc;

use factum_model::ErrorCode;
use factum_model::commands::*;
use factum_model::id::{ChannelId, SessionId};
use factum_model::registry::Scopes;
use factum_runtime::Caller;
use serde_json::{Value, json};

use super::fake::Fake;
use super::{boss, events, open_action, until_fact};
use crate::tasks::call;
use crate::world::{World, turn};

/// The ways by which a channel's work comes to a peer.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// A call in a turn.
    Turn,
    Task,
}

fn v1() -> ChannelId {
    "v1".parse().unwrap()
}

fn task(params: Value) -> CreateTask {
    serde_json::from_value(params).unwrap()
}

async fn begin(world: &World, work: Work) -> SessionId {
    let through = world.caller.coming_through(v1());
    match work {
        Work::Turn => world.runtime.call(&through, turn("count")).await.unwrap().session_id,
        Work::Task => {
            let params = json!({ "task_id": "t", "objective": "count", "peer": "north", "auto_complete": true });
            let session_id = world.runtime.call(&through, task(params)).await.unwrap().session_id;
            let start: StartTask = serde_json::from_value(json!({ "task_id": "t" })).unwrap();
            world.runtime.call(&through, start).await.unwrap();
            session_id
        }
    }
}

async fn bridged(world: &World) -> Value {
    let summary = world.runtime.call(&world.caller, GetChannelSummary { channel_id: v1() }).await.unwrap().summary;
    serde_json::to_value(summary.permission_bridge).unwrap()
}

/// Waits until the channel was asked, or told.
async fn until_bridged(world: &World, so: impl Fn(&Value) -> bool) -> Value {
    let wait = async {
        loop {
            let bridge = bridged(world).await;
            if so(&bridge[0]) {
                return bridge;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), wait).await.expect("the channel never heard of it")
}

#[tokio::test]
async fn only_the_channel_decides_what_the_peer_may_do_in_its_work() {
    for work in [Work::Turn, Work::Task] {
        let fake = Fake::new(|_| {});
        let mut world = World::with_peers(boss(), Some(Arc::new(fake.clone()))).await;
        let enroll = json!({ "channel_id": "v1", "peer_role": "client", "capabilities": ["permissions"] });
        call::<EnrollChannel>(&world, enroll).await.unwrap();
        let session_id = begin(&world, work).await;
        fake.until(|state| state.tasks.len() == 1).await;
        fake.task(|task| (task.state, task.message) = ("auth-required", Some("May I open?".to_owned())));
        let action_id = open_action(&world, &session_id).await;
        let bridge = until_bridged(&world, Value::is_object).await;
        let facts = events(&world, &session_id).await;
        let said = facts.iter().find(|event| event["type"] == "channel.permission_forwarded").unwrap();
        for fact in ["requesting_peer", "subject", "prompt", "channel_scoped"] {
            assert_eq!(bridge[0][fact], said["payload"][fact], "{work:?}: {fact}");
        }
        let told = (&bridge[0]["requesting_peer"], &bridge[0]["subject"]["kind"], &bridge[0]["channel_scoped"]);
        assert_eq!(told, (&json!("peer:north"), &json!("peer_task"), &json!(true)), "{work:?}");

        let allow: RespondAction =
            serde_json::from_value(json!({ "action_id": action_id, "decision": "allow" })).unwrap();
        let bob = Caller::new("agent://bob", &world.caller.account, Scopes::admin());
        for restarted in [false, true] {
            for elsewhere in [&bob, &world.caller] {
                let refusal = world.runtime.call(elsewhere, allow.clone()).await.unwrap_err();
                let why = (refusal.code, &refusal.details["cause"]);
                assert_eq!(why, (ErrorCode::PermissionDenied, &json!("channel_scoped")), "{work:?}, {restarted}");
            }
            if !restarted {
                world.restart(boss()).await;
            }
        }
        assert_eq!(fake.state.lock().tasks[0].answers, [], "{work:?}");
        world.runtime.call(&world.caller.coming_through(v1()), allow).await.unwrap();
        fake.until(|state| !state.tasks[0].answers.is_empty()).await;
        let returned = |event: &Value| event["type"] == "channel.permission_returned";
        until_fact(&world, &session_id, returned).await;
        let bridge = until_bridged(&world, |question| question["decision"] == "allow").await;
        assert_eq!((&bridge[0]["source"], bridge.as_array().map(Vec::len)), (&json!("response"), Some(1)), "{work:?}");
    }
}

/// A channel that left for good decides nothing, and nobody else may in its place.
#[tokio::test]
async fn what_a_closed_channel_was_to_decide_is_refused() {
    let fake = Fake::new(|_| {});
    let world = World::with_peers(boss(), Some(Arc::new(fake.clone()))).await;
    let enroll = json!({ "channel_id": "v1", "peer_role": "client", "capabilities": ["permissions"] });
    call::<EnrollChannel>(&world, enroll).await.unwrap();
    let session_id = begin(&world, Work::Turn).await;
    fake.until(|state| state.tasks.len() == 1).await;
    fake.task(|task| task.state = "auth-required");
    open_action(&world, &session_id).await;
    until_bridged(&world, Value::is_object).await;
    call::<CloseChannel>(&world, json!({ "channel_id": "v1" })).await.unwrap();
    fake.until(|state| !state.tasks[0].answers.is_empty()).await;
    assert_eq!(fake.state.lock().tasks[0].answers[0].1, "deny");
}
