//! What is the same message for an idempotency key, and what is another one.

use factum_model::commands::PublishMessage;
use serde_json::{Value, json};

use super::world::parse;
use crate::messaging::digest::{content_digest, is_digest_of};

/// Of a message in the thread it names.
fn digest(params: &Value) -> String {
    let command = parse::<PublishMessage>(params.clone());
    content_digest(&command, command.thread_id.as_ref())
}

fn with(field: &str, value: Value) -> Value {
    json!({ "parts": [{ "text": "a" }], field: value })
}

fn parts(parts: Value) -> Value {
    json!({ "parts": parts })
}

#[test]
fn equal_by_meaning() {
    let plain = parts(json!([{ "text": "a" }]));
    let table = [
        (plain.clone(), parts(json!([{ "type": "text", "text": "a" }]))),
        (plain.clone(), parts(json!([{ "text": "a", "kind": "text" }]))),
        (plain.clone(), parts(json!([{ "text": "a", "metadata": {}, "filename": "", "raw": null, "list": [] }]))),
        (plain.clone(), with("artifactRefs", json!(null))),
        (plain.clone(), with("artifactRefs", json!([]))),
        (plain.clone(), with("taskRefs", json!([]))),
        (plain.clone(), with("metadata", json!({}))),
        (plain.clone(), with("replyToId", json!(null))),
        // Where a message is sent to and with which key is not what it says.
        (plain.clone(), with("channelId", json!("chan_1"))),
        (plain.clone(), with("idempotencyKey", json!("k"))),
        (
            parts(json!([{ "data": { "a": 1, "b": 2 } }])),
            parts(json!([{ "kind": "data", "data": { "b": 2, "a": 1 } }])),
        ),
        (
            parts(json!([{ "url": "u", "mediaType": "m" }])),
            parts(json!([{ "mediaType": "m", "type": "file", "url": "u" }])),
        ),
        (
            parts(json!([{ "type": "file", "file": { "uri": "u", "mimeType": "m", "name": "n" } }])),
            parts(json!([{ "url": "u", "mediaType": "m", "filename": "n" }])),
        ),
        (
            parts(json!([{ "kind": "file", "file": { "bytes": "aGk=", "name": null } }])),
            parts(json!([{ "raw": "aGk=" }])),
        ),
        (parts(json!([{ "type": "file", "uri": "u" }])), parts(json!([{ "url": "u" }]))),
        (with("metadata", json!({ "a": { "x": 1, "y": 2 } })), with("metadata", json!({ "a": { "y": 2, "x": 1 } }))),
    ];
    for (one, other) in table {
        assert_eq!(digest(&one), digest(&other), "{one} and {other}");
    }
}

/// Each of these is another message than all the others.
#[test]
fn different_by_meaning() {
    let all = [
        parts(json!([{ "text": "a" }])),
        parts(json!([{ "text": "b" }])),
        parts(json!([{ "text": "" }])),
        parts(json!([{ "raw": "" }])),
        parts(json!([{ "raw": "a" }])),
        parts(json!([{ "url": "a" }])),
        parts(json!([{ "data": null }])),
        parts(json!([{ "data": {} }])),
        parts(json!([{ "data": [] }])),
        parts(json!([{ "data": "" }])),
        parts(json!([{ "data": "a" }])),
        parts(json!([{ "data": { "a": null } }])),
        parts(json!([{ "data": 1 }])),
        parts(json!([{ "data": "1" }])),
        parts(json!([{ "data": [1, 2] }])),
        parts(json!([{ "data": [2, 1] }])),
        parts(json!([{ "text": "a", "metadata": { "x": 1 } }])),
        parts(json!([{ "text": "a", "filename": "x" }])),
        parts(json!([{ "type": "image", "text": "a" }])),
        parts(json!([{ "text": "a", "name": "x" }])),
        parts(json!([{ "file": { "uri": "a", "url": "b" } }])),
        parts(json!([{ "file": { "uri": "b", "url": "a" } }])),
        parts(json!([{ "file": { "uri": "a", "name": "x" } }])),
        parts(json!([{ "file": { "uri": "a", "name": "y" } }])),
        parts(json!([{ "url": "a", "name": "y" }])),
        parts(json!([{ "text": "a" }, { "text": "b" }])),
        parts(json!([{ "text": "b" }, { "text": "a" }])),
        parts(json!([{ "text": "ab" }])),
        with("artifactRefs", json!(["x"])),
        with("artifactRefs", json!(["x", "y"])),
        with("artifactRefs", json!(["y", "x"])),
        with("taskRefs", json!(["x"])),
        with("metadata", json!({ "x": 1 })),
        with("metadata", json!({ "x": null })),
        with("replyToId", json!("x")),
        with("threadId", json!("x")),
    ];
    for (n, one) in all.iter().enumerate() {
        assert_eq!(digest(one), digest(one));
        for other in &all[n + 1..] {
            assert_ne!(digest(one), digest(other), "{one} and {other}");
        }
    }
}

