//! Everything that can be done to a channel, as values that proptest makes up and takes apart; done to the aggregate and
//! to the reference alike.

use factum_model::Refusal;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::reference::{Outcome, Reference};
use super::world::*;

const PEOPLE: [&str; 4] = [ALICE, BOB, CAROL, DAVE];
const ROLES: [&str; 3] = ["owner", "member", "moderator"];

#[derive(Clone, Debug)]
pub(super) enum Move {
    Add { caller: usize, who: usize, role: usize },
    Remove { caller: usize, who: usize },
    Update { caller: usize, behind: bool, name: Option<u8>, set: Option<(u8, u8)>, remove: Option<u8> },
    Delete { caller: usize },
    Publish { caller: usize, text: u8, legacy: bool, key: Option<u8> },
    Mark { caller: usize, sequence: u64 },
    Keyed { keyed: bool },
    Wait { ms: i64 },
    Snapshot,
}

/// One move at random. Deleting ends everything, so it is rare.
pub(super) fn any_move() -> impl Strategy<Value = Move> {
    let person = || 0..PEOPLE.len();
    let update = (person(), proptest::bool::weighted(0.1), small(), proptest::option::of((0..3_u8, 0..3_u8)), small());
    prop_oneof![
        4 => (person(), person(), 0..ROLES.len()).prop_map(|(caller, who, role)| Move::Add { caller, who, role }),
        3 => (person(), person()).prop_map(|(caller, who)| Move::Remove { caller, who }),
        3 => update.prop_map(|(caller, behind, name, set, remove)| Move::Update { caller, behind, name, set, remove }),
        8 => (person(), 0..3_u8, any::<bool>(), small())
            .prop_map(|(caller, text, legacy, key)| Move::Publish { caller, text, legacy, key }),
        4 => (person(), 0..40_u64).prop_map(|(caller, sequence)| Move::Mark { caller, sequence }),
        1 => any::<bool>().prop_map(|keyed| Move::Keyed { keyed }),
        1 => (0..9_i64).prop_map(|ms| Move::Wait { ms }),
        1 => Just(Move::Snapshot),
    ]
}

/// The same with an end.
pub(super) fn any_life() -> impl Strategy<Value = Vec<Move>> {
    let end = proptest::option::of((0..PEOPLE.len()).prop_map(|caller| Move::Delete { caller }));
    let moves = || proptest::collection::vec(any_move(), 0..120);
    (moves(), end, moves()).prop_map(|(mut moves, end, rest)| {
        moves.extend(end);
        moves.extend(rest);
        moves
    })
}

fn small() -> impl Strategy<Value = Option<u8>> {
    proptest::option::of(0..3_u8)
}

/// Does it to both and compares how it came out.
pub(super) fn play(world: &mut World, reference: &mut Reference, next: &Move) -> String {
    let (ours, theirs) = match next {
        Move::Add { caller, who, role } => {
            let (caller, who, role) = (PEOPLE[*caller], PEOPLE[*who], ROLES[*role]);
            (outcome(world.add(caller, who, role)), reference.add(caller, who, role))
        }
        Move::Remove { caller, who } => {
            let (caller, who) = (PEOPLE[*caller], PEOPLE[*who]);
            (outcome(world.remove(caller, who)), reference.remove(caller, who))
        }
        Move::Update { caller, behind, name, set, remove } => {
            let expected = reference.version - u64::from(*behind);
            update(world, reference, PEOPLE[*caller], expected, *name, *set, *remove)
        }
        Move::Delete { caller } => (outcome(world.delete(PEOPLE[*caller])), reference.delete(PEOPLE[*caller])),
        Move::Publish { caller, text, legacy, key } => {
            publish(world, reference, PEOPLE[*caller], &text.to_string(), *legacy, *key)
        }
        Move::Mark { caller, sequence } => {
            (outcome(world.mark(PEOPLE[*caller], *sequence)), reference.mark(PEOPLE[*caller], *sequence))
        }
        Move::Keyed { keyed } => {
            world.keyed = *keyed;
            (Ok(()), Ok(()))
        }
        Move::Wait { ms } => {
            world.later(*ms);
            (Ok(()), Ok(()))
        }
        Move::Snapshot => {
            world.restore_from_snapshot();
            (Ok(()), Ok(()))
        }
    };
    assert_eq!(ours, theirs, "{next:?} of {reference:#?}");
    format!("{} {}", kind(next), ours.err().unwrap_or("done"))
}

fn update(
    world: &mut World,
    reference: &mut Reference,
    caller: &str,
    expected: u64,
    name: Option<u8>,
    set: Option<(u8, u8)>,
    remove: Option<u8>,
) -> (Outcome, Outcome) {
    let key = |n: u8| format!("k{n}");
    let name = name.map(|n| format!("name {n}"));
    let (set, remove) = (set.map(|(n, value)| (key(n), value)), remove.map(key));
    let setting: Value = set.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    let setting = if set.is_some() { setting } else { json!({}) };
    let removing: Vec<_> = remove.iter().collect();
    let patch = json!({ "set": setting, "remove": removing });
    let ours = world.update(caller, json!({ "expectedVersion": expected, "name": name, "metadataPatch": patch }));
    let set = set.as_ref().map(|(key, value)| (key.as_str(), *value));
    (outcome(ours), reference.update(caller, expected, name.as_deref(), set, remove.as_deref()))
}

fn publish(
    world: &mut World,
    reference: &mut Reference,
    caller: &str,
    text: &str,
    legacy: bool,
    key: Option<u8>,
) -> (Outcome, Outcome) {
    let part = if legacy { json!({ "type": "text", "text": text }) } else { json!({ "text": text }) };
    let ours = world.publish(caller, json!({ "parts": [part], "idempotencyKey": key.map(|key| key.to_string()) }));
    let theirs = reference.publish(caller, text, key);
    if let (Ok(event), Ok(number)) = (&ours, theirs) {
        assert_eq!(event.sequence, number as u64);
    }
    (ours.map(drop).map_err(|refusal| refusal.code.as_str()), theirs.map(drop))
}

fn outcome<T>(done: Result<Done<T>, Refusal>) -> Outcome {
    done.map(drop).map_err(|refusal| refusal.code.as_str())
}

fn kind(next: &Move) -> String {
    format!("{next:?}").split(' ').next().unwrap_or_default().to_lowercase()
}
