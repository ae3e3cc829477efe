//! A peer that tasks are given to has a remote channel by its name, which its facts name and everybody of the account may read.

use std::sync::Arc;

use factum_engine::peers::channel_of_peer;
use factum_model::ErrorCode;
use factum_model::commands::*;
use factum_model::id::{ChannelId, SessionId};
use factum_model::peer::ChannelState;
use factum_model::registry::Scopes;
use factum_runtime::{Agents, Caller};
use serde_json::{Value, json};

use super::fake::{CARD, Fake, Mood};
use super::{boss, events, given, open_action, recovered, until_fact, world};
use crate::world::World;

fn north() -> ChannelId {
    channel_of_peer("a2a", "north").unwrap()
}

async fn check_facts(world: &World, session_id: &SessionId) {
    let events = events(world, session_id).await;
    let of_channels: Vec<&Value> =
        events.iter().filter(|event| event["type"].as_str().unwrap().starts_with("channel.")).collect();
    assert!(of_channels.len() >= 2, "{of_channels:?}");
    for event in of_channels {
        assert_eq!(event["channel_id"], json!(north()), "{event}");
    }
}

/// Asks until the channel is there: it is enrolled behind the first thing that the peer says.
async fn summary(world: &World, caller: &Caller) -> GetChannelSummaryResult {
    let command = GetChannelSummary { channel_id: north() };
    let found = async {
        loop {
            match world.runtime.call(caller, command.clone()).await {
                Ok(found) => return found,
                Err(refusal) => assert_eq!(refusal.code, ErrorCode::NotFound, "{refusal}"),
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), found).await.expect("the channel never came")
}

#[tokio::test]
async fn facts_of_a_task_and_of_a_tool_call_name_the_peer_s_channel() {
    let fake = Fake::new(|_| {});
    let world = world(&fake).await;
    let session_id = given(&world).await;
    until_fact(&world, &session_id, recovered("running")).await;
    check_facts(&world, &session_id).await;

    let fake = Fake::new(|_| {});
    let world = World::with_peers(boss(), Some(Arc::new(fake.clone()))).await;
    let session_id = world.submit("count").await.unwrap().session_id;
    until_fact(&world, &session_id, recovered("running")).await;
    check_facts(&world, &session_id).await;
}

#[tokio::test]
async fn the_channel_is_read_by_its_account_and_by_nobody_else() {
    let fake = Fake::new(|_| {});
    let mut world = world(&fake).await;
    let session_id = given(&world).await;
    until_fact(&world, &session_id, recovered("running")).await;
    let member = Caller::new("agent://somebody", &world.caller.account, Scopes::admin());
    for restarted in [false, true] {
        for caller in [&world.caller, &member] {
            let channel = serde_json::to_value(summary(&world, caller).await.summary.channel).unwrap();
            assert_eq!(channel["channel_id"], json!(north()), "{channel}");
            let identity = ["peer_ref", "native_protocol", "transport", "peer_role"].map(|name| channel[name].as_str());
            assert_eq!(identity, ["peer:north", "a2a", "grpc", "peer_agent"].map(Some), "{channel}");
        }
        let stranger = Caller::new("agent://somebody", "elsewhere", Scopes::admin());
        let refusal = world.runtime.call(&stranger, GetChannelSummary { channel_id: north() }).await.unwrap_err();
        assert_eq!(refusal.code, ErrorCode::NotFound, "restarted: {restarted}");
        let through = world.caller.coming_through(north());
        let refusal = world.runtime.call(&through, crate::world::turn("hello")).await.unwrap_err();
        assert_eq!(refusal.code, ErrorCode::NotFound, "nobody but the peer comes through it");
        world.restart(Agents::demo()).await;
    }
}

#[tokio::test]
async fn an_enrolled_channel_of_somebody_s_own_is_still_theirs_alone() {
    let world = world(&Fake::new(|_| {})).await;
    let enroll = json!({ "channel_id": "mine", "peer_role": "client", "native_protocol": "a2a" });
    crate::tasks::call::<EnrollChannel>(&world, enroll).await.unwrap();
    let member = Caller::new("agent://somebody", &world.caller.account, Scopes::admin());
    let channel_id: ChannelId = "mine".parse().unwrap();
    let refusal = world.runtime.call(&member, GetChannelSummary { channel_id }).await.unwrap_err();
    assert_eq!(refusal.code, ErrorCode::NotFound);
}

/// Seed 000: the card is the peer's capability snapshot, and the channel names it. A card that changes is taken in again.
#[tokio::test]
async fn what_the_channel_can_do_is_what_the_card_says() {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let fake = Fake::new(|state| state.capabilities = words(&["task_delegation", "artifacts"]));
    let world = world(&fake).await;
    let session_id = given(&world).await;
    until_fact(&world, &session_id, recovered("running")).await;
    let channel = summary(&world, &world.caller).await.summary.channel;
    assert_eq!(channel.identity.capabilities, ["artifacts", "task_delegation"]);
    assert_eq!(channel.identity.agent_card_ref.as_deref(), Some(CARD));

    fake.change(|state| state.capabilities = words(&["task_delegation", "artifacts", "streaming"]));
    fake.task(|task| task.state = "completed");
    crate::tasks::until(&world, &session_id, "t", factum_model::task::TaskStatus::Completed).await;
    let again = json!({ "task_id": "u", "objective": "once more", "peer": "north", "status": "queued" });
    let session_id = crate::tasks::create(&world, again).await.session_id;
    until_fact(&world, &session_id, recovered("running")).await;
    let told = async || summary(&world, &world.caller).await.summary.channel.identity.capabilities;
    let waited = async {
        while told().await != ["artifacts", "streaming", "task_delegation"] {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), waited).await.expect("the new card was never taken in");
}

/// Seed 003: the summary has the peers' tasks, the sessions, the questions and whether the peer is there, and nothing of it is
/// written twice for that.
#[tokio::test]
async fn the_summary_tells_what_the_peer_is_at_and_asks() {
    let fake = Fake::new(|_| {});
    let mut world = world(&fake).await;
    let session_id = given(&world).await;
    fake.until(|state| state.tasks.len() == 1).await;
    fake.task(|task| (task.state, task.message) = ("auth-required", Some("may I?".to_owned())));
    let action_id = open_action(&world, &session_id).await;
    for restarted in [false, true] {
        if restarted {
            world.restart(Agents::demo()).await;
            until_fact(&world, &session_id, |event| event["payload"]["message"] == "carried on after a restart").await;
        }
        let waiting = async {
            loop {
                let found = serde_json::to_value(summary(&world, &world.caller).await.summary).unwrap();
                if found["peer_tasks"][0]["recovery"] == "waiting_authorization" {
                    return found;
                }
                tokio::task::yield_now().await;
            }
        };
        let found = tokio::time::timeout(std::time::Duration::from_secs(20), waiting).await.expect("never waiting");
        let task = &found["peer_tasks"][0];
        assert_eq!((&task["task_id"], &task["session_id"]), (&json!("t"), &json!(session_id)), "{found}");
        assert_eq!((&task["remote_task_id"], &task["native_status"]), (&json!("remote-1"), &json!("auth-required")));
        let question = &found["permission_bridge"][0];
        assert_eq!((&question["action_id"], &question["prompt"]), (&json!(action_id), &json!("may I?")), "{found}");
        assert_eq!((&question["requesting_peer"], &question["decision"]), (&json!("peer:north"), &Value::Null));
        let head = events(&world, &session_id).await.len();
        let session = &found["sessions"][0];
        assert_eq!((&session["session_id"], &session["head_sequence"]), (&json!(session_id), &json!(head)), "{found}");
        assert_eq!(found["channel"]["state"], "connected", "restarted: {restarted}");
    }
    fake.change(|state| state.mood = Mood::Down);
    until_fact(&world, &session_id, recovered("network_unavailable")).await;
    assert_eq!(summary(&world, &world.caller).await.summary.channel.state, ChannelState::Disconnected);
}
