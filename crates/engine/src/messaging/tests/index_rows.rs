//! Index rows: what each commit puts and deletes, that the rows read back, and where they say messages are.

use serde_json::json;

use super::world::*;
use crate::IndexChange;
use crate::messaging::*;

/// A change in a word or two: `+table` or `-table`.
fn tables(changes: &[IndexChange]) -> Vec<String> {
    let table = |key: &[u8]| crate::KeyReader::new(key).text().map(str::to_owned).expect("a table");
    let word = |change: &IndexChange| match change {
        IndexChange::Put { key, .. } => format!("+{}", table(key)),
        IndexChange::Delete { key } => format!("-{}", table(key)),
    };
    changes.iter().map(word).collect()
}

#[test]
fn each_command_writes_its_rows() {
    let mut world = World::new();
    world.keyed = true;
    let done = world.create(ALICE, json!({ "visibility": "public", "members": [{ "principalId": BOB }] }));
    let rows = ["+idempotency", "+messaging_member", "+messaging_member", "+messaging_public", "+messaging_offset"];
    assert_eq!(tables(&done.expect("a channel").changes), rows);
    world.keyed = false;
    assert_eq!(
        tables(&world.add(ALICE, CAROL, "member").expect("added").changes),
        ["+messaging_member", "+messaging_offset"]
    );
    assert_eq!(
        tables(&world.remove(ALICE, CAROL).expect("removed").changes),
        ["-messaging_member", "+messaging_offset"]
    );
    let patch = json!({ "expectedVersion": 3, "name": "x" });
    assert_eq!(tables(&world.update(ALICE, patch).expect("updated").changes), ["+messaging_offset"]);
    let publish = |world: &mut World, params| {
        let command = parse(params);
        tables(
            &world
                .decide(BOB, |state, context| publish_message(state, command, Threads::default(), context))
                .expect("ok")
                .changes,
        )
    };
    let none: [&str; 0] = [];
    assert_eq!(publish(&mut world, json!({ "parts": [{ "text": "a" }] })), none, "publishing alone writes no row");
    assert_eq!(publish(&mut world, json!({ "parts": [{ "text": "a" }], "idempotencyKey": "k" })), ["+messaging_key"]);
    assert_eq!(tables(&world.mark(ALICE, 1).expect("marked").changes), ["+messaging_offset"]);
    let rows = ["-messaging_member", "-messaging_member", "-messaging_public", "+messaging_offset"];
    assert_eq!(tables(&world.delete(ALICE).expect("deleted").changes), rows);
}

#[test]
fn rows_read_back() {
    let mut world = World::with_channel("public");
    let id = channel_id();
    let row = |key: Vec<u8>| world.index.get(&key);
    let member: MemberRow =
        serde_json::from_slice(row(keys::member(ACCOUNT, CAROL, &id)).expect("a row")).expect("a member");
    assert_eq!(json!(member), json!({ "role": "moderator", "direct": false }));
    let key = keys::member(ACCOUNT, BOB, &id);
    assert!(key.starts_with(&keys::members_of(ACCOUNT, BOB)));
    assert_eq!((keys::read_member(&key), keys::read_public(&key)), (Some(id.clone()), None));
    let key = keys::public(ACCOUNT, &id);
    assert!(key.starts_with(&keys::publics_of(ACCOUNT)) && row(key.clone()).is_some());
    assert_eq!((keys::read_public(&key), keys::read_offset(&key)), (Some(id.clone()), None));
    world.publish(BOB, json!({ "parts": [{ "text": "a" }], "idempotencyKey": "k" })).expect("published");
    let row: MessageKeyRow =
        serde_json::from_slice(&world.index[&keys::message_key(ACCOUNT, &id, BOB, "k")]).expect("a row");
    assert_eq!(row.sequence, 1);
    let direct = World::direct();
    let id = direct_channel_id(ALICE, BOB);
    assert_eq!(direct.index[&keys::member(ACCOUNT, BOB, &id)], br#"{"role":"member","direct":true}"#);
}

#[test]
fn offsets_lead_to_every_message() {
    let mut world = World::with_channel("private");
    for n in 1..=40_u64 {
        world.keyed = n % 3 == 0;
        if n % 4 == 0 {
            world.mark(BOB, n - 2).expect("marked");
        }
        if n % 5 == 0 {
            world.add(ALICE, DAVE, if n % 2 == 0 { "member" } else { "owner" }).expect("a change");
            world.add(ALICE, "x", if n % 2 == 0 { "member" } else { "owner" }).expect("a change");
        }
        world.say(BOB, &n.to_string());
    }
    for n in 1..=40 {
        assert_eq!(json!(world.message(n).parts), json!([{ "text": n.to_string() }]));
    }
}

/// Nothing decides such a commit today; the rule holds all the same.
#[test]
fn a_commit_may_mix_messages_and_other_facts() {
    let mut world = World::with_channel("private");
    let mark = parse(json!({ "channelId": "chan_1", "sequence": 9 }));
    for _ in 0..3 {
        let twice = |state: &ChannelState, context: &mut crate::Context<'_>| {
            let say = || parse(json!({ "parts": [{ "text": "a" }] }));
            let mut first = publish_message(state, say(), Threads::default(), context)?;
            let mut seen = state.clone();
            seen.message_count += 1;
            first.events.extend(mark_read(&seen, &mark, context)?.events);
            first.events.extend(publish_message(&seen, say(), Threads::default(), context)?.events);
            Ok(first)
        };
        assert_eq!(world.decide(BOB, twice).expect("decided").events.len(), 3);
    }
    for n in 1..=6 {
        assert_eq!(world.message(n).sequence, n);
    }
}

#[test]
fn streams_and_partitions_are_no_accounts() {
    assert_eq!(stream_name("acme", &channel_id()), "messaging/acme/chan_1");
    assert_eq!(partition_name("acme"), "*messaging/acme");
}
