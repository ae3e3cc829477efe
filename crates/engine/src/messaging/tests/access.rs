//! Who may do what: every operation, for everybody, in every kind of channel.

use factum_model::Refusal;

use super::world::*;
use crate::messaging::{Operation, allow};

const OPERATIONS: [Operation; 10] = [
    Operation::Get,
    Operation::History,
    Operation::Stream,
    Operation::Presence,
    Operation::Publish,
    Operation::MarkRead,
    Operation::Update,
    Operation::Delete,
    Operation::AddMember,
    Operation::RemoveMember,
];

/// `y` is allowed, `d` is permission_denied, `n` is not_found; in the order above.
fn row(world: &World, principal: &str) -> String {
    let letter = |operation| match allow(&world.state, principal, operation) {
        Ok(()) => 'y',
        Err(refusal) if refusal == Refusal::not_found() => 'n',
        Err(refusal) => {
            assert_eq!(refusal.code.as_str(), "permission_denied");
            'd'
        }
    };
    OPERATIONS.into_iter().map(letter).collect()
}

#[test]
fn everybody_everywhere() {
    let deleted = |visibility| {
        let mut world = World::with_channel(visibility);
        world.delete(ALICE).expect("deleted");
        world
    };
    // Alice owns, Bob is a member, Carol a moderator, Dave is none of it.
    let everywhere = [
        ("private", World::with_channel("private"), ["yyyyyyyyyy", "yyyyyydddd", "yyyyyydddd", "nnnnnnnnnn"]),
        ("public", World::with_channel("public"), ["yyyyyyyyyy", "yyyyyydddd", "yyyyyydddd", "yyyydddddd"]),
        ("direct", World::direct(), ["yyyyyydddd", "yyyyyydddd", "nnnnnnnnnn", "nnnnnnnnnn"]),
        ("deleted private", deleted("private"), ["nnnnnnnnnn"; 4]),
        ("deleted public", deleted("public"), ["nnnnnnnnnn"; 4]),
        ("never created", World::new(), ["nnnnnnnnnn"; 4]),
    ];
    for (name, world, expected) in everywhere {
        let rows = [ALICE, BOB, CAROL, DAVE].map(|principal| row(&world, principal));
        assert_eq!(rows, expected, "{name}");
    }
}

/// Seed 002 §10: what is hidden and what is not there are the same bytes, for every command.
#[test]
fn a_private_channel_does_not_exist_for_outsiders() {
    for mut world in [World::with_channel("private"), World::direct(), World::new()] {
        let answers = [
            told(world.update(DAVE, serde_json::json!({ "expectedVersion": 1, "name": "x" }))),
            told(world.delete(DAVE)),
            told(world.add(DAVE, DAVE, "owner")),
            told(world.remove(DAVE, ALICE)),
            told(world.mark(DAVE, 1)),
            vec![refused(&world.publish(DAVE, serde_json::json!({ "parts": [] })).expect_err("refused"))],
        ];
        for answer in answers {
            assert_eq!(answer, ["refused not_found: not found"]);
        }
    }
}