/// The thread is the one a message is in, not how it was named; what was kept before that was so still counts.
#[test]
fn a_thread_is_the_same_however_it_is_named() {
    let command = |fields: Value| {
        let mut params = parts(json!([{ "text": "a" }]));
        params.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        parse::<PublishMessage>(params)
    };
    let root = "msg_root".parse().unwrap();
    let same = [
        [json!({ "replyToId": "msg_root" }), json!({ "replyToId": "msg_root", "threadId": "msg_root" })],
        [json!({ "threadId": "msg_reply" }), json!({ "threadId": "msg_root" })],
    ];
    for names in &same {
        for first in names {
            for repeat in names {
                let kept = content_digest(&command(first.clone()), Some(&root));
                assert!(is_digest_of(&kept, &command(repeat.clone()), Some(&root)), "{first} and {repeat}");
            }
        }
    }
    let kept_as_sent = |fields: &Value| {
        let command = command(fields.clone());
        content_digest(&command, command.thread_id.as_ref())
    };
    for fields in same.iter().flatten() {
        assert!(is_digest_of(&kept_as_sent(fields), &command(fields.clone()), Some(&root)), "{fields}");
    }
    let [reply, reply_and_thread] = &same[0];
    assert!(is_digest_of(&kept_as_sent(reply), &command(reply_and_thread.clone()), Some(&root)));
    // A message in a thread is not the one in none.
    let nowhere = content_digest(&command(json!({})), None);
    assert!(!is_digest_of(&nowhere, &command(json!({ "threadId": "msg_root" })), Some(&root)));
    assert!(!is_digest_of(&kept_as_sent(reply), &command(json!({ "threadId": "msg_root" })), Some(&root)));
}

/// Digests that were made of files as they were sent still stand for them.
#[test]
fn a_digest_of_a_file_as_it_was_sent_still_counts() {
    let sent = json!({ "parts": [{ "type": "file", "file": { "uri": "u" } }] });
    let kept = "sha256:b7b30810b5e98638ced35fb0cb5bd74950218578356bed6b1462929c941c033e";
    assert!(is_digest_of(kept, &serde_json::from_value(sent.clone()).expect("params"), None));
    assert_ne!(digest(&sent), kept);
}

/// What no strict reader could take apart is refused before; if it is there, it is told apart by its text.
#[test]
fn what_cannot_be_read_is_never_the_same_as_something_else() {
    let digest_of = |parts: &str| {
        let text = format!(r#"{{"parts":{parts}}}"#);
        content_digest(&serde_json::from_str(&text).expect("params"), None)
    };
    let all = ["[{\"data\":[1e400]}]", "[{\"data\":[2e400]}]", "[{\"data\":{\"k\":\"\\ud800\"}}]"].map(digest_of);
    assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2]);
}
