//! The queue of a thread: its order, and each change of it with the whole order.

use factum_model::value::OnBusy;
use serde_json::json;

use super::world::World;
use super::{Act, check};

fn queued(world: &mut World) {
    world.submit_all(&["t1", "t2", "t3", "t4"]);
}

#[test]
fn turns_start_in_the_order_of_the_queue() {
    let mut world = World::idle();
    queued(&mut world);
    world.promote(json!({ "queued_turn_id": "t4" }));
    world.submit("t5", OnBusy::Queue);
    let mut order = Vec::new();
    while world.main().active.is_some() {
        order.push(world.active().turn_id.to_string());
        world.complete();
    }
    assert_eq!(order, ["t1", "t4", "t2", "t3", "t5"]);
}

#[test]
fn a_submitted_turn_is_told_its_place() {
    let mut world = World::idle();
    let mut place = |turn| {
        let output = world.submit_with(json!({ "turn_id": turn })).expect("accepted").output;
        (output.queue_position, output.sequence)
    };
    assert_eq!([place("t1"), place("t2"), place("t3")], [(None, 4), (Some(1), 6), (Some(2), 8)]);
}

#[test]
fn promoting_moves_forward_and_says_the_order() {
    let invalid: &[&str] = &["refused invalid_params: position must be 1 to 3"];
    let not_found: &[&str] = &["refused not_found: not found"];
    let table: [(&str, Act, &[&str]); 11] = [
        ("to the front", |w| w.promote(json!({ "queued_turn_id": "t4" })), &["queue.changed promoted t4 [t4 t2 t3]"]),
        ("under the older name", |w| w.promote(json!({ "turn_id": "t3" })), &["queue.changed promoted t3 [t3 t2 t4]"]),
        (
            "to a place",
            |w| w.promote(json!({ "queued_turn_id": "t4", "position": 2 })),
            &["queue.changed promoted t4 [t2 t4 t3]"],
        ),
        ("to where it is", |w| w.promote(json!({ "queued_turn_id": "t3", "position": 2 })), &[]),
        ("backward is not promoting", |w| w.promote(json!({ "queued_turn_id": "t2", "position": 3 })), &[]),
        ("to no place", |w| w.promote(json!({ "queued_turn_id": "t2", "position": 0 })), invalid),
        ("behind the end", |w| w.promote(json!({ "queued_turn_id": "t2", "position": 4 })), invalid),
        ("the active one", |w| w.promote(json!({ "queued_turn_id": "t1" })), not_found),
        ("an unknown one", |w| w.promote(json!({ "queued_turn_id": "t9" })), not_found),
        ("in an unknown thread", |w| w.promote(json!({ "queued_turn_id": "t2", "thread_id": "nowhere" })), not_found),
        (
            "in another thread",
            |w| {
                w.start_side_thread();
                w.promote(json!({ "queued_turn_id": "t2", "thread_id": "side" }))
            },
            not_found,
        ),
    ];
    for (name, act, expected) in table {
        check(name, queued, act, expected);
    }
}

#[test]
fn removing_ends_a_turn_that_never_started() {
    let not_found: &[&str] = &["refused not_found: not found"];
    let table: [(&str, Act, &[&str]); 5] = [
        (
            "from the middle",
            |w| w.remove(json!({ "queued_turn_id": "t3" })),
            &["queue.changed removed t3 [t2 t4]", "turn.failed t3 cancelled removed_from_queue"],
        ),
        ("the active one", |w| w.remove(json!({ "queued_turn_id": "t1" })), not_found),
        ("an unknown one", |w| w.remove(json!({ "queued_turn_id": "t9" })), not_found),
        ("in an unknown thread", |w| w.remove(json!({ "queued_turn_id": "t2", "thread_id": "nowhere" })), not_found),
        (
            "twice",
            |w| {
                w.remove(json!({ "queued_turn_id": "t2" }));
                w.remove(json!({ "queued_turn_id": "t2" }))
            },
            not_found,
        ),
    ];
    for (name, act, expected) in table {
        check(name, queued, act, expected);
    }
}

#[test]
fn a_removed_turn_is_not_the_outcome_of_its_thread() {
    let mut world = World::idle();
    queued(&mut world);
    world.remove(json!({ "queued_turn_id": "t2" }));
    let thread = world.main();
    assert_eq!((thread.last_outcome.clone(), thread.diagnostics.turns_cancelled, thread.incidents.len()), (None, 1, 0));
}
