//! What callers see, spelled as the seed spells it.

use serde_json::{Value, json};

use super::world::*;
use crate::messaging::{audit_view, channel_view, control_view, message_view};

const NOW: i64 = 1_800_000_000_000;

#[test]
fn a_channel() {
    let mut world = World::new();
    let params = json!({ "name": "research", "metadata": { "project": "alpha" }, "members": [{ "principalId": BOB }] });
    let created = world.create(ALICE, params).expect("a channel").output.channel;
    let mut expected = json!({
        "id": "chan_1",
        "name": "research",
        "visibility": "private",
        "createdAt": NOW,
        "createdBy": ALICE,
        "members": [
            { "principalId": ALICE, "role": "owner", "joinedAt": NOW },
            { "principalId": BOB, "role": "member", "joinedAt": NOW },
        ],
        "metadata": { "project": "alpha" },
        "version": 1,
        "kind": "channel",
        "messageCount": 0,
        "readCursor": { "sequence": 0, "unreadCount": 0 },
    });
    assert_eq!(json!(created), expected);
    assert_eq!(channel_view(&world.state, ALICE), Some(created), "the answer is what is there afterwards");
    world.say(BOB, "hi");
    expected["messageCount"] = json!(1);
    expected["readCursor"] = json!({ "sequence": 0, "unreadCount": 1 });
    assert_eq!(json!(channel_view(&world.state, ALICE)), expected);
    expected["readCursor"] = json!({ "sequence": 1, "unreadCount": 0 });
    assert_eq!(json!(channel_view(&world.state, BOB)), expected, "nobody has to read what they said themselves");
    expected.as_object_mut().expect("an object").remove("readCursor");
    assert_eq!(json!(channel_view(&world.state, DAVE)), expected, "a cursor belongs to a member");
    assert_eq!(json!(channel_view(&World::direct().state, BOB))["direct"], json!(true));
    world.delete(ALICE).expect("deleted");
    assert_eq!(channel_view(&world.state, ALICE), None);
}

/// The answers of commands that change something show the channel as it is after them.
#[test]
fn answers_are_the_channel_as_it_is_then() {
    let mut world = World::with_channel("private");
    world.keyed = true;
    world.later(7);
    let channel = world.add(ALICE, DAVE, "member").expect("added").output.channel;
    assert_eq!(channel_view(&world.state, ALICE), Some(channel));
    let channel = world.remove(ALICE, BOB).expect("removed").output.channel;
    assert_eq!(channel_view(&world.state, ALICE), Some(channel));
    let channel = world.update(ALICE, json!({ "expectedVersion": 3, "name": "x" })).expect("updated").output.channel;
    assert_eq!(channel_view(&world.state, ALICE), Some(channel));
    let mut world = World::new();
    let channel = world.open(ALICE, BOB).expect("opened").output.channel;
    assert_eq!(channel_view(&world.state, ALICE), Some(channel));
}

#[test]
fn a_message() {
    let mut world = World::with_channel("private");
    let params = json!({
        "parts": [{ "type": "text", "text": "Let's enumerate hypotheses." }],
        "artifactRefs": ["artifact_abc"],
        "metadata": { "phase": "analysis" },
        "idempotencyKey": "client-uuid-123",
    });
    let event = world.publish(BOB, params).expect("published");
    let expected = json!({
        "id": event.id,
        "channelId": "chan_1",
        "sequence": 1,
        "timestamp": NOW,
        "author": BOB,
        "parts": [{ "type": "text", "text": "Let's enumerate hypotheses." }],
        "artifactRefs": ["artifact_abc"],
        "metadata": { "phase": "analysis" },
        "idempotencyKey": "client-uuid-123",
        "kind": "messageEvent",
    });
    assert_eq!(json!(event), expected);
}

#[test]
fn changes_and_the_audit() {
    let mut world = World::with_channel("private");
    world.say(BOB, "hi");
    world.mark(ALICE, 1).expect("read");
    let patch = json!({ "expectedVersion": 1, "name": "x", "metadataPatch": { "set": { "a": 1 } } });
    world.update(ALICE, patch).expect("updated");
    world.add(ALICE, DAVE, "member").expect("added");
    world.add(ALICE, DAVE, "owner").expect("changed");
    world.remove(DAVE, BOB).expect("removed");
    world.keyed = true;
    world.delete(DAVE).expect("deleted");
    let events = world.events();
    let short = |value: Value, fields: &[&str]| -> String {
        let words = fields.iter().filter(|field| !value[**field].is_null()).map(|field| value[*field].to_string());
        words.collect::<Vec<_>>().join(" ").replace(['"'], "").replace("agent://", "")
    };
    let fields = ["action", "actor", "version", "afterSequence", "principalId", "role", "name", "metadataPatch"];
    let changes: Vec<_> = events.iter().filter_map(control_view).map(|event| short(json!(event), &fields)).collect();
    assert_eq!(
        changes,
        [
            "channelCreated alice 1 0",
            "channelUpdated alice 2 1 x {set:{a:1}}",
            "memberAdded alice 3 1 dave member",
            "memberRoleChanged alice 4 1 dave owner",
            "memberRemoved dave 5 1 bob member",
            "channelDeleted dave 6 1",
        ]
    );
    let fields = ["action", "actor", "principalId", "role", "sequence"];
    let audit: Vec<_> = events.iter().filter_map(audit_view).map(|entry| short(json!(entry), &fields)).collect();
    assert_eq!(
        audit,
        [
            "channelCreated alice",
            "messagePublished bob 1",
            "readMarked alice 1",
            "channelUpdated alice",
            "memberAdded alice dave member",
            "memberRoleChanged alice dave owner",
            "memberRemoved dave bob member",
            "channelDeleted dave",
        ]
    );
    let first = json!(control_view(&events[0]).expect("a change"));
    let members = json!([
        { "principalId": ALICE, "role": "owner" },
        { "principalId": BOB, "role": "member" },
        { "principalId": CAROL, "role": "moderator" },
    ]);
    assert_eq!(first["members"], members, "who was in it from the beginning");
    assert_eq!(json!(audit_view(&events[0]))["members"], members);
    assert_eq!((&first["kind"], &first["id"]), (&json!("controlEvent"), &json!(events[0].event_id)));
    let messages = events.iter().filter(|event| message_view(event).is_some());
    assert!(messages.clone().count() == 1 && messages.clone().all(|event| control_view(event).is_none()));
    assert!(!audit_view(&events[1]).is_some_and(|entry| json!(entry).to_string().contains("hi")), "never content");
}
