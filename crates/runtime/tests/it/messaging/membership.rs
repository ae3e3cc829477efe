//! Who may see and do what changes at once, and the gate in front of channels never knows better.

use factum_runtime::Agents;
use futures::future::BoxFuture;
use futures::{FutureExt, TryFutureExt};
use serde_json::json;

use super::*;
use crate::world::World;

#[tokio::test]
async fn coming_and_going_takes_effect_at_once() {
    let mut world = World::new().await;
    let (ann, bob) = (member("ann"), member("bob"));
    let id = channel(&world.runtime, &ann, &[]).await;
    let get = json!({ "channelId": id });
    let change = json!({ "channelId": id, "principalId": "agent://bob" });
    for round in 0..4 {
        let outcome = call(&world.runtime, &bob, "channels/get", get.clone()).await;
        assert_eq!(outcome.unwrap_err(), Refusal::not_found(), "round {round}");
        call(&world.runtime, &ann, "channels/addMember", change.clone()).await.unwrap();
        call(&world.runtime, &bob, "channels/get", get.clone()).await.unwrap();
        publish(&world.runtime, &bob, &id, "hi").await;
        call(&world.runtime, &ann, "channels/removeMember", change.clone()).await.unwrap();
        let params = json!({ "channelId": id, "parts": parts("x") });
        let outcome = call(&world.runtime, &bob, "channels/publish", params).await;
        assert_eq!(outcome.unwrap_err(), Refusal::not_found(), "round {round}");
        let listed = call(&world.runtime, &bob, "channels/list", json!({})).await.unwrap();
        assert_eq!(listed, json!({ "channels": [] }));
        if round % 2 == 1 {
            world.restart(Agents::demo()).await;
        }
    }
}

#[tokio::test]
async fn the_last_owner_stays_and_versions_count_changes() {
    let world = World::new().await;
    let (ann, bob) = (member("ann"), member("bob"));
    let id = channel(&world.runtime, &ann, &[&bob]).await;
    let ann_id = json!({ "channelId": id, "principalId": "agent://ann" });
    assert_eq!(code(call(&world.runtime, &ann, "channels/removeMember", ann_id.clone()).await), ErrorCode::Conflict);
    let less = json!({ "channelId": id, "principalId": "agent://ann", "role": "member" });
    assert_eq!(code(call(&world.runtime, &ann, "channels/addMember", less).await), ErrorCode::Conflict);
    assert_eq!(
        code(call(&world.runtime, &bob, "channels/removeMember", ann_id.clone()).await),
        ErrorCode::PermissionDenied
    );
    let owner = json!({ "channelId": id, "principalId": "agent://bob", "role": "owner" });
    let answer = call(&world.runtime, &ann, "channels/addMember", owner.clone()).await.unwrap();
    assert_eq!(answer["channel"]["version"], 2);
    let answer = call(&world.runtime, &ann, "channels/addMember", owner).await.unwrap();
    assert_eq!(answer["channel"]["version"], 2, "what changes nothing is no change");
    call(&world.runtime, &ann, "channels/removeMember", ann_id.clone()).await.unwrap();
    assert_eq!(code(call(&world.runtime, &ann, "channels/get", json!({ "channelId": id })).await), ErrorCode::NotFound);
    assert_eq!(code(call(&world.runtime, &bob, "channels/removeMember", ann_id).await), ErrorCode::InvalidParams);
    let update = json!({ "channelId": id, "expectedVersion": 2, "name": "mine" });
    let refused = call(&world.runtime, &bob, "channels/update", update).await.unwrap_err();
    assert_eq!((refused.code, &refused.details["version"]), (ErrorCode::Conflict, &json!(3)));
    let update = json!({ "channelId": id, "expectedVersion": 3, "name": "mine" });
    let answer = call(&world.runtime, &bob, "channels/update", update).await.unwrap();
    assert_eq!((&answer["channel"]["version"], &answer["channel"]["name"]), (&json!(4), &json!("mine")));
}

