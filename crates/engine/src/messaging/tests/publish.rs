//! What `channels/publish` writes and refuses: parts, threads, keys.

use serde_json::{Value, json};

use super::world::*;
use crate::Limits;
use crate::messaging::content::check_content;

fn text(text: &str) -> Value {
    json!({ "parts": [{ "type": "text", "text": text }] })
}

#[test]
fn messages_are_numbered_from_one_and_keep_the_version() {
    let mut world = World::with_channel("private");
    for (n, author) in (1..).zip([ALICE, BOB, CAROL, ALICE]) {
        let event = world.say(author, "hi");
        assert_eq!((event.sequence, event.author.as_str()), (n, author));
        world.add(ALICE, DAVE, if n % 2 == 0 { "member" } else { "moderator" }).expect("a fact in between");
    }
    assert_eq!(world.state.shell.as_ref().map(|shell| shell.version), Some(5), "four changes of members");
    let denied = world.publish("agent://eve", text("hi")).expect_err("no member");
    assert_eq!(refused(&denied), "refused not_found: not found");
}

#[test]
fn the_first_message_makes_a_direct_channel() {
    let mut world = World::new();
    let mut first = text("hi");
    first["peer"] = json!(BOB);
    let event = world.publish(ALICE, first).expect("published");
    assert_eq!((event.sequence, world.state.sequence, world.log.len()), (1, 2, 1), "one commit");
    let mut second = text("hi");
    second["peer"] = json!(ALICE);
    assert_eq!(world.publish(BOB, second.clone()).expect("published").sequence, 2);
    assert_eq!(world.publish(CAROL, text("hi")).expect_err("a third").code.as_str(), "not_found");
    assert_eq!([world.message(1).author, world.message(2).author], [ALICE, BOB]);
    second["parts"] = json!([]);
    assert_eq!(World::new().publish(BOB, second).expect_err("refused").code.as_str(), "invalid_params");
}

#[test]
fn forms_of_parts() {
    let good = [
        json!({ "type": "text", "text": "a" }),
        json!({ "kind": "text", "text": "" }),
        json!({ "text": "a", "metadata": { "x": 1 }, "unknown": [] }),
        json!({ "raw": "AAEC", "mediaType": "image/png", "filename": "a.png" }),
        json!({ "url": "https://example.org/a" }),
        json!({ "data": { "a": 1 } }),
        json!({ "data": null }),
        json!({ "data": 3 }),
        json!({ "kind": "data", "data": { "a": 1 } }),
        json!({ "kind": "file", "file": { "uri": "https://example.org/a", "mimeType": "text/plain" } }),
        json!({ "type": "file", "file": { "bytes": "AAEC" } }),
        json!({ "type": "file", "url": "https://example.org/a" }),
        json!({ "type": "image", "url": "https://example.org/a" }),
        json!({ "data": null }),
        json!({ "text": "a", "data": null, "url": null }),
    ];
    let bad = [
        json!("text"),
        json!(null),
        json!([]),
        json!({}),
        json!({ "type": "text" }),
        json!({ "type": "text", "text": 1 }),
        json!({ "type": "text", "data": {} }),
        json!({ "kind": "data", "text": "a" }),
        json!({ "kind": "file", "file": {} }),
        json!({ "kind": "file", "file": "a" }),
        json!({ "text": null }),
        json!({ "type": "image" }),
        json!({ "metadata": { "text": "a" } }),
        // Which of the two would it be?
        json!({ "text": "a", "url": "https://example.org/a" }),
        json!({ "type": "text", "text": "a", "data": {} }),
        json!({ "raw": "AAEC", "file": { "bytes": "AAEC" } }),
    ];
    let mut world = World::with_channel("private");
    for part in good {
        let event =
            world.publish(BOB, json!({ "parts": [part] })).unwrap_or_else(|refusal| panic!("{part}: {refusal}"));
        assert_eq!(json!(event.parts).to_string(), json!([part]).to_string(), "exactly as sent");
        assert_eq!(json!(world.message(event.sequence)), json!(event));
    }
    for part in bad {
        let refusal = world.publish(BOB, json!({ "parts": [{ "text": "a" }, part] })).expect_err("refused");
        assert_eq!(refusal.code.as_str(), "invalid_params", "{part}");
        assert!(
            refusal.message.starts_with("parts[1] has to have exactly one of the known forms"),
            "{}",
            refusal.message
        );
    }
    let none = world.publish(BOB, json!({ "parts": [] })).expect_err("refused");
    assert!(none.message.starts_with("a message needs at least one part"), "{}", none.message);
    for field in ["artifactRefs", "taskRefs"] {
        let refusal = world.publish(BOB, json!({ "parts": [{ "text": "a" }], field: ["x", ""] })).expect_err("refused");
        assert_eq!(refusal.code.as_str(), "invalid_params");
        assert!(refusal.message.starts_with(&format!("{field}[1] is empty")), "{}", refusal.message);
    }
}

