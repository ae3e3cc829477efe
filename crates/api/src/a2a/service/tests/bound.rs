//! A task of a client that somebody begins anew through a channel of theirs: what the new attempt asks permission for is that
//! channel's to decide, and what the client says decides nothing of it.

use factum_model::commands::{CreateTask, EnrollChannel, RespondAction, RetryTask};
use factum_model::{Command, Fact};
use factum_runtime::{Handle, InboundRow};
use factum_store::{ReadLimit, Store};

use super::*;

async fn call<C: Command>(world: &World, by: &Caller, params: Value) -> C::Output
where
    Runtime: Handle<C>,
{
    let command: C = serde_json::from_value(params).expect("params");
    world.runtime.call(by, command).await.expect("an answer")
}

async fn told(world: &World, session_id: &Value, wanted: &str) -> Vec<Value> {
    let read = json!({ "session_id": session_id });
    let events = call::<ReadEvents>(world, &caller("agent://bob"), read).await.events;
    let events = events.iter().map(|event| serde_json::from_str(event.get()).expect("JSON"));
    events.filter(|event: &Value| event["type"] == wanted).collect()
}

/// What the channel's own stream records under a name.
async fn own(world: &World, wanted: &str) -> Vec<Value> {
    let records = world.store.read("peer/acme/ops", 1, ReadLimit::records(100)).await.expect("events");
    let events = records.iter().map(|record| serde_json::from_slice::<Value>(&record.bytes).expect("JSON"));
    events.filter(|event| event["type"] == wanted).map(|event| event["payload"].clone()).collect()
}

/// Until the task began to wait so many times.
async fn waits(world: &World, row: &InboundRow, times: usize) {
    let mut facts = world.runtime.facts(&caller("agent://bob"), &row.session_id, 0).await.expect("facts");
    let mut seen = 0;
    while seen < times {
        let next = facts.next().await.expect("facts");
        seen += next.iter().filter(|event| matches!(event.fact, Fact::TaskWaiting(_))).count();
    }
}

#[tokio::test]
async fn a_message_does_not_give_a_permission_that_is_anothers_to_give() {
    let world = World::new().await;
    let (alice, bob) = (world.service("agent://alice"), caller("agent://bob"));
    let through = bob.coming_through("ops".parse().expect("an id"));
    call::<EnrollChannel>(
        &world,
        &bob,
        json!({ "channel_id": "ops", "peer_role": "client", "capabilities": ["permissions"] }),
    )
    .await;
    let begun = task(&alice, sent(says("approve: deploy"))).await;
    let row = world.runtime.inbound_task(&caller("agent://alice"), PROTOCOL, &begun.id).await.expect("rows");
    let row = row.expect("a row");
    // A task below keeps it open when its turn has ended.
    call::<CreateTask>(&world, &bob, json!({ "parent_task_id": row.task_id, "objective": "check" })).await;
    task(&alice, at_once(about(&begun, "allow"))).await;
    waits(&world, &row, 2).await;
    call::<RetryTask>(&world, &through, json!({ "task_id": row.task_id, "reason": "again" })).await;
    waits(&world, &row, 3).await;

    let asked = alice.get_task(get(&begun)).await.expect("a task");
    let message = asked.status.message.as_ref().expect("a question");
    let action_id = message.metadata.as_ref().expect("annotations")["action_id"].clone();
    for word in ["allow", "deny"] {
        let refused = alice.send_message(sent(about(&begun, word))).await.expect_err("it is the channel's to decide");
        assert!(refused.message.contains("remote channel"), "{}", refused.message);
    }
    assert_eq!(alice.get_task(get(&begun)).await.expect("a task"), asked, "still open");
    let tried = own(&world, "channel.permission_refused").await;
    let tried: Vec<_> = tried.iter().map(|tried| (&tried["attempted_by"], &tried["attempted_decision"])).collect();
    let by = json!("agent://alice");
    assert_eq!(tried, [(&by, &json!("allow")), (&by, &json!("deny"))]);
    let answer = json!({ "action_id": action_id, "decision": "allow" });
    call::<RespondAction>(&world, &through, answer).await;

    // The client's channel hears that it was somebody's alone.
    let session_id = json!(row.session_id);
    let scoped = async |name: &str| -> Vec<Value> {
        let told = told(&world, &session_id, name).await;
        told.iter().map(|event| event["payload"]["channel_scoped"].clone()).collect()
    };
    assert_eq!(scoped("channel.permission_forwarded").await, [json!(false), json!(true)]);
    assert_eq!(scoped("channel.permission_returned").await, [json!(false), json!(true)]);
}
