//! Properties: whatever is done in whatever order, a channel is what the reference says, and the log alone gives
//! everything back.

use std::collections::{BTreeMap, BTreeSet};

use factum_model::messaging::ChannelRole;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::moves::{any_life, any_move, play};
use super::reference::Reference;
use super::world::*;
use crate::messaging::{ChannelState, MemberRow, keys, message_view};

/// Small, so that it is met.
const MEMBERS_MAX: usize = 3;

/// Moves of the long run; its state may not grow with them.
const LONG_RUN_MOVES: usize = 3_000;

/// What the state of a channel with three members and three keys of metadata may take, as JSON.
const STATE_BYTES_MAX: usize = 2 << 10;

/// A channel to begin with, and the same for the reference.
fn beginning(kind: u8) -> (World, Reference) {
    let mut world = World::new();
    let mut reference = Reference { exists: true, version: 1, members_max: MEMBERS_MAX, ..Reference::default() };
    world.limits.channel_members_max = MEMBERS_MAX;
    let visibility = match kind {
        0 => "private",
        1 => "public",
        _ => {
            world.open(ALICE, BOB).expect("a channel");
            reference.direct = true;
            reference.members = [ALICE, BOB].map(|name| (name.to_owned(), ("member", 0))).into();
            return (world, reference);
        }
    };
    world.create(ALICE, serde_json::json!({ "visibility": visibility })).expect("a channel");
    reference.public = kind == 1;
    reference.members = [(ALICE.to_owned(), ("owner", 0))].into();
    (world, reference)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_channel_is_what_the_reference_says(kind in 0..3_u8, life in any_life()) {
        let (mut world, mut reference) = beginning(kind);
        for next in &life {
            play(&mut world, &mut reference, next);
            compare(&world.state, &reference);
        }
        history_is_whole(&world, &reference);
        index_mirrors_state(&world);
        let (state, index) = world.rebuilt();
        prop_assert_eq!(&state, &world.state);
        prop_assert_eq!(&index, &world.index);
        world.restore_from_snapshot();
    }
}

fn compare(state: &ChannelState, reference: &Reference) {
    let shell = state.shell.as_ref().expect("a channel");
    let role = |role| match role {
        ChannelRole::Owner => "owner",
        ChannelRole::Member => "member",
        ChannelRole::Moderator => "moderator",
    };
    let members: BTreeMap<_, _> =
        state.members.iter().map(|(name, member)| (name.clone(), (role(member.role), member.read_sequence))).collect();
    let metadata: BTreeMap<_, _> =
        shell.metadata.iter().map(|(key, value)| (key.clone(), value.as_u64().expect("a number") as u8)).collect();
    assert_eq!(members, reference.members);
    for (name, member) in &state.members {
        let behind = &reference.messages[member.read_sequence as usize..];
        let unread = state.read_cursor(Some(member), member.read_sequence).unread_count;
        let of_others = behind.iter().filter(|(author, _)| author != name).count() as u64;
        assert!((of_others..=behind.len() as u64).contains(&unread), "{name}: {unread} unread");
    }
    assert_eq!(
        (shell.version, &shell.name, metadata),
        (reference.version, &reference.name, reference.metadata.clone())
    );
    assert_eq!((!state.deleted, state.message_count), (reference.exists, reference.messages.len() as u64));
    assert!(!shell.direct || members.len() == 2, "a direct channel has two members, always");
    assert!(shell.direct || state.deleted || members.values().any(|(role, _)| *role == "owner"), "somebody owns it");
}

/// Messages are numbered 1, 2, 3 … in the order of the log, and the index leads to each of them.
fn history_is_whole(world: &World, reference: &Reference) {
    let events = world.events();
    let messages: Vec<_> = events.iter().filter_map(|event| Some((event.sequence, message_view(event)?))).collect();
    assert_eq!(messages.len(), reference.messages.len());
    for (number, ((at, message), (author, text))) in (1..).zip(messages.iter().zip(&reference.messages)) {
        assert_eq!((message.sequence, &message.author), (number, author), "no gap, no reuse");
        assert_eq!(message.parts.values()[0]["text"], text.as_str());
        assert_eq!(world.stream_sequence(number), *at, "the index leads to message {number}");
    }
}

/// The rows of members are the members, and the public row is there as long as the channel is.
fn index_mirrors_state(world: &World) {
    let shell = world.state.shell.as_ref().expect("a channel");
    let rows: BTreeMap<_, MemberRow> = [ALICE, BOB, CAROL, DAVE]
        .into_iter()
        .filter_map(|name| Some((name, world.index.get(&keys::member(ACCOUNT, name, &shell.channel_id))?)))
        .map(|(name, row)| (name, serde_json::from_slice(row).expect("a row")))
        .collect();
    let members: BTreeMap<_, _> = world
        .state
        .members
        .iter()
        .map(|(name, member)| (name.as_str(), MemberRow { role: member.role, direct: shell.direct }))
        .collect();
    assert_eq!(rows, members);
    let public = world.index.contains_key(&keys::public(ACCOUNT, &shell.channel_id));
    assert_eq!(public, format!("{:?}", shell.visibility) == "Public" && !world.state.deleted);
}

/// A long life in a bounded state. It also sees every kind of end, so the property above is not about nothing.
#[test]
fn a_long_life_stays_small_and_sees_everything() {
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    for kind in 0..3 {
        let (mut world, mut reference) = beginning(kind);
        let mut largest = 0;
        for n in 0..LONG_RUN_MOVES {
            let next = any_move().new_tree(&mut runner).expect("a move").current();
            seen.insert(play(&mut world, &mut reference, &next));
            if n % 50 == 0 {
                compare(&world.state, &reference);
                largest = largest.max(serde_json::to_vec(&world.state).expect("a state serializes").len());
            }
        }
        assert!(largest < STATE_BYTES_MAX, "{largest} bytes of state");
        assert!(world.state.message_count > 50, "{} messages", world.state.message_count);
        history_is_whole(&world, &reference);
    }
    for what in [
        "add done",
        "add conflict",
        "add limit_exceeded",
        "add permission_denied",
        "add not_found",
        "remove done",
        "remove conflict",
        "remove invalid_params",
        "update done",
        "update conflict",
        "update invalid_params",
        "publish done",
        "publish conflict",
        "publish permission_denied",
        "publish not_found",
        "mark done",
    ] {
        assert!(seen.contains(what), "{what} never happened; there was {seen:#?}");
    }
}
