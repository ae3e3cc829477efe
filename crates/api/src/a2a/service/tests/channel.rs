//! The remote channel that a client has without knowing of it: what its summary tells, and that nothing is written for that.

use factum_model::Timestamp;
use factum_model::commands::{GetChannelSummary, ListRemoteChannels, ReconnectChannel};
use factum_model::peer::Transport;

use super::*;

/// Seed 003: the channel of a client has its tasks, its sessions and what it was asked, without a fact of its own for any of it.
#[tokio::test]
async fn the_channel_of_a_client_tells_of_its_tasks() {
    let mut world = World::new().await;
    let done = task(&world.service("agent://alice"), sent(says("hello"))).await;
    let asked = task(&world.service("agent://alice"), sent(says("approve: deploy"))).await;
    assert_eq!(asked.status.state, TaskState::AuthRequired);
    for restarted in [false, true] {
        if restarted {
            world.restart().await;
        }
        let alice = world.service("agent://alice");
        let asked = alice.get_task(get(&asked)).await.expect("a task");
        let own = Caller::new("agent://alice", "acme", Scopes::admin());
        let all: ListRemoteChannels = serde_json::from_value(json!({})).expect("params");
        let channels = world.runtime.call(&own, all).await.expect("channels").channels;
        assert_eq!(channels.len(), 1);
        let summary = GetChannelSummary { channel_id: channels[0].channel_id.clone() };
        let found = world.runtime.call(&own, summary).await.expect("a summary").summary;
        let found = serde_json::to_value(found).expect("JSON");
        let tasks: Vec<(&Value, &Value, &Value)> = found["peer_tasks"]
            .as_array()
            .expect("tasks")
            .iter()
            .map(|task| (&task["remote_task_id"], &task["recovery"], &task["native_status"]))
            .collect();
        let waiting = (&json!(asked.id), &json!("waiting_authorization"), &json!("TASK_STATE_AUTH_REQUIRED"));
        let over = (&json!(done.id), &json!("reconciled"), &json!("TASK_STATE_COMPLETED"));
        assert_eq!(tasks, [waiting, over], "{found}");
        assert_eq!(found["permission_bridge"].as_array().expect("questions").len(), 1, "{found}");
        let question = &found["permission_bridge"][0];
        assert_eq!((&question["requesting_peer"], &question["decision"]), (&json!("agent://demo"), &Value::Null));
        assert_eq!(found["sessions"].as_array().expect("sessions").len(), 2);
        assert!(found["sessions"][0]["head_sequence"].as_u64() > found["sessions"][0]["since_sequence"].as_u64());
        let seen: Timestamp = serde_json::from_value(found["channel"]["last_seen_at"].clone()).expect("a time");
        let status_at = asked.status.timestamp.expect("a time").timestamp_millis();
        assert!(seen.as_millisecond() >= status_at, "{seen} {status_at}");
        if !restarted {
            assert_eq!(found["channel"]["state"], "connected");
            assert_eq!(found["as_of_sequence"], 1, "nothing more was written for it");
        }
    }
}

/// The transport of a client's channel is the one it came by. Each is recorded once, however often a client changes between them.
#[tokio::test]
async fn a_channel_has_the_transport_that_its_client_uses() {
    let world = World::new().await;
    let over = |transport| Service::on(&world.runtime, &caller("agent://alice").over(transport), "demo", true);
    let own = Caller::new("agent://alice", "acme", Scopes::admin());
    let mut seen = Vec::new();
    for transport in [Transport::Grpc, Transport::HttpJson, Transport::Grpc, Transport::HttpJson] {
        task(&over(transport), sent(says("hello"))).await;
        let all: ListRemoteChannels = serde_json::from_value(json!({})).expect("params");
        let channels = world.runtime.call(&own, all).await.expect("channels").channels;
        let summary = GetChannelSummary { channel_id: channels[0].channel_id.clone() };
        let found = world.runtime.call(&own, summary).await.expect("a summary").summary;
        seen.push((found.channel.identity.transport, found.as_of_sequence));
    }
    let (grpc, http) = (Transport::Grpc, Transport::HttpJson);
    assert_eq!(seen, [(grpc, 1), (http, 2), (grpc, 2), (http, 2)]);
}

const QUESTION_AND_TOOL: &str = r#"
name = "demo"
[[on]]
any = true
steps = [{ tools = [{ ask = "Which?", save = "which" }, { name = "deploy", approval = true, save = "deploy" }] }]
"#;

/// The client is shown the oldest question; what it is asked permission for behind that is open all the same.
#[tokio::test]
async fn a_permission_behind_a_question_is_in_the_summary() {
    let world = World::with_script(QUESTION_AND_TOOL).await;
    let asked = task(&world.service("agent://alice"), sent(says("go"))).await;
    assert_eq!(asked.status.state, TaskState::InputRequired);
    let own = Caller::new("agent://alice", "acme", Scopes::admin());
    let all: ListRemoteChannels = serde_json::from_value(json!({})).expect("params");
    let channel_id = world.runtime.call(&own, all).await.expect("channels").channels[0].channel_id.clone();
    let found = world.runtime.call(&own, GetChannelSummary { channel_id }).await.expect("a summary").summary;
    let open: Vec<_> = found.permission_bridge.iter().map(|question| question.decision.is_none()).collect();
    assert_eq!(open, [true], "{:?}", found.permission_bridge);
}

/// Seed 000: who comes back loads a snapshot first, and it says the same as the summary.
#[tokio::test]
async fn the_snapshot_of_a_client_that_comes_back_tells_of_its_tasks() {
    let world = World::new().await;
    task(&world.service("agent://alice"), sent(says("hello"))).await;
    task(&world.service("agent://alice"), sent(says("approve: deploy"))).await;
    let own = Caller::new("agent://alice", "acme", Scopes::admin());
    let all: ListRemoteChannels = serde_json::from_value(json!({})).expect("params");
    let channel_id = world.runtime.call(&own, all).await.expect("channels").channels[0].channel_id.clone();
    let summary = world.runtime.call(&own, GetChannelSummary { channel_id: channel_id.clone() }).await;
    let back = json!({ "channel_id": channel_id, "last_acknowledged_sequence": 1, "idempotency_key": "once" });
    let back: ReconnectChannel = serde_json::from_value(back).expect("params");
    let expected = summary.expect("a summary").summary;
    assert_eq!((expected.peer_tasks.len(), expected.permission_bridge.len(), expected.sessions.len()), (2, 1, 2));
    for again in [false, true] {
        let snapshot = world.runtime.call(&own, back.clone()).await.expect("a snapshot").snapshot;
        assert_eq!(snapshot.peer_tasks, expected.peer_tasks, "again: {again}");
        assert_eq!(snapshot.permission_bridge, expected.permission_bridge, "again: {again}");
        assert_eq!(snapshot.sessions, expected.sessions, "again: {again}");
    }
}
