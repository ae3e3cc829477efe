//! Seed 002 §10: who did what, in which channel, by which event; for admins only, of their account only.

use serde_json::json;

use super::*;
use crate::world::World;

async fn entries(world: &World, caller: &Caller, channel: Option<&str>, size: u64) -> Vec<Value> {
    let mut params = json!({ "channelId": channel, "pageSize": size });
    let mut entries = Vec::new();
    loop {
        let page = call(&world.runtime, caller, "channels/audit", params.clone()).await.unwrap();
        let more = page["entries"].as_array().unwrap();
        assert!(more.len() as u64 <= size, "{} on a page of {size}", more.len());
        entries.extend(more.iter().cloned());
        match page.get("nextPageToken") {
            Some(token) => params["pageToken"] = token.clone(),
            None => return entries,
        }
    }
}

#[tokio::test]
async fn everything_that_happened_is_in_the_audit() {
    let world = World::new().await;
    let (ann, bob) = (member("ann"), member("bob"));
    let id = channel(&world.runtime, &ann, &[&bob]).await;
    let event = publish(&world.runtime, &bob, &id, "a secret").await;
    call(&world.runtime, &ann, "channels/markRead", json!({ "channelId": id, "sequence": 1 })).await.unwrap();
    call(&world.runtime, &ann, "channels/addMember", json!({ "channelId": id, "principalId": "agent://cat" }))
        .await
        .unwrap();
    let owner = json!({ "channelId": id, "principalId": "agent://cat", "role": "owner", "idempotencyKey": "k" });
    call(&world.runtime, &ann, "channels/addMember", owner).await.unwrap();
    call(&world.runtime, &ann, "channels/update", json!({ "channelId": id, "expectedVersion": 3, "name": "n" }))
        .await
        .unwrap();
    call(&world.runtime, &ann, "channels/removeMember", json!({ "channelId": id, "principalId": "agent://bob" }))
        .await
        .unwrap();
    call(&world.runtime, &member("cat"), "channels/delete", json!({ "channelId": id })).await.unwrap();
    let expected = [
        ("channelCreated", "agent://ann"),
        ("messagePublished", "agent://bob"),
        ("readMarked", "agent://ann"),
        ("memberAdded", "agent://ann"),
        ("memberRoleChanged", "agent://ann"),
        ("channelUpdated", "agent://ann"),
        ("memberRemoved", "agent://ann"),
        ("channelDeleted", "agent://cat"),
    ];
    let whole = entries(&world, &world.caller, Some(&id), 200).await;
    let line =
        |entry: &Value| (entry["action"].as_str().unwrap().to_owned(), entry["actor"].as_str().unwrap().to_owned());
    let lines: Vec<_> = whole.iter().map(line).collect();
    assert_eq!(lines, expected.map(|(action, actor)| (action.to_owned(), actor.to_owned())));
    assert!(whole.iter().all(|entry| entry["channelId"] == json!(id) && entry["eventId"].is_string()));
    assert_eq!((&whole[1]["messageId"], &whole[1]["sequence"]), (&event["id"], &json!(1)));
    assert_eq!(whole[1]["eventId"], event["id"], "to its readers the message is the event");
    assert!(whole.iter().skip(2).all(|entry| entry["eventId"].as_str().unwrap().starts_with("evt_")));
    assert_eq!((&whole[4]["principalId"], &whole[4]["role"]), (&json!("agent://cat"), &json!("owner")));
    assert!(!json!(whole).to_string().contains("a secret"), "content is not in it");
    for size in [1, 2, 3] {
        assert_eq!(entries(&world, &world.caller, Some(&id), size).await, whole, "pages of {size}");
        assert_eq!(entries(&world, &world.caller, None, size).await, whole, "pages of {size} over all channels");
    }
}

#[tokio::test]
async fn it_is_for_admins_of_the_account() {
    let world = World::new().await;
    let ann = member("ann");
    let id = channel(&world.runtime, &ann, &[]).await;
    for params in [json!({}), json!({ "channelId": id }), json!({ "channelId": "chan_nobody" })] {
        let refused = call(&world.runtime, &ann, "channels/audit", params).await.unwrap_err();
        assert_eq!((refused.code, &refused.details["required_scope"]), (ErrorCode::PermissionDenied, &json!("admin")));
    }
    let other = Caller::new("agent://root", "elsewhere", Scopes::admin());
    assert_eq!(entries(&world, &other, None, 50).await, Vec::<Value>::new());
    let outcome = call(&world.runtime, &other, "channels/audit", json!({ "channelId": id })).await;
    assert_eq!(outcome.unwrap_err(), Refusal::not_found());
    let outcome = call(&world.runtime, &world.caller, "channels/audit", json!({ "channelId": "chan_nobody" })).await;
    assert_eq!(outcome.unwrap_err(), Refusal::not_found());
}

/// The first message to a peer makes their channel in the same commit.
#[tokio::test]
async fn a_page_ends_in_the_middle_of_a_commit_where_it_is_full() {
    let world = World::new().await;
    let ann = member("ann");
    for peer in ["bob", "cat"] {
        let said = json!({ "peer": format!("agent://{peer}"), "parts": parts("hi") });
        call(&world.runtime, &ann, "channels/publish", said).await.unwrap();
        // Another account's commits are in between.
        channel(&world.runtime, &Caller::new("agent://x", "elsewhere", Scopes::member()), &[]).await;
    }
    let whole = entries(&world, &world.caller, None, 200).await;
    let actions: Vec<_> = whole.iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["channelCreated", "messagePublished", "channelCreated", "messagePublished"]);
    for size in [1, 2, 3, 4] {
        assert_eq!(entries(&world, &world.caller, None, size).await, whole, "pages of {size}");
    }
}
