//! `channels/list` and `channels/audit` of channels that are large: a page has as much as a client takes.

use serde_json::json;

use super::*;
use crate::world::World;

/// What a client of gRPC takes where it is not told otherwise.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// Channels with as many members as may be, whose names are as long as may be; gives their ids.
async fn large_channels(world: &World, owner: &Caller, count: usize) -> Vec<String> {
    let name = |number: usize| format!("agent://{number:0>192}");
    let members: Vec<Value> = (1..1_000).map(|number| json!({ "principalId": name(number) })).collect();
    let mut ids = Vec::new();
    for number in 0..count {
        let visibility = if number % 2 == 0 { "private" } else { "public" };
        let create = json!({ "members": members, "visibility": visibility });
        let created = call(&world.runtime, owner, "channels/create", create).await.unwrap();
        ids.push(created["channel"]["id"].as_str().unwrap().to_owned());
    }
    ids.sort();
    ids
}

/// All pages of a list, put together, and how many there were.
async fn collect(world: &World, caller: &Caller, method: &str, list: &str, id: &str) -> (Vec<String>, usize) {
    let (mut ids, mut pages, mut params) = (Vec::new(), 0, json!({ "pageSize": 200 }));
    loop {
        let page = call(&world.runtime, caller, method, params.clone()).await.unwrap();
        assert!(page.to_string().len() < ANSWER_BYTES_MAX, "{} bytes", page.to_string().len());
        let entries = page[list].as_array().unwrap();
        assert!(!entries.is_empty(), "a page has at least one");
        ids.extend(entries.iter().map(|entry| entry[id].as_str().unwrap().to_owned()));
        pages += 1;
        match page.get("nextPageToken") {
            Some(token) => params["pageToken"] = token.clone(),
            None => break,
        }
    }
    ids.sort();
    (ids, pages)
}

#[tokio::test]
async fn a_page_of_large_channels_ends_where_it_is_large_enough() {
    let world = World::new().await;
    let owner = member("owner");
    let expected = large_channels(&world, &owner, 30).await;
    let (ids, pages) = collect(&world, &owner, "channels/list", "channels", "id").await;
    assert_eq!((&ids, (2..=4).contains(&pages)), (&expected, true), "{pages} pages");
    // Those who are in none of them see the public ones.
    let (ids, _) = collect(&world, &member("eve"), "channels/list", "channels", "id").await;
    assert_eq!(ids.len(), 15);
    let (ids, pages) = collect(&world, &world.caller, "channels/audit", "entries", "channelId").await;
    assert_eq!((&ids, (2..=4).contains(&pages)), (&expected, true), "{pages} pages");
}

#[tokio::test]
async fn a_page_that_has_all_there_is_says_so() {
    let world = World::new().await;
    let (owner, eve) = (member("owner"), member("eve"));
    for number in 0..4 {
        let visibility = if number % 2 == 0 { "private" } else { "public" };
        call(&world.runtime, &owner, "channels/create", json!({ "visibility": visibility })).await.unwrap();
    }
    // Channels that are not listed are nothing that could come.
    call(&world.runtime, &owner, "channels/publish", json!({ "peer": "agent://eve", "parts": parts("hi") }))
        .await
        .unwrap();
    for (caller, size, expected) in [
        (&owner, 4, &[4][..]),
        (&owner, 2, &[2, 2]),
        (&owner, 1, &[1, 1, 1, 1]),
        (&owner, 3, &[3, 1]),
        (&eve, 2, &[2]),
        (&eve, 1, &[1, 1]),
    ] {
        let (mut pages, mut ids, mut params) = (Vec::new(), Vec::new(), json!({ "pageSize": size }));
        loop {
            let page = call(&world.runtime, caller, "channels/list", params.clone()).await.unwrap();
            let channels = page["channels"].as_array().unwrap();
            ids.extend(channels.iter().map(|channel| channel["id"].to_string()));
            pages.push(channels.len());
            match page.get("nextPageToken") {
                Some(token) => params["pageToken"] = token.clone(),
                None => break,
            }
        }
        assert_eq!(pages, expected, "{} in pages of {size}", caller.principal);
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), expected.iter().sum::<usize>());
    }
}
