//! Bounds: each is met by its name, at its value plus one.

use factum_model::Refusal;
use serde_json::{Value, json};

use super::world::*;

fn check<T, U>(name: &str, fits: Result<T, Refusal>, beyond: Result<U, Refusal>, expected: &str) {
    assert!(fits.is_ok(), "{name}: {:?}", fits.err());
    let refusal = beyond.err().expect("refused");
    assert_eq!(refused(&refusal), format!("refused limit_exceeded: {expected}"), "{name}");
}

/// As JSON it takes this many bytes: `{"k":"xx…"}`.
fn metadata(bytes: usize) -> Value {
    json!({ "k": "x".repeat(bytes - 8) })
}

#[test]
fn what_a_channel_is_created_with() {
    let create = |params: Value| {
        let mut world = World::new();
        world.limits.channel_members_max = 3;
        world.create(ALICE, params)
    };
    check(
        "name",
        create(json!({ "name": "ä".repeat(128) })),
        create(json!({ "name": "ä".repeat(129) })),
        "channel_name_chars is 129, the limit is 128",
    );
    check(
        "metadata",
        create(json!({ "metadata": metadata(16_384) })),
        create(json!({ "metadata": metadata(16_385) })),
        "metadata_bytes is 16385, the limit is 16384",
    );
    let members = |count| -> Value {
        let member = |n| json!({ "principalId": format!("agent://{n}") });
        json!({ "members": (0..count).map(member).collect::<Vec<_>>() })
    };
    check("members", create(members(2)), create(members(3)), "channel_members is 4, the limit is 3");
    check("many members", create(members(2)), create(members(9)), "channel_members is 9, the limit is 3");
}

#[test]
fn what_a_channel_grows_to() {
    let mut world = World::with_channel("private");
    world.limits.channel_members_max = 4;
    check(
        "members",
        world.add(ALICE, DAVE, "member"),
        world.add(ALICE, "x", "member"),
        "channel_members is 5, the limit is 4",
    );
    let set = |version: u64, value: usize| json!({ "expectedVersion": version, "metadataPatch": { "set": { "a": "x".repeat(value) } } });
    let more = |version: u64| json!({ "expectedVersion": version, "metadataPatch": { "set": { "b": 1 } } });
    // {"a":"…"} is full; with ,"b":1 it is six bytes more.
    check(
        "merged",
        world.update(ALICE, set(2, 16_376)),
        world.update(ALICE, more(3)),
        "metadata_bytes is 16390, the limit is 16384",
    );
    let swap = json!({ "expectedVersion": 3, "metadataPatch": { "set": { "b": 1 }, "remove": ["a"] } });
    assert!(world.update(ALICE, swap).is_ok(), "what goes makes room for what comes");
    check(
        "name",
        world.update(ALICE, json!({ "expectedVersion": 4, "name": "x".repeat(128) })),
        world.update(ALICE, json!({ "expectedVersion": 5, "name": "x".repeat(129) })),
        "channel_name_chars is 129, the limit is 128",
    );
}

#[test]
fn what_a_message_holds() {
    let mut world = World::with_channel("private");
    let mut publish = |field: &str, value: Value| {
        let mut params = json!({ "parts": [{ "text": "a" }] });
        params[field] = value;
        world.publish(BOB, params)
    };
    let texts = |count| json!(vec![json!({ "text": "a" }); count]);
    check("parts", publish("parts", texts(32)), publish("parts", texts(33)), "message_parts is 33, the limit is 32");
    check(
        "refs",
        publish("artifactRefs", json!(vec!["a"; 64])),
        publish("taskRefs", json!(vec!["a"; 65])),
        "message_refs is 65, the limit is 64",
    );
    check(
        "metadata",
        publish("metadata", metadata(16_384)),
        publish("metadata", metadata(16_385)),
        "metadata_bytes is 16385, the limit is 16384",
    );
    check(
        "key",
        publish("idempotencyKey", json!("ä".repeat(128))),
        publish("idempotencyKey", json!("ä".repeat(129))),
        "idempotency_key_chars is 129, the limit is 128",
    );
}

/// The bound that costs nothing and the exact one agree at the border, whatever the bytes are made of.
#[test]
fn how_large_a_message_is() {
    for (piece, bytes) in [("x", 1), ("\"", 2), ("\u{1}", 6), ("ä", 2)] {
        let mut world = World::with_channel("private");
        world.limits.message_bytes_max = 60_000;
        let mut publish = |count: usize, rest: usize| {
            let text = piece.repeat(count) + &"y".repeat(rest);
            world.publish(BOB, json!({ "parts": [{ "text": text }], "artifactRefs": ["r"], "metadata": { "a": 1 } }))
        };
        // [{"text":"…"}] and ["r"] and {"a":1}
        let room = 60_000 - 13 - 5 - 7;
        let (count, rest) = (room / bytes, room % bytes);
        check(piece, publish(count, rest), publish(count, rest + 1), "message_bytes is 60001, the limit is 60000");
    }
}
