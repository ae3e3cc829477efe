//! The named bounds of child agents, each met at its value plus one.

use factum_model::Refusal;
use factum_model::commands::SpawnSubagent;
use factum_model::value::Part;
use serde_json::{Value, json};

use super::super::world::*;
use super::family::*;

fn refused_limit(lines: &[String], expected: &str) {
    assert_eq!(lines, [format!("refused limit_exceeded: {expected}")]);
}

#[test]
fn how_deep() {
    let mut world = World::idle();
    world.limits.subagent_depth_max = 2;
    spawn(&mut world, "a", None);
    assert_eq!(spawn(&mut world, "b", Some("a")).len(), 4);
    refused_limit(&spawn(&mut world, "c", Some("b")), "subagent_depth is 3, the limit is 2");
    let thread_id = record(&world, "b").thread_id;
    let by_thread = spawn_with(&mut world, json!({ "parent_thread_id": thread_id }));
    refused_limit(&by_thread, "subagent_depth is 3, the limit is 2");
}

#[test]
fn how_many_open() {
    let mut world = World::idle();
    world.limits.subagents_open_max = 2;
    spawn(&mut world, "a", None);
    spawn(&mut world, "b", None);
    refused_limit(&spawn(&mut world, "c", None), "subagents_open is 3, the limit is 2");
    close(&mut world, "a", None);
    assert_eq!(spawn(&mut world, "c", None).len(), 4, "closed ones do not count");
}

#[test]
fn how_many_threads_a_session_has() {
    let mut world = World::idle();
    world.limits.threads_max = 2;
    spawn(&mut world, "a", None);
    refused_limit(&spawn(&mut world, "b", None), "threads is 3, the limit is 2");
    for pair in ["a", "b", "c", "d", "e"].windows(2) {
        close(&mut world, pair[0], None);
        assert_eq!(spawn(&mut world, pair[1], None).len(), 4, "threads of closed ones do not count");
    }
    refused_limit(&spawn(&mut world, "f", None), "threads is 3, the limit is 2");
}

#[test]
fn how_long_it_may_settle() {
    let mut world = World::idle();
    world.limits.subagent_grace_ms_max = 1_000;
    spawn(&mut world, "a", None);
    refused_limit(&close(&mut world, "a", Some(1_001)), "subagent_grace_ms is 1001, the limit is 1000");
    assert_eq!(close(&mut world, "a", Some(1_000)), ["subagent.status a closing"]);
}

#[test]
fn how_much_is_said() {
    let mut world = World::idle();
    world.limits.input_parts_max = 1;
    world.limits.queue_turns_max = 1;
    world.limits.title_chars_max = 3;
    world.limits.metadata_bytes_max = 20;
    spawn(&mut world, "a", None);
    let two: Value = json!(vec![Part::Text { text: "hello".into() }; 2]);
    let table = [
        (json!({ "input": two }), "input_parts is 2, the limit is 1"),
        (json!({ "role": "long" }), "title_chars is 4, the limit is 3"),
        (json!({ "nickname": "long" }), "title_chars is 4, the limit is 3"),
        (json!({ "metadata": metadata(10) }), "metadata_bytes is 21, the limit is 20"),
    ];
    for (params, expected) in table {
        refused_limit(&spawn_with(&mut world, params), expected);
    }
    send(&mut world, "a");
    refused_limit(&send(&mut world, "a"), "queue_turns is 2, the limit is 1");
    refused_limit(&send_parts(&mut world, "a", two), "input_parts is 2, the limit is 1");
}

#[test]
fn what_is_named_has_to_fit() {
    let mut world = World::idle();
    world.submit_all(&["t1"]);
    spawn(&mut world, "a", None);
    let table = [
        (json!({ "parent_subagent_id": "unknown" }), "refused not_found: not found"),
        (json!({ "parent_thread_id": "unknown" }), "refused not_found: not found"),
        (json!({ "parent_turn_id": "unknown" }), "refused not_found: not found"),
        (json!({ "parent_subagent_id": "a", "parent_turn_id": "t1" }), "refused not_found: not found"),
        (
            json!({ "parent_subagent_id": "a", "parent_thread_id": main_thread(&world) }),
            "refused invalid_params: parent_thread_id is not the thread of parent_subagent_id",
        ),
        (json!({ "subagent_id": "a" }), "refused conflict: a child agent with this id exists already"),
    ];
    for (params, expected) in table {
        assert_eq!(spawn_with(&mut world, params.clone()), [expected], "{params}");
    }
    assert_eq!(spawn_with(&mut world, json!({ "subagent_id": "b", "parent_turn_id": "t1" })).len(), 2);
    assert_eq!(record(&world, "b").parent_turn_id, Some(turn_id("t1")));
    let nothing = send_parts(&mut world, "a", json!([]));
    assert!(nothing[0].starts_with("refused invalid_params: input needs at least one part"), "{nothing:?}");
}

#[test]
fn a_child_for_a_task_that_is_not_there() {
    let mut world = World::idle();
    world.create_tasks(&["k"]);
    for params in [json!({ "task_id": "none" }), json!({ "task_id": "k", "parent_task_id": "none" })] {
        assert_eq!(spawn_with(&mut world, params), refused(&Refusal::not_found()));
    }
    // The edge of the task, and that work was handed on, also where only the task it works on is named.
    assert_eq!(spawn_with(&mut world, json!({ "task_id": "k" })).len(), 4);
    assert_eq!(spawn_with(&mut world, json!({ "task_id": "k", "parent_task_id": "k" })).len(), 4);
}

#[test]
fn a_child_of_a_session_that_is_not_there() {
    let mut world = World::new();
    let command: SpawnSubagent = parse(json!({ "session_id": "s1" }));
    let spawned =
        world.decide(|state, context| crate::session::subagents::spawn_subagent(state, None, &[], &command, context));
    assert_eq!(spawned.err(), Some(factum_model::Refusal::not_found()));
}
