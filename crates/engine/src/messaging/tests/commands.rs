//! What each command but `publish` writes, and how it refuses.

use factum_model::Refusal;
use serde_json::{Value, json};

use super::world::*;

const NOTHING: [&str; 0] = [];

#[test]
fn create() {
    let check = |params: Value, expected: &str| assert_eq!(told(World::new().create(ALICE, params)), [expected]);
    check(json!({}), "created private with owner alice");
    check(json!({ "visibility": "public", "name": "x" }), "created public with owner alice");
    check(
        json!({ "members": [{ "principalId": BOB }, { "principalId": CAROL, "role": "owner" }] }),
        "created private with owner alice, member bob, owner carol",
    );
    check(json!({ "members": [{ "principalId": ALICE }] }), "created private with owner alice");
    check(json!({ "members": [{ "principalId": ALICE, "role": "owner" }] }), "created private with owner alice");
    check(
        json!({ "members": [{ "principalId": ALICE, "role": "member" }] }),
        "refused invalid_params: whoever creates a channel owns it; leave yourself out of members",
    );
    check(
        json!({ "members": [{ "principalId": BOB }, { "principalId": BOB }] }),
        "refused invalid_params: members names a principal twice",
    );
    check(
        json!({ "members": [{ "principalId": "two words" }] }),
        "refused invalid_params: a principal is a name such as agent://assistant, up to 200 bytes, without spaces",
    );
    check(
        json!({ "name": " " }),
        "refused invalid_params: a name has at least one character; leave it out for no name, or no change",
    );
}

#[test]
fn an_id_is_used_once() {
    let again = ["refused conflict: a channel with this id exists already, or did"];
    let mut world = World::with_channel("private");
    assert_eq!(told(world.create(BOB, json!({}))), again);
    world.delete(ALICE).expect("deleted");
    assert_eq!(told(world.create(ALICE, json!({}))), again);
}