/// Two that saw the same version cannot both be right.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_updates_of_one_version_one_wins() {
    let world = World::new().await;
    let ann = member("ann");
    let id = channel(&world.runtime, &ann, &[]).await;
    for version in 1..=10 {
        let updates = (0..10).map(|number| {
            let (runtime, ann, id) = (world.runtime.clone(), ann.clone(), id.clone());
            tokio::spawn(async move {
                let patch = json!({ "set": { format!("{version}-{number}"): true } });
                let params = json!({ "channelId": id, "expectedVersion": version, "metadataPatch": patch });
                call(&runtime, &ann, "channels/update", params).await
            })
        });
        let mut won = 0;
        for update in updates.collect::<Vec<_>>() {
            match update.await.unwrap() {
                Ok(_) => won += 1,
                Err(refusal) => assert_eq!(refusal.code, ErrorCode::Conflict),
            }
        }
        assert_eq!(won, 1, "version {version}");
    }
    let channel = call(&world.runtime, &ann, "channels/get", json!({ "channelId": id })).await.unwrap();
    assert_eq!(channel["channel"]["metadata"].as_object().unwrap().len(), 10);
}

#[tokio::test]
async fn a_deleted_channel_is_gone_for_everybody_for_ever() {
    let mut world = World::new().await;
    let (ann, bob, reader) = (member("ann"), member("bob"), member("reader"));
    let create = json!({ "visibility": "public", "members": [{ "principalId": "agent://bob" }] });
    let id = call(&world.runtime, &ann, "channels/create", create).await.unwrap()["channel"]["id"].clone();
    // All three are let through once, so that whatever remembers them remembers them.
    for caller in [&ann, &bob, &reader] {
        call(&world.runtime, caller, "channels/get", json!({ "channelId": id })).await.unwrap();
    }
    let delete = json!({ "channelId": id, "idempotencyKey": "bye" });
    let gone = call(&world.runtime, &ann, "channels/delete", delete.clone()).await.unwrap();
    assert_eq!(gone, json!({ "channelId": id, "deleted": true }));
    for _ in 0..2 {
        for caller in [&ann, &bob, &reader] {
            for method in ["channels/get", "channels/history", "channels/presence"] {
                let outcome = call(&world.runtime, caller, method, json!({ "channelId": id })).await;
                assert_eq!(outcome.unwrap_err(), Refusal::not_found(), "{method}");
            }
            assert_eq!(
                call(&world.runtime, caller, "channels/list", json!({})).await.unwrap(),
                json!({ "channels": [] })
            );
        }
        assert_eq!(call(&world.runtime, &ann, "channels/delete", delete.clone()).await.unwrap(), gone, "a repeat");
        world.restart(Agents::demo()).await;
    }
}

/// What a refusal rests on may be refused itself, and then it was never so.
#[tokio::test]
async fn nobody_is_turned_away_by_what_may_not_last() {
    let world = World::new().await;
    let (ann, bob) = (member("ann"), member("bob"));
    let id = channel(&world.runtime, &ann, &[&bob]).await;
    let said = json!({ "channelId": id, "parts": parts("hi"), "idempotencyKey": "k" });
    call(&world.runtime, &bob, "channels/publish", said.clone()).await.unwrap();
    world.store.pause();
    let change = json!({ "channelId": id, "principalId": "agent://bob" });
    let mut removing = Box::pin(call(&world.runtime, &ann, "channels/removeMember", change));
    assert!(futures::poll!(&mut removing).is_pending());
    let get = json!({ "channelId": id });
    let mut asked: Vec<BoxFuture<'_, Result<(), Refusal>>> = vec![
        call(&world.runtime, &bob, "channels/get", get.clone()).map_ok(drop).boxed(),
        call(&world.runtime, &bob, "channels/history", get.clone()).map_ok(drop).boxed(),
        call(&world.runtime, &bob, "channels/publish", said).map_ok(drop).boxed(),
        stream(&world.runtime, &bob, get.clone()).map_ok(drop).boxed(),
    ];
    for (at, asked) in asked.iter_mut().enumerate() {
        assert!(futures::poll!(asked).is_pending(), "{at} is told what may not last");
    }
    world.store.fail_next_sync();
    world.store.resume();
    assert!(removing.await.is_err());
    for asked in asked {
        assert_eq!(asked.await.unwrap_err().code, ErrorCode::Unavailable);
    }
}
