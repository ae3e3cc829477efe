//! Seed 002 §6: the same key and content gives the message that is there, other content is a conflict and writes nothing.

use factum_runtime::Agents;
use factum_store::Store;
use futures::future::join_all;
use serde_json::json;

use super::*;
use crate::world::World;

fn keyed(channel: &str, key: &str, text: &str) -> Value {
    json!({ "channelId": channel, "parts": parts(text), "idempotencyKey": key })
}

#[tokio::test]
async fn a_repeat_gets_the_first_event_also_after_a_restart() {
    let mut world = World::new().await;
    let owner = member("owner");
    let id = channel(&world.runtime, &owner, &[]).await;
    let first = call(&world.runtime, &owner, "channels/publish", keyed(&id, "k", "hello")).await.unwrap();
    assert_eq!(first["event"]["idempotencyKey"], "k");
    publish(&world.runtime, &owner, &id, "something else").await;
    for round in 0..3 {
        let before = *world.store.durable().borrow();
        let again = call(&world.runtime, &owner, "channels/publish", keyed(&id, "k", "hello")).await.unwrap();
        assert_eq!(again, first, "round {round}");
        let refused = call(&world.runtime, &owner, "channels/publish", keyed(&id, "k", "other")).await.unwrap_err();
        assert_eq!((refused.code, &refused.details["sequence"]), (ErrorCode::Conflict, &json!(1)));
        assert_eq!(*world.store.durable().borrow(), before, "a repeat and a conflict write nothing");
        world.restart(Agents::demo()).await;
    }
    assert_eq!(sequences(&all(&world.runtime, &owner, &id).await), [1, 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_write_once() {
    let world = World::new().await;
    let owner = member("owner");
    let id = channel(&world.runtime, &owner, &[]).await;
    let calls = (0..100).map(|number| {
        let (runtime, owner, id) = (world.runtime.clone(), owner.clone(), id.clone());
        // Every fourth says something else under the same key: whoever comes first decides.
        let text = if number % 4 == 3 { "other" } else { "same" };
        tokio::spawn(async move { call(&runtime, &owner, "channels/publish", keyed(&id, "k", text)).await })
    });
    let outcomes: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
    let events: Vec<&Value> = outcomes.iter().filter_map(|outcome| outcome.as_ref().ok()).collect();
    assert!(events.len() == 75 || events.len() == 25, "{}", events.len());
    assert!(events.iter().all(|event| *event == events[0]));
    let conflicts = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
    assert!(conflicts.clone().all(|refusal| refusal.code == ErrorCode::Conflict));
    assert_eq!(conflicts.count(), 100 - events.len());
    assert_eq!(sequences(&all(&world.runtime, &owner, &id).await), [1]);
}

#[tokio::test]
async fn a_key_belongs_to_its_author_and_its_channel() {
    let world = World::new().await;
    let (ann, bob) = (member("ann"), member("bob"));
    let (one, two) = (channel(&world.runtime, &ann, &[&bob]).await, channel(&world.runtime, &ann, &[&bob]).await);
    let mut events = Vec::new();
    for (author, id) in [(&ann, &one), (&bob, &one), (&ann, &two), (&bob, &two)] {
        let text = format!("{} in {id}", author.principal);
        let outcome = call(&world.runtime, author, "channels/publish", keyed(id, "k", &text)).await;
        events.push(outcome.unwrap()["event"].clone());
    }
    assert_eq!(sequences(&events), [1, 2, 1, 2]);
    // A direct channel is one channel, however it is named.
    let by_peer = json!({ "peer": "agent://bob", "parts": parts("hi"), "idempotencyKey": "k" });
    let first = call(&world.runtime, &ann, "channels/publish", by_peer.clone()).await.unwrap();
    let id = first["event"]["channelId"].as_str().unwrap();
    assert_eq!(call(&world.runtime, &ann, "channels/publish", keyed(id, "k", "hi")).await.unwrap(), first);
    assert_eq!(call(&world.runtime, &ann, "channels/publish", by_peer).await.unwrap(), first);
}

#[tokio::test]
async fn a_key_is_no_way_in_for_who_was_taken_out() {
    let world = World::new().await;
    let (ann, bob) = (member("ann"), member("bob"));
    let id = channel(&world.runtime, &ann, &[&bob]).await;
    let first = call(&world.runtime, &bob, "channels/publish", keyed(&id, "k", "hi")).await.unwrap();
    let bob_id = json!({ "channelId": id, "principalId": "agent://bob" });
    call(&world.runtime, &ann, "channels/removeMember", bob_id.clone()).await.unwrap();
    assert_eq!(code(call(&world.runtime, &bob, "channels/publish", keyed(&id, "k", "hi")).await), ErrorCode::NotFound);
    call(&world.runtime, &ann, "channels/addMember", bob_id).await.unwrap();
    assert_eq!(call(&world.runtime, &bob, "channels/publish", keyed(&id, "k", "hi")).await.unwrap(), first);
}

/// Seed 002 §6: what is left out and what is said to be as it would be anyway are the same.
#[tokio::test]
async fn keys_of_other_commands_belong_to_their_channel_and_compare_by_meaning() {
    let world = World::new().await;
    let (ann, bob) = (member("ann"), member("bob"));
    let (runtime, create) = (&world.runtime, "channels/create");
    let plain = json!({ "name": "a", "idempotencyKey": "new" });
    let first = call(runtime, &ann, create, plain.clone()).await.unwrap();
    let spelled =
        json!({ "name": "a", "visibility": "private", "members": [], "metadata": {}, "idempotencyKey": "new" });
    assert_eq!(call(runtime, &ann, create, spelled).await.unwrap(), first);
    let other = json!({ "name": "a", "visibility": "public", "idempotencyKey": "new" });
    assert_eq!(code(call(runtime, &ann, create, other).await), ErrorCode::Conflict);
    let (one, two) = (channel(runtime, &ann, &[]).await, channel(runtime, &ann, &[]).await);
    for id in [&one, &two] {
        let add = json!({ "channelId": id, "principalId": "agent://bob", "idempotencyKey": "k" });
        let added = call(runtime, &ann, "channels/addMember", add.clone()).await.unwrap();
        assert_eq!(added["channel"]["id"], json!(id));
        assert_eq!(call(runtime, &ann, "channels/addMember", add).await.unwrap(), added);
        let cat = json!({ "channelId": id, "principalId": "agent://cat", "idempotencyKey": "k" });
        assert_eq!(code(call(runtime, &ann, "channels/addMember", cat).await), ErrorCode::Conflict);
    }
    let said = json!({ "peer": "agent://bob", "parts": parts("hi") });
    let direct = call(runtime, &ann, "channels/publish", said).await.unwrap()["event"]["channelId"].clone();
    let read = json!({ "peer": "agent://ann", "sequence": 1, "idempotencyKey": "k" });
    let marked = call(runtime, &bob, "channels/markRead", read).await.unwrap();
    let by_id = json!({ "channelId": direct, "sequence": 1, "idempotencyKey": "k" });
    assert_eq!(call(runtime, &bob, "channels/markRead", by_id).await.unwrap(), marked);
}

/// A private channel does not exist for who is not in it, whatever they did there before.
#[tokio::test]
async fn a_repeat_shows_nothing_to_who_was_taken_out_and_tells_who_left_how_that_went() {
    let world = World::new().await;
    let (ann, bob) = (member("ann"), member("bob"));
    let runtime = &world.runtime;
    let id = channel(runtime, &ann, &[&bob]).await;
    let owner = json!({ "channelId": id, "principalId": "agent://bob", "role": "owner" });
    call(runtime, &ann, "channels/addMember", owner).await.unwrap();
    let update = json!({ "channelId": id, "expectedVersion": 2, "name": "n", "idempotencyKey": "u" });
    call(runtime, &bob, "channels/update", update.clone()).await.unwrap();
    let leave = json!({ "channelId": id, "principalId": "agent://bob", "idempotencyKey": "l" });
    let left = call(runtime, &bob, "channels/removeMember", leave.clone()).await.unwrap();
    assert_eq!(code(call(runtime, &bob, "channels/update", update).await), ErrorCode::NotFound);
    assert_eq!(call(runtime, &bob, "channels/removeMember", leave).await.unwrap(), left);
    let delete = json!({ "channelId": id, "idempotencyKey": "d" });
    let deleted = call(runtime, &ann, "channels/delete", delete.clone()).await.unwrap();
    assert_eq!(call(runtime, &ann, "channels/delete", delete).await.unwrap(), deleted);
}

/// A public channel lets everybody in to look, and the gate remembers who was let in; a repeat is for who takes part.
#[tokio::test]
async fn a_repeat_is_not_answered_to_who_was_taken_out_of_a_public_channel_or_when_it_is_deleted() {
    let world = World::new().await;
    let (ann, bob) = (member("ann"), member("bob"));
    let runtime = &world.runtime;
    let members = json!([{ "principalId": "agent://bob", "role": "owner" }]);
    let made = call(runtime, &ann, "channels/create", json!({ "visibility": "public", "members": members })).await;
    let id = made.unwrap()["channel"]["id"].as_str().unwrap().to_owned();
    publish(runtime, &ann, &id, "hello").await;
    let update = json!({ "channelId": id, "expectedVersion": 1, "name": "n", "idempotencyKey": "u" });
    let other = json!({ "channelId": id, "expectedVersion": 1, "name": "other", "idempotencyKey": "u" });
    let commands = [
        ("channels/update", update),
        ("channels/addMember", json!({ "channelId": id, "principalId": "agent://cat", "idempotencyKey": "a" })),
        ("channels/removeMember", json!({ "channelId": id, "principalId": "agent://cat", "idempotencyKey": "r" })),
        ("channels/markRead", json!({ "channelId": id, "sequence": 1, "idempotencyKey": "m" })),
    ];
    let mut first = Vec::new();
    for (method, params) in &commands {
        first.push(call(runtime, &bob, method, params.clone()).await.unwrap());
    }
    let bob_id = json!({ "channelId": id, "principalId": "agent://bob" });
    call(runtime, &ann, "channels/removeMember", bob_id.clone()).await.unwrap();
    for (method, params) in &commands {
        assert_eq!(code(call(runtime, &bob, method, params.clone()).await), ErrorCode::PermissionDenied, "{method}");
    }
    assert_eq!(code(call(runtime, &bob, "channels/update", other.clone()).await), ErrorCode::PermissionDenied);
    // Who takes part again is answered again, also where they could not do it any more.
    call(runtime, &ann, "channels/addMember", bob_id.clone()).await.unwrap();
    for ((method, params), first) in commands.iter().zip(&first) {
        assert_eq!(call(runtime, &bob, method, params.clone()).await.as_ref(), Ok(first), "{method}");
    }
    assert_eq!(code(call(runtime, &bob, "channels/update", other.clone()).await), ErrorCode::Conflict);
    call(runtime, &ann, "channels/removeMember", bob_id).await.unwrap();
    call(runtime, &bob, "channels/get", json!({ "channelId": id })).await.unwrap();
    call(runtime, &ann, "channels/delete", json!({ "channelId": id })).await.unwrap();
    for (method, params) in &commands {
        assert_eq!(code(call(runtime, &bob, method, params.clone()).await), ErrorCode::NotFound, "{method}");
    }
    assert_eq!(code(call(runtime, &bob, "channels/update", other).await), ErrorCode::NotFound);
}

#[tokio::test]
async fn adding_a_member_again_without_a_role_takes_none_away() {
    let world = World::new().await;
    let ann = member("ann");
    let id = channel(&world.runtime, &ann, &[]).await;
    let owner = json!({ "channelId": id, "principalId": "agent://bob", "role": "owner" });
    let before = call(&world.runtime, &ann, "channels/addMember", owner).await.unwrap();
    let again = json!({ "channelId": id, "principalId": "agent://bob" });
    assert_eq!(call(&world.runtime, &ann, "channels/addMember", again).await.unwrap(), before);
}

#[tokio::test]
async fn bad_keys_are_refused() {
    let world = World::new().await;
    let owner = member("owner");
    let id = channel(&world.runtime, &owner, &[]).await;
    for (key, expected) in [
        (String::new(), ErrorCode::InvalidParams),
        ("a\nb".to_owned(), ErrorCode::InvalidParams),
        ("x".repeat(129), ErrorCode::LimitExceeded),
    ] {
        let outcome = call(&world.runtime, &owner, "channels/publish", keyed(&id, &key, "x")).await;
        assert_eq!(code(outcome), expected, "{key:?}");
    }
    // A bound of characters, not of bytes.
    call(&world.runtime, &owner, "channels/publish", keyed(&id, &"ü".repeat(128), "x")).await.unwrap();
    // Nothing else has keys in a channel, so all that are printable are its callers'.
    call(&world.runtime, &owner, "channels/publish", keyed(&id, "@k", "x")).await.unwrap();
    let read = json!({ "channelId": id, "sequence": 1, "idempotencyKey": "@k" });
    call(&world.runtime, &owner, "channels/markRead", read).await.unwrap();
    let create = json!({ "idempotencyKey": "@k" });
    assert_eq!(code(call(&world.runtime, &owner, "channels/create", create).await), ErrorCode::InvalidParams);
}

/// No message is as large as that, so none can be the one that is meant.
#[tokio::test]
async fn a_repeat_is_within_the_bounds_of_a_message() {
    let world = World::new().await;
    let owner = member("owner");
    let id = channel(&world.runtime, &owner, &[]).await;
    call(&world.runtime, &owner, "channels/publish", keyed(&id, "k", "hello")).await.unwrap();
    let many = json!(vec![json!({ "text": "hello" }); 33]);
    for (parts, limit) in [(parts(&"x".repeat(300_000)), "message_bytes"), (many, "message_parts")] {
        for key in ["k", "new"] {
            let said = json!({ "channelId": id, "parts": parts, "idempotencyKey": key });
            let refused = call(&world.runtime, &owner, "channels/publish", said).await.unwrap_err();
            let named = refused.details.get("limit").map_or(&Value::Null, |limit| &limit["name"]);
            assert_eq!((refused.code, named), (ErrorCode::LimitExceeded, &json!(limit)), "{key}: {refused:?}");
        }
    }
}

/// What is the same by meaning: the order of keys and empty fields do not matter, content does.
#[tokio::test]
async fn content_is_compared_by_meaning() {
    let world = World::new().await;
    let owner = member("owner");
    let id = channel(&world.runtime, &owner, &[]).await;
    let target = publish(&world.runtime, &owner, &id, "a message to answer").await["id"].clone();
    let base = json!({
        "parts": [{ "type": "text", "text": "a", "metadata": { "x": 1, "y": [1, 2] } }, { "data": { "k": null } }],
        "artifactRefs": ["one", "two"], "metadata": { "p": { "q": 1, "r": 2 } },
    });
    let with = |changes: Value| {
        let mut params = base.clone();
        let fields = changes.as_object().unwrap().clone();
        params.as_object_mut().unwrap().extend(fields);
        params["channelId"] = json!(id);
        params["idempotencyKey"] = json!("k");
        params
    };
    let first = call(&world.runtime, &owner, "channels/publish", with(json!({}))).await.unwrap();
    let data = json!({ "data": { "k": null } });
    let same = [
        json!({ "parts": [{ "metadata": { "y": [1, 2], "x": 1 }, "text": "a" }, data] }),
        json!({ "parts": [{ "kind": "text", "text": "a", "metadata": { "x": 1, "y": [1, 2] }, "note": null }, data] }),
        json!({ "taskRefs": [], "replyToId": null, "threadId": null }),
        json!({ "metadata": { "p": { "r": 2, "q": 1 } } }),
    ];
    for changes in same {
        let again = call(&world.runtime, &owner, "channels/publish", with(changes.clone())).await;
        assert_eq!(again.as_ref(), Ok(&first), "{changes}");
    }
    let text = |text: &str| json!({ "type": "text", "text": text, "metadata": { "x": 1, "y": [1, 2] } });
    let other = [
        json!({ "parts": [text("b"), data] }),
        json!({ "parts": [data, text("a")] }),
        json!({ "parts": [text("a")] }),
        json!({ "parts": [{ "type": "text", "text": "a", "metadata": { "x": 1, "y": [2, 1] } }, data] }),
        json!({ "parts": [text("a"), { "data": { "k": 0 } }] }),
        json!({ "artifactRefs": ["two", "one"] }),
        json!({ "artifactRefs": ["one"] }),
        json!({ "artifactRefs": ["one"], "taskRefs": ["two"] }),
        json!({ "metadata": {} }),
        json!({ "metadata": { "p": { "q": 1, "r": "2" } } }),
        json!({ "replyToId": target }),
        json!({ "threadId": target }),
    ];
    for changes in other {
        let outcome = call(&world.runtime, &owner, "channels/publish", with(changes.clone())).await;
        assert_eq!(outcome.expect_err(&changes.to_string()).code, ErrorCode::Conflict, "{changes}");
    }
    assert_eq!(sequences(&all(&world.runtime, &owner, &id).await), [1, 2]);
}

/// A reply is in the thread of what it answers, whether it says so or not.
#[tokio::test]
async fn how_a_thread_is_named_does_not_matter() {
    let world = World::new().await;
    let owner = member("owner");
    let id = channel(&world.runtime, &owner, &[]).await;
    let root = publish(&world.runtime, &owner, &id, "root").await["id"].clone();
    let reply = json!({ "channelId": id, "parts": parts("re"), "replyToId": root });
    let reply = call(&world.runtime, &owner, "channels/publish", reply).await.unwrap()["event"]["id"].clone();
    let other = publish(&world.runtime, &owner, &id, "other").await["id"].clone();
    let with = |key: &str, names: &Value| {
        let mut params = keyed(&id, key, "hello");
        params.as_object_mut().unwrap().extend(names.as_object().unwrap().clone());
        params
    };
    for (key, names) in [
        ("reply", [json!({ "replyToId": root }), json!({ "replyToId": root, "threadId": root })]),
        ("deeper", [json!({ "replyToId": reply, "threadId": root }), json!({ "replyToId": reply })]),
        ("thread", [json!({ "threadId": root }), json!({ "threadId": reply })]),
    ] {
        let first = call(&world.runtime, &owner, "channels/publish", with(key, &names[0])).await.unwrap();
        for names in &names {
            let again = call(&world.runtime, &owner, "channels/publish", with(key, names)).await;
            assert_eq!(again.as_ref(), Ok(&first), "{names}");
        }
        for names in [json!({}), json!({ "replyToId": other }), json!({ "threadId": other })] {
            let outcome = call(&world.runtime, &owner, "channels/publish", with(key, &names)).await;
            assert_eq!(code(outcome), ErrorCode::Conflict, "{key} {names}");
        }
    }
}

/// The key as the seed spells it, and as all other commands do.
#[tokio::test]
async fn either_spelling_of_the_key_counts() {
    let world = World::new().await;
    let owner = member("owner");
    let id = channel(&world.runtime, &owner, &[]).await;
    let params = |field: &str| json!({ "channelId": id, "parts": parts("once"), field: "k" });
    let first = call(&world.runtime, &owner, "channels/publish", params("idempotency_key")).await.unwrap();
    assert_eq!(first["event"]["idempotencyKey"], "k");
    assert_eq!(call(&world.runtime, &owner, "channels/publish", params("idempotencyKey")).await.unwrap(), first);
    let create = json!({ "idempotency_key": "c" });
    let created = call(&world.runtime, &owner, "channels/create", create.clone()).await.unwrap();
    assert_eq!(call(&world.runtime, &owner, "channels/create", create).await.unwrap(), created);
    let both = json!({ "idempotency_key": "c", "idempotencyKey": "d" });
    assert_eq!(code(call(&world.runtime, &owner, "channels/create", both).await), ErrorCode::InvalidParams);
}
