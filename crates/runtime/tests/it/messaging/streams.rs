//! Streams: catch-up into live without a gap or a duplicate, and an end at exactly the fact that ends them.

use futures::FutureExt;
use serde_json::json;

use super::*;
use crate::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn catching_up_goes_over_into_live_without_a_seam() {
    const MESSAGES: u64 = 600;
    let world = World::new().await;
    let owner = member("owner");
    let id = channel(&world.runtime, &owner, &[]).await;
    for number in 0..20 {
        publish(&world.runtime, &owner, &id, &number.to_string()).await;
    }
    let publishing = {
        let (runtime, owner, id) = (world.runtime.clone(), owner.clone(), id.clone());
        tokio::spawn(async move {
            for number in 20..MESSAGES {
                publish(&runtime, &owner, &id, &number.to_string()).await;
                // Other facts on the way, which nobody asked for.
                if number % 50 == 0 {
                    let params = json!({ "channelId": id, "principalId": format!("agent://{number}") });
                    call(&runtime, &owner, "channels/addMember", params).await.unwrap();
                }
            }
        })
    };
    let readers = (0..20_u64).map(|since| {
        let (runtime, owner, id) = (world.runtime.clone(), owner.clone(), id.clone());
        tokio::spawn(async move {
            let mut since = since;
            let mut seen = Vec::new();
            // Each goes away and comes back where it was, again and again.
            while since < MESSAGES {
                let params = json!({ "channelId": id, "sinceSequence": since });
                let mut stream = stream(&runtime, &owner, params).await.unwrap();
                let events = read_to(&mut stream, (since + 150).min(MESSAGES)).await;
                since = sequence(events.last().unwrap());
                seen.extend(sequences(&events));
            }
            seen
        })
    });
    let readers: Vec<_> = readers.collect();
    publishing.await.unwrap();
    for (since, reader) in (1..).zip(readers) {
        assert_eq!(reader.await.unwrap(), (since..=MESSAGES).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn without_a_sequence_only_what_is_new_comes() {
    let world = World::new().await;
    let owner = member("owner");
    let id = channel(&world.runtime, &owner, &[]).await;
    publish(&world.runtime, &owner, &id, "old").await;
    let mut live = stream(&world.runtime, &owner, json!({ "channelId": id })).await.unwrap();
    assert!(live.next().now_or_never().is_none());
    let event = publish(&world.runtime, &owner, &id, "new").await;
    assert_eq!(next(&mut live).await.unwrap(), [json!({ "kind": "messageEvent", "event": event })]);
    // Ahead of the channel there is nothing to go on behind.
    for since in [3, u64::MAX] {
        let refused = stream(&world.runtime, &owner, json!({ "channelId": id, "sinceSequence": since })).await;
        assert_eq!(refused.err().unwrap().code, ErrorCode::InvalidParams);
    }
    stream(&world.runtime, &owner, json!({ "channelId": id, "sinceSequence": 2 })).await.unwrap();
}

#[tokio::test]
async fn nothing_is_delivered_before_it_is_durable() {
    let world = World::new().await;
    let owner = member("owner");
    let id = channel(&world.runtime, &owner, &[]).await;
    let mut live = stream(&world.runtime, &owner, json!({ "channelId": id })).await.unwrap();
    world.store.pause();
    let mut publishing = Box::pin(publish(&world.runtime, &owner, &id, "held back"));
    assert!(publishing.as_mut().now_or_never().is_none(), "acknowledged before it was durable");
    assert!(live.next().now_or_never().is_none(), "delivered before it was durable");
    world.store.resume();
    let event = publishing.await;
    assert_eq!(next(&mut live).await.unwrap(), [json!({ "kind": "messageEvent", "event": event })]);
}

/// Nothing is delivered after the removal: not what was published behind it, and not what a stream has yet to catch up with.
#[tokio::test]
async fn a_removed_member_is_cut_off_at_once() {
    let world = World::new().await;
    let (owner, bob) = (member("owner"), member("bob"));
    let id = channel(&world.runtime, &owner, &[&bob]).await;
    let from_the_start = json!({ "channelId": id, "sinceSequence": 0, "controlEvents": true });
    let mut slow = stream(&world.runtime, &bob, from_the_start.clone()).await.unwrap();
    let mut quick = stream(&world.runtime, &bob, json!({ "channelId": id })).await.unwrap();
    let mut owners = stream(&world.runtime, &owner, from_the_start).await.unwrap();
    for text in ["one", "two", "three"] {
        publish(&world.runtime, &owner, &id, text).await;
        next(&mut quick).await.unwrap();
    }
    let params = json!({ "channelId": id, "principalId": "agent://bob" });
    call(&world.runtime, &owner, "channels/removeMember", params).await.unwrap();
    for text in ["four", "five"] {
        publish(&world.runtime, &owner, &id, text).await;
    }
    let (seen, refusal) = read_out(&mut slow).await;
    assert_eq!((seen, refusal), (vec![], Refusal::not_found()), "not even that they were removed");
    let (seen, refusal) = read_out(&mut quick).await;
    assert_eq!((seen, refusal), (vec![], Refusal::not_found()));
    assert_eq!(next(&mut quick).await.unwrap_err(), Refusal::not_found(), "it stays ended");
    assert_eq!(read_to(&mut owners, 5).await.len(), 5, "the others' go on");
}

/// A public channel is still there for whoever was taken out of it, so its stream must not say that it is gone.
#[tokio::test]
async fn a_stream_of_a_public_channel_ends_with_what_happened() {
    let world = World::new().await;
    let (owner, bob) = (member("owner"), member("bob"));
    let create = json!({ "visibility": "public", "members": [{ "principalId": "agent://bob" }] });
    let created = call(&world.runtime, &owner, "channels/create", create).await.unwrap();
    let id = created["channel"]["id"].as_str().unwrap();
    let mut bobs = stream(&world.runtime, &bob, json!({ "channelId": id })).await.unwrap();
    let params = json!({ "channelId": id, "principalId": "agent://bob" });
    call(&world.runtime, &owner, "channels/removeMember", params).await.unwrap();
    let (seen, refusal) = read_out(&mut bobs).await;
    assert_eq!((seen, refusal.code), (vec![], ErrorCode::PermissionDenied), "{refusal}");
    let mut again = stream(&world.runtime, &bob, json!({ "channelId": id })).await.unwrap();
    assert!(again.next().now_or_never().is_none());
    call(&world.runtime, &owner, "channels/delete", json!({ "channelId": id })).await.unwrap();
    assert_eq!(read_out(&mut again).await, (vec![], Refusal::not_found()));
}

/// More than a page of backlog, of which some was read before the removal.
#[tokio::test]
async fn a_stream_that_is_catching_up_is_cut_off_too() {
    const MESSAGES: u64 = 600;
    let world = World::new().await;
    let (owner, bob, cat) = (member("owner"), member("bob"), member("cat"));
    let id = channel(&world.runtime, &owner, &[&bob, &cat]).await;
    for number in 0..MESSAGES {
        publish(&world.runtime, &owner, &id, &number.to_string()).await;
    }
    let from_the_start = json!({ "channelId": id, "sinceSequence": 0 });
    let mut bobs = stream(&world.runtime, &bob, from_the_start.clone()).await.unwrap();
    let mut cats = stream(&world.runtime, &cat, from_the_start).await.unwrap();
    for stream in [&mut bobs, &mut cats] {
        assert!((next(stream).await.unwrap().len() as u64) < MESSAGES);
    }
    let params = json!({ "channelId": id, "principalId": "agent://bob" });
    call(&world.runtime, &owner, "channels/removeMember", params).await.unwrap();
    assert_eq!(read_out(&mut bobs).await, (vec![], Refusal::not_found()));
    assert_eq!(sequence(read_to(&mut cats, MESSAGES).await.last().unwrap()), MESSAGES, "the others' go on");
}

/// How much comes at once, which is what somebody who does not read is left with: from the log, and of what is new.
#[tokio::test]
async fn what_comes_at_once_is_little_and_nothing_comes_behind_a_removal() {
    const AT_ONCE_BYTES: usize = 32 << 10;
    let world = World::new().await;
    let (owner, bob, cat) = (member("owner"), member("bob"), member("cat"));
    let id = channel(&world.runtime, &owner, &[&bob, &cat]).await;
    let from_the_start = json!({ "channelId": id, "sinceSequence": 0 });
    let publish_some = async |runtime: &Runtime| {
        for _ in 0..40 {
            publish(runtime, &owner, &id, &"x".repeat(4_000)).await;
        }
        publish(runtime, &owner, &id, &"x".repeat(100_000)).await;
        publish(runtime, &owner, &id, "small").await;
    };
    publish_some(&world.runtime).await;
    let mut older = stream(&world.runtime, &cat, from_the_start.clone()).await.unwrap();
    let mut newer = stream(&world.runtime, &cat, json!({ "channelId": id })).await.unwrap();
    publish_some(&world.runtime).await;
    for (stream, first) in [(&mut older, 1), (&mut newer, 43)] {
        let (mut next, mut batches) = (first, 0);
        while next <= 84 {
            let items = tokio::time::timeout(PATIENCE, stream.next()).await.expect("nothing came").unwrap();
            let bytes: usize = items.iter().map(|item| item.json.len()).sum();
            assert!(bytes <= AT_ONCE_BYTES || items.len() == 1, "{} bytes in {} items", bytes, items.len());
            for item in items {
                assert_eq!(item.sequence(), Some(next));
                next += 1;
            }
            batches += 1;
        }
        assert!(batches < (84 - first) / 3, "and not one by one: {batches}");
    }
    let mut bobs = stream(&world.runtime, &bob, from_the_start).await.unwrap();
    assert!(next(&mut bobs).await.unwrap().len() <= 8);
    let params = json!({ "channelId": id, "principalId": "agent://bob" });
    call(&world.runtime, &owner, "channels/removeMember", params).await.unwrap();
    assert_eq!(read_out(&mut bobs).await, (vec![], Refusal::not_found()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_under_load_delivers_nothing_from_behind_it() {
    let world = World::new().await;
    let (owner, bob) = (member("owner"), member("bob"));
    let id = channel(&world.runtime, &owner, &[&bob]).await;
    let mut stream = stream(&world.runtime, &bob, json!({ "channelId": id, "sinceSequence": 0 })).await.unwrap();
    let publishing = {
        let (runtime, owner, id) = (world.runtime.clone(), owner.clone(), id.clone());
        tokio::spawn(async move {
            for number in 0..400 {
                publish(&runtime, &owner, &id, &number.to_string()).await;
            }
        })
    };
    read_to(&mut stream, 100).await;
    let params = json!({ "channelId": id, "principalId": "agent://bob" });
    call(&world.runtime, &owner, "channels/removeMember", params).await.unwrap();
    let (rest, refusal) = read_out(&mut stream).await;
    assert_eq!(refusal, Refusal::not_found());
    publishing.await.unwrap();
    let audit = json!({ "channelId": id, "pageSize": 200 });
    let mut page = call(&world.runtime, &world.caller, "channels/audit", audit.clone()).await.unwrap();
    let mut before = 0;
    'found: loop {
        for entry in page["entries"].as_array().unwrap() {
            match entry["action"].as_str().unwrap() {
                "messagePublished" => before = sequence(entry),
                "memberRemoved" => break 'found,
                _ => {}
            }
        }
        let mut params = audit.clone();
        params["pageToken"] = page["nextPageToken"].clone();
        page = call(&world.runtime, &world.caller, "channels/audit", params).await.unwrap();
    }
    let last = rest.last().map_or(100, |envelope| sequence(&envelope["event"]));
    assert!(last <= before, "{last} was published behind the removal, which is behind {before}");
}

#[tokio::test]
async fn who_is_added_again_may_read_everything() {
    let world = World::new().await;
    let (owner, bob) = (member("owner"), member("bob"));
    let id = channel(&world.runtime, &owner, &[&bob]).await;
    publish(&world.runtime, &owner, &id, "one").await;
    let mut before = stream(&world.runtime, &bob, json!({ "channelId": id, "sinceSequence": 1 })).await.unwrap();
    let params = json!({ "channelId": id, "principalId": "agent://bob" });
    call(&world.runtime, &owner, "channels/removeMember", params.clone()).await.unwrap();
    publish(&world.runtime, &owner, &id, "two").await;
    let refused = stream(&world.runtime, &bob, json!({ "channelId": id })).await.err().unwrap();
    assert_eq!(refused, Refusal::not_found());
    call(&world.runtime, &owner, "channels/addMember", params).await.unwrap();
    publish(&world.runtime, &owner, &id, "three").await;
    assert_eq!(sequences(&all(&world.runtime, &bob, &id).await), [1, 2, 3]);
    let mut again = stream(&world.runtime, &bob, json!({ "channelId": id, "sinceSequence": 0 })).await.unwrap();
    assert_eq!(sequences(&read_to(&mut again, 3).await), [1, 2, 3], "the old removal does not count");
    let (seen, refusal) = read_out(&mut before).await;
    assert_eq!((seen, refusal.code), (vec![], ErrorCode::PermissionDenied), "a stream that was cut off stays so");
}

#[tokio::test]
async fn a_deleted_channel_ends_every_stream() {
    let world = World::new().await;
    let (owner, bob, reader) = (member("owner"), member("bob"), member("reader"));
    let create = json!({ "visibility": "public", "members": [{ "principalId": "agent://bob" }] });
    let id = call(&world.runtime, &owner, "channels/create", create).await.unwrap()["channel"]["id"].clone();
    let mut streams = Vec::new();
    for caller in [&owner, &bob, &reader] {
        let params = json!({ "channelId": id, "sinceSequence": 0, "controlEvents": true });
        streams.push(stream(&world.runtime, caller, params).await.unwrap());
    }
    publish(&world.runtime, &owner, id.as_str().unwrap(), "one").await;
    call(&world.runtime, &owner, "channels/delete", json!({ "channelId": id })).await.unwrap();
    for mut stream in streams {
        let (seen, refusal) = read_out(&mut stream).await;
        assert_eq!((seen, refusal), (vec![], Refusal::not_found()));
    }
    for caller in [&owner, &bob, &reader] {
        let refused = stream(&world.runtime, caller, json!({ "channelId": id })).await.err().unwrap();
        assert_eq!(refused, Refusal::not_found());
    }
}

#[tokio::test]
async fn control_events_come_to_who_asks_and_in_their_place() {
    let world = World::new().await;
    let owner = member("owner");
    let id = channel(&world.runtime, &owner, &[]).await;
    let open = async |control: Value| {
        let params = json!({ "channelId": id, "sinceSequence": 0, "controlEvents": control });
        stream(&world.runtime, &owner, params).await.unwrap()
    };
    let [mut with, mut without, mut silent] =
        [open(json!(true)).await, open(json!(false)).await, open(json!(null)).await];
    publish(&world.runtime, &owner, &id, "one").await;
    let bob = json!({ "channelId": id, "principalId": "agent://bob" });
    call(&world.runtime, &owner, "channels/addMember", bob.clone()).await.unwrap();
    let moderator = json!({ "channelId": id, "principalId": "agent://bob", "role": "moderator" });
    call(&world.runtime, &owner, "channels/addMember", moderator).await.unwrap();
    call(&world.runtime, &owner, "channels/markRead", json!({ "channelId": id, "sequence": 1 })).await.unwrap();
    let patch = json!({ "set": { "a": 1 }, "remove": ["b"] });
    let update = json!({ "channelId": id, "expectedVersion": 3, "name": "new", "metadataPatch": patch });
    call(&world.runtime, &owner, "channels/update", update).await.unwrap();
    call(&world.runtime, &owner, "channels/removeMember", bob).await.unwrap();
    publish(&world.runtime, &owner, &id, "two").await;
    for stream in [&mut without, &mut silent] {
        let mut kinds = Vec::new();
        while kinds.len() < 2 {
            kinds.extend(next(stream).await.unwrap().iter().map(|one| one["kind"].clone()));
        }
        assert_eq!(kinds, [json!("messageEvent"), json!("messageEvent")]);
    }
    let mut seen = Vec::new();
    while seen.len() < 7 {
        seen.extend(next(&mut with).await.unwrap());
    }
    let line = |envelope: &Value| {
        let event = &envelope["event"];
        let what = event.get("action").unwrap_or(&envelope["kind"]).as_str().unwrap().to_owned();
        (what, event["version"].as_u64(), event["afterSequence"].as_u64().or(event["sequence"].as_u64()).unwrap())
    };
    let expected = [
        ("channelCreated", Some(1), 0),
        ("messageEvent", None, 1),
        ("memberAdded", Some(2), 1),
        ("memberRoleChanged", Some(3), 1),
        ("channelUpdated", Some(4), 1),
        ("memberRemoved", Some(5), 1),
        ("messageEvent", None, 2),
    ];
    assert_eq!(
        seen.iter().map(line).collect::<Vec<_>>(),
        expected.map(|(what, version, after)| (what.to_owned(), version, after))
    );
    let updated = &seen[4]["event"];
    assert_eq!((&updated["name"], &updated["metadataPatch"]["set"]), (&json!("new"), &json!({ "a": 1 })));
    assert_eq!((&updated["actor"], &seen[3]["event"]["role"]), (&json!("agent://owner"), &json!("moderator")));
}

#[tokio::test]
async fn a_stream_asks_for_what_a_call_asks_for() {
    let world = World::new().await;
    let (owner, eve) = (member("owner"), member("eve"));
    let id = channel(&world.runtime, &owner, &[]).await;
    let refused = async |caller: &Caller, params: Value| stream(&world.runtime, caller, params).await.err().unwrap();
    assert_eq!(refused(&eve, json!({ "channelId": id })).await, Refusal::not_found());
    assert_eq!(refused(&eve, json!({ "channelId": id, "sinceSequence": 99 })).await, Refusal::not_found());
    assert_eq!(refused(&owner, json!({})).await.code, ErrorCode::InvalidParams);
    assert_eq!(refused(&owner, json!({ "channelId": id, "peer": "agent://x" })).await.code, ErrorCode::InvalidParams);
    let sessions =
        Caller::new("agent://owner", "acme", [factum_model::registry::Scope::SessionsRead].into_iter().collect());
    assert_eq!(refused(&sessions, json!({ "channelId": id })).await.code, ErrorCode::PermissionDenied);
    let elsewhere = Caller::new("agent://owner", "elsewhere", Scopes::member());
    assert_eq!(refused(&elsewhere, json!({ "channelId": id })).await, Refusal::not_found());
}

#[tokio::test]
async fn changes_from_before_are_asked_for_together_with_messages_from_before() {
    let world = World::new().await;
    let ann = member("ann");
    let id = channel(&world.runtime, &ann, &[]).await;
    let alone = json!({ "channelId": id, "controlEvents": true, "sinceVersion": 1 });
    let refused = stream(&world.runtime, &ann, alone).await.err().map(|refusal| refusal.code);
    assert_eq!(refused, Some(ErrorCode::InvalidParams));
}
