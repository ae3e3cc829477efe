//! A peer that tasks are given to has a remote channel by its name, which its facts name and everybody of the account may read.

use std::sync::Arc;

use factum_engine::peers::channel_of_peer;
use factum_model::ErrorCode;
use factum_model::commands::*;
use factum_model::id::{ChannelId, SessionId};
use factum_model::registry::Scopes;
use factum_runtime::{Agents, Caller};
use serde_json::{Value, json};

use super::fake::Fake;
use super::{boss, events, given, recovered, until_fact, world};
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