/// What is kept as it was sent is read by others, who may be strict.
#[test]
fn what_no_strict_reader_could_read_is_refused_wherever_it_stands() {
    for part in [
        r#"{"data":[1e400]}"#,
        r#"{"data":{"k":"\ud800"}}"#,
        r#"{"data":{"\udc00":1}}"#,
        r#"{"text":"a","metadata":{"deep":[{"x":-1e999}]}}"#,
        r#"{"text":"a","mine":"\ud800"}"#,
        r#"{"text":"a","\ud800":1}"#,
        r#"{"type":"file","file":{"uri":"u","name":"\ud83d"}}"#,
    ] {
        let command = serde_json::from_str(&format!(r#"{{"parts":[{{"text":"a"}},{part}]}}"#)).expect("params");
        let refusal = check_content(&command, &Limits::default()).expect_err(part);
        assert_eq!(refusal.code.as_str(), "invalid_params");
        assert!(refusal.message.starts_with("parts[1] has JSON in it that its readers"), "{}", refusal.message);
    }
    for part in [r#"{"data":{"k":"\ud83d\ude00","n":1e300}}"#, r#"{"text":"\ud83d\ude00"}"#] {
        let command = serde_json::from_str(&format!(r#"{{"parts":[{part}]}}"#)).expect("params");
        check_content(&command, &Limits::default()).expect(part);
    }
}

#[test]
fn replies_belong_to_the_thread_of_what_they_answer() {
    let mut world = World::with_channel("private");
    let [root, other] = ["root", "other"].map(|text| world.say(ALICE, text).id);
    let mut reply = |to: Option<&str>, thread: Option<&str>| {
        let params = json!({ "parts": [{ "text": "re" }], "replyToId": to, "threadId": thread });
        world.publish(BOB, params).map_err(|refusal| refused(&refusal))
    };
    let first = reply(Some(root.as_str()), None).expect("a reply");
    assert_eq!((first.reply_to_id.as_ref(), first.thread_id.as_ref()), (Some(&root), Some(&root)));
    let second = reply(Some(first.id.as_str()), Some(root.as_str())).expect("a reply to the reply");
    assert_eq!((second.reply_to_id.as_ref(), second.thread_id.as_ref()), (Some(&first.id), Some(&root)));
    let third = reply(None, Some(second.id.as_str())).expect("one more of the thread");
    assert_eq!((third.reply_to_id.as_ref(), third.thread_id.as_ref()), (None, Some(&root)));
    let fourth =
        reply(Some(first.id.as_str()), Some(third.id.as_str())).expect("a thread is named by any of its messages");
    assert_eq!((fourth.reply_to_id.as_ref(), fourth.thread_id.as_ref()), (Some(&first.id), Some(&root)));
    for (to, thread, expected) in [
        (Some("msg_no"), None, "refused invalid_params: replyToId names no message of this channel"),
        (None, Some("msg_no"), "refused invalid_params: threadId names no message of this channel"),
        (
            Some(first.id.as_str()),
            Some(other.as_str()),
            "refused invalid_params: the message that replyToId names is in another thread; leave threadId out",
        ),
    ] {
        assert_eq!(reply(to, thread), Err(expected.to_owned()));
    }
}

#[test]
fn a_key_gives_the_message_there_is_or_a_conflict() {
    let mut world = World::with_channel("public");
    world.say(BOB, "before");
    let keyed = |key: &str, text: &str| json!({ "parts": [{ "text": text }], "idempotencyKey": key });
    let first = world.publish(BOB, keyed("k", "a")).expect("published");
    world.later(5);
    let commits = world.log.len();
    let mut again = keyed("k", "a");
    again["parts"] = json!([{ "type": "text", "text": "a", "metadata": {} }]);
    again["metadata"] = json!({});
    again["artifactRefs"] = json!(null);
    assert_eq!(world.publish(BOB, again), Ok(first.clone()));
    assert_eq!(
        refused(&world.publish(BOB, keyed("k", "b")).expect_err("another message")),
        "refused conflict: this idempotency key was used for another message of yours in this channel; use a new key"
    );
    assert_eq!(world.log.len(), commits, "nothing was written");
    let other = world.publish(ALICE, keyed("k", "b")).expect("keys belong to their authors");
    assert_eq!((first.sequence, other.sequence), (2, 3));
    world.remove(ALICE, BOB).expect("removed");
    let denied = world.publish(BOB, keyed("k", "a")).expect_err("no longer a member");
    assert_eq!(denied.code.as_str(), "permission_denied");
    for key in ["", "a\nb"] {
        let refusal = world.publish(ALICE, keyed(key, "a")).expect_err("no key");
        assert_eq!(refusal.code.as_str(), "invalid_params");
    }
}

#[test]
fn only_a_message_with_a_key_is_digested() {
    let mut world = World::with_channel("private");
    world.say(BOB, "a");
    world.publish(BOB, json!({ "parts": [{ "text": "a" }], "idempotencyKey": "k" })).expect("published");
    let payloads: Vec<Value> =
        world.log.iter().flatten().map(|bytes| serde_json::from_slice(bytes).expect("JSON")).collect();
    let fields =
        |n: usize| -> Vec<String> { payloads[n]["payload"].as_object().expect("a payload").keys().cloned().collect() };
    let least = ["channel_id", "message_id", "sequence", "author", "message_parts"];
    assert_eq!(fields(1), least, "what is absent or empty is left out");
    assert_eq!(fields(2), [&least[..], &["idempotency_key", "digest"]].concat());
}
