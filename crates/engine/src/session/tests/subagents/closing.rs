//! Closing trees: children first, at once or when their time to settle is over.

use factum_model::subagent::SubagentState::{self, Closed, Closing, Running};
use serde_json::json;

use super::super::world::*;
use super::family::*;

/// `a` with the children `b` and `c`, and `d` below `b`; all of them run.
fn tree() -> World {
    let mut world = World::idle();
    for (id, parent) in [("a", None), ("b", Some("a")), ("c", Some("a")), ("d", Some("b")), ("other", None)] {
        spawn(&mut world, id, parent);
    }
    world
}

fn statuses(world: &World) -> [SubagentState; 4] {
    ["a", "b", "c", "d"].map(|id| status(world, id))
}

fn closed(lines: &[String]) -> Vec<&str> {
    lines.iter().filter_map(|line| line.strip_prefix("subagent.closed ")).collect()
}

#[test]
fn a_tree_closes_children_first_and_leaves_others_alone() {
    let mut world = tree();
    let lines = close(&mut world, "a", None);
    assert_eq!(closed(&lines), ["d was cancelled", "c was cancelled", "b was cancelled", "a was cancelled"]);
    assert_eq!(statuses(&world), [Closed; 4]);
    assert_eq!(status(&world, "other"), Running);
    let record = record(&world, "d");
    assert_eq!(record.last_error.map(|error| error.message).as_deref(), Some("enough"));
}

#[test]
fn a_part_of_a_tree_closes_alone() {
    let mut world = tree();
    assert_eq!(closed(&close(&mut world, "b", None)), ["d was cancelled", "b was cancelled"]);
    assert_eq!(statuses(&world), [Running, Closed, Running, Closed]);
}

#[test]
fn what_settles_in_time_is_closed_then_and_its_parents_behind_it() {
    let mut world = tree();
    finish(&mut world, "a", true);
    finish(&mut world, "b", true);
    finish(&mut world, "c", true);
    let lines = close(&mut world, "a", Some(1_000));
    assert_eq!(closed(&lines), ["c was completed"], "what is idle and waits for nobody closes at once");
    assert_eq!(statuses(&world), [Closing, Closing, Closed, Closing]);
    assert_eq!(timers(&world).len(), 3);
    let lines = finish(&mut world, "d", true);
    assert_eq!(closed(&lines), ["d was completed", "b was completed", "a was completed"]);
    assert!(timers(&world).is_empty(), "nothing is left to end");
}

#[test]
fn what_does_not_settle_in_time_is_ended() {
    let mut world = tree();
    close(&mut world, "a", Some(1_000));
    assert_eq!(closed(&finish(&mut world, "d", false)), ["d was failed"]);
    assert_eq!(closed(&finish(&mut world, "b", true)), ["b was completed"], "its only child is closed");
    world.later(999);
    assert_eq!(fire(&mut world), Vec::<String>::new());
    world.later(1);
    assert_eq!(closed(&fire(&mut world)), ["c was cancelled", "a was cancelled"]);
    let facts = last_commit(&world);
    let by = |fact: &str| {
        let event = facts.iter().find(|event| event.fact.type_name() == fact).expect("a fact");
        serde_json::to_value(event).expect("an event")["payload"].clone()
    };
    assert_eq!(by("subagent.closed")["closed_by"], CALLER, "whoever closed it, not the timer");
    assert_eq!(by("subagent.closed")["reason"], "enough");
}

#[test]
fn a_later_close_may_take_time_away_and_not_give_more() {
    let mut world = tree();
    close(&mut world, "d", Some(500));
    close(&mut world, "a", Some(2_000));
    assert_eq!(record(&world, "d").close_at, Some(at(500)));
    assert_eq!(record(&world, "a").close_at, Some(at(2_000)));
    close(&mut world, "a", Some(1_000));
    assert_eq!(
        ["a", "b", "c", "d"].map(|id| record(&world, id).close_at.expect("a time")),
        [at(1_000), at(1_000), at(1_000), at(500)]
    );
    assert_eq!(timers(&world).len(), 4);
    world.later(500);
    assert_eq!(closed(&fire(&mut world)), ["d was cancelled"]);
    assert_eq!(closed(&close(&mut world, "a", None)).len(), 3);
    assert!(timers(&world).is_empty());
}

#[test]
fn what_waits_in_queues_is_removed_at_once() {
    let mut world = World::idle();
    spawn(&mut world, "a", None);
    send(&mut world, "a");
    send(&mut world, "a");
    assert_eq!(
        close(&mut world, "a", Some(1_000)),
        [
            "queue.changed removed",
            "turn.failed cancelled removed_from_queue",
            "turn.failed cancelled removed_from_queue",
            "subagent.status a closing",
        ]
    );
    assert_eq!(
        finish(&mut world, "a", true),
        ["turn.completed end_turn", "subagent.completed a completed", "subagent.closed a was completed"]
    );
    let mut world = World::idle();
    spawn(&mut world, "a", None);
    send(&mut world, "a");
    assert_eq!(
        close(&mut world, "a", None),
        [
            "queue.changed removed",
            "turn.failed cancelled removed_from_queue",
            "turn.failed cancelled interrupted",
            "subagent.failed a cancelled",
            "subagent.closed a was cancelled"
        ]
    );
}

#[test]
fn a_deep_tree_closes_as_a_whole() {
    let mut world = World::idle();
    world.limits.subagent_depth_max = 40;
    let names: Vec<String> = (0..40).map(|n| format!("n{n}")).collect();
    for (n, name) in names.iter().enumerate() {
        spawn(&mut world, name, n.checked_sub(1).map(|parent| names[parent].as_str()));
    }
    assert_eq!(record(&world, "n39").depth, 40);
    close(&mut world, "n0", Some(1_000));
    world.later(1_000);
    let lines = fire(&mut world);
    let expected: Vec<String> = names.iter().rev().map(|name| format!("{name} was cancelled")).collect();
    assert_eq!(closed(&lines), expected);
    assert!(world.state.threads.iter().all(|thread| thread.active.is_none()));
}

#[test]
fn a_restart_while_it_settles_changes_nothing_about_it() {
    let mut world = tree();
    close(&mut world, "a", Some(1_000));
    let before = ["a", "b", "c", "d"].map(|id| record(&world, id).close_at);
    world.recover();
    assert_eq!(["a", "b", "c", "d"].map(|id| record(&world, id).close_at), before);
    assert_eq!(statuses(&world), [Closing; 4]);
    world.later(5_000);
    assert_eq!(closed(&fire(&mut world)).len(), 4);
    assert_eq!(json!(world.state.subagents)["open"].as_array().map(Vec::len), Some(1), "only the other is left");
}