#[test]
fn update() {
    let mut world = World::new();
    let metadata = json!({ "a": 1, "b": 2, "c": 3 });
    world.create(ALICE, json!({ "name": "old", "metadata": metadata })).expect("a channel");
    let mut check = |params: Value, expected: &[&str]| assert_eq!(told(world.update(ALICE, params)), expected);
    check(json!({ "expectedVersion": 1, "name": "new" }), &["updated to v2: name Some(\"new\"), set {}, removed []"]);
    check(
        json!({ "expectedVersion": 1, "name": "newer" }),
        &[
            "refused conflict: the channel is at version 2, not 1; get it again and decide whether your change still fits",
        ],
    );
    check(
        json!({ "expectedVersion": 2, "metadataPatch": { "set": { "a": 1, "d": null }, "remove": ["b", "z", "b"] } }),
        &["updated to v3: name None, set {\"d\":null}, removed [\"b\"]"],
    );
    for nothing in [
        json!({ "expectedVersion": 3 }),
        json!({ "expectedVersion": 3, "name": "new" }),
        json!({ "expectedVersion": 3, "metadataPatch": {} }),
        json!({ "expectedVersion": 3, "metadataPatch": { "set": { "c": 3 }, "remove": ["b"] } }),
    ] {
        check(nothing, &NOTHING);
    }
    check(
        json!({ "expectedVersion": 3, "metadataPatch": { "set": { "c": 4 }, "remove": ["c"] } }),
        &["refused invalid_params: metadataPatch sets and removes the same key"],
    );
    check(
        json!({ "expectedVersion": 3, "name": "" }),
        &["refused invalid_params: a name has at least one character; leave it out for no name, or no change"],
    );
    let channel = world.update(ALICE, json!({ "expectedVersion": 3 })).expect("no change").output.channel;
    assert_eq!((channel.name.as_deref(), channel.version), (Some("new"), 3));
    assert_eq!(json!(channel.metadata).to_string(), r#"{"a":1,"c":3,"d":null}"#);
}

#[test]
fn members_come_change_and_go() {
    let mut world = World::with_channel("private");
    world.keyed = true;
    let last_owner = ["refused conflict: this is the channel's last owner; make somebody else an owner first"];
    assert_eq!(told(world.add(ALICE, DAVE, "member")), ["accepted", "added member dave to v2"]);
    assert_eq!(told(world.add(ALICE, DAVE, "member")), ["accepted"], "the same role is no change");
    assert_eq!(told(world.add(ALICE, ALICE, "member")), last_owner);
    assert_eq!(told(world.add(ALICE, ALICE, "owner")), ["accepted"]);
    assert_eq!(told(world.remove(ALICE, ALICE)), last_owner);
    assert_eq!(told(world.add(ALICE, BOB, "owner")), ["accepted", "changed bob from member to owner to v3"]);
    assert_eq!(told(world.add(BOB, ALICE, "moderator")), ["accepted", "changed alice from owner to moderator to v4"]);
    assert_eq!(told(world.remove(BOB, BOB)), last_owner);
    assert_eq!(
        told(world.add(ALICE, CAROL, "owner")),
        ["refused permission_denied: only an owner of this channel may do this"]
    );
    assert_eq!(told(world.remove(BOB, ALICE)), ["accepted", "removed moderator alice to v5"]);
    let nobody = "refused invalid_params: \"agent://alice\" is not a member of this channel";
    assert_eq!(told(world.remove(BOB, ALICE)), [nobody]);
    assert_eq!(told(world.add(BOB, "", "member")).len(), 1, "no name");
    let channel = world.add(BOB, DAVE, "member").expect("no change").output.channel;
    let members: Vec<_> = channel.members.iter().map(|member| member.principal_id.as_str()).collect();
    assert_eq!((members, channel.version), (vec![BOB, CAROL, DAVE], 5));
}

#[test]
fn delete() {
    let mut world = World::with_channel("public");
    let done = world.delete(ALICE).expect("deleted");
    assert_eq!(json!(done.output), json!({ "channelId": "chan_1", "deleted": true }));
    assert!(world.state.members.is_empty(), "seed 002 §7: membership is cleared");
    for refusal in [world.delete(ALICE).err(), world.mark(BOB, 1).err(), world.open(ALICE, BOB).err()] {
        assert_eq!(refusal, Some(Refusal::not_found()));
    }
}

#[test]
fn a_direct_channel_is_made_once_for_both_and_for_two() {
    let mut world = World::new();
    let made = world.open(BOB, ALICE).expect("a channel");
    assert_eq!(told(Ok(made)), ["created private with member bob, member alice"]);
    assert_eq!(told(world.open(ALICE, BOB)), NOTHING);
    let id = world.state.shell.as_ref().expect("a channel").channel_id.to_string();
    // printf 'agent://alice\nagent://bob' | sha256sum
    assert_eq!(id, format!("chan:direct:{DIRECT_DIGEST}"));
    let denied = "refused permission_denied: a direct channel belongs to its two members as it is; create a channel for \
                  more than that";
    assert_eq!(told(world.add(ALICE, CAROL, "member")), [denied]);
    assert_eq!(told(world.remove(BOB, ALICE)), [denied]);
    assert_eq!(told(world.delete(ALICE)), [denied]);
    assert_eq!(told(world.update(ALICE, json!({ "expectedVersion": 1, "name": "x" }))), [denied]);
    let own = "refused invalid_params: a direct channel is between two; peer names yourself";
    assert_eq!(told(World::new().open(ALICE, ALICE)), [own]);
    assert_eq!(told(World::new().open(ALICE, "two words")).len(), 1);
}

const DIRECT_DIGEST: &str = "0f6773490f58a880fb5830a9";

#[test]
fn a_command_names_its_channel_in_one_way() {
    let id = channel_id();
    let of = |channel_id, peer| crate::messaging::target(channel_id, peer, ALICE).map_err(|refusal| refusal.message);
    assert_eq!(of(Some(&id), None).expect("a channel").channel_id, id);
    let direct = of(None, Some(BOB)).expect("a direct channel");
    assert_eq!(direct.channel_id, crate::messaging::direct_channel_id(BOB, ALICE));
    assert_eq!(direct.peer, Some(BOB));
    for (channel_id, peer, expected) in [
        (None, None, "say which channel: channelId, or peer for the direct one with somebody"),
        (Some(&id), Some(BOB), "channelId and peer are two ways to say the same; give one of them"),
        (None, Some(ALICE), "a direct channel is between two; peer names yourself"),
    ] {
        assert_eq!(of(channel_id, peer), Err(expected.to_owned()));
    }
}

/// Saying something does not skip what others said before it.
#[test]
fn an_author_has_read_their_own_message_where_they_had_read_everything() {
    let mut world = World::with_channel("public");
    for (author, cursors) in [(ALICE, [1, 0]), (BOB, [1, 0]), (ALICE, [1, 0])] {
        drop(world.say(author, "hi"));
        let read = [ALICE, BOB].map(|name| world.state.members[name].read_sequence);
        assert_eq!(read, cursors, "{author}");
    }
    let unread = |world: &World, name: &str| {
        let member = &world.state.members[name];
        world.state.read_cursor(Some(member), member.read_sequence).unread_count
    };
    assert_eq!([ALICE, BOB].map(|name| unread(&world, name)), [1, 2], "their own are not unread");
    drop(world.say(ALICE, "more"));
    assert_eq!([ALICE, BOB].map(|name| unread(&world, name)), [1, 3]);
    world.mark(ALICE, 2).expect("read");
    assert_eq!(unread(&world, ALICE), 0);
    world.mark(BOB, 4).expect("read");
    drop(world.say(BOB, "and now"));
    assert_eq!((world.state.members[BOB].read_sequence, unread(&world, BOB)), (5, 0));
    assert_eq!(unread(&world, ALICE), 1);
    drop(world.say(ALICE, "yes"));
    assert_eq!((world.state.members[ALICE].read_sequence, unread(&world, ALICE)), (2, 1));
}

#[test]
fn cursors_move_forward_and_never_past_the_last_message() {
    let mut world = World::with_channel("public");
    (1..=3).for_each(|n| drop(world.say(ALICE, &n.to_string())));
    let mut check = |sequence, expected: &[&str], cursor: Value| {
        let done = world.mark(BOB, sequence).expect("marked");
        assert_eq!(json!(done.output), json!({ "channelId": "chan_1", "readCursor": cursor }));
        assert_eq!(told(Ok(done)), expected, "{sequence}");
    };
    check(0, &NOTHING, json!({ "sequence": 0, "unreadCount": 3 }));
    check(2, &["bob read 2"], json!({ "sequence": 2, "unreadCount": 1 }));
    check(1, &NOTHING, json!({ "sequence": 2, "unreadCount": 1 }));
    check(99, &["bob read 3"], json!({ "sequence": 3, "unreadCount": 0 }));
    assert_eq!(world.state.shell.as_ref().map(|shell| shell.version), Some(1), "reading is no change");
    assert!(told(world.mark(DAVE, 1))[0].starts_with("refused permission_denied"));
    let peer = parse(json!({ "peer": BOB, "sequence": 4 }));
    let done = World::new().decide(ALICE, |state, context| crate::messaging::mark_read(state, &peer, context));
    assert_eq!(told(done), ["created private with member alice, member bob"]);
}
