//! Lists: direct children and everything below, by session, thread, turn, task and child agent.

use serde_json::json;

use super::super::world::*;
use super::family::*;
use crate::session::subagents::{Within, subagent_job_summary};

/// `a` (spawned in turn `t1` for task `k1`) with `b` (works on task `k2`) and below that `c`; `d` beside `a`.
fn tree() -> World {
    let mut world = World::idle();
    world.create_tasks(&["k1", "k2"]);
    world.submit_all(&["t1"]);
    spawn_with(
        &mut world,
        json!({ "subagent_id": "a", "parent_turn_id": "t1", "parent_task_id": "k1", "input": hello() }),
    );
    spawn_with(&mut world, json!({ "subagent_id": "b", "parent_subagent_id": "a", "task_id": "k2" }));
    let thread_id = record(&world, "b").thread_id;
    spawn_with(&mut world, json!({ "subagent_id": "c", "parent_thread_id": thread_id }));
    spawn(&mut world, "d", None);
    world
}

fn check(world: &World, within: Within, direct: &[&str], below: &[&str]) {
    let names = |descendants| -> Vec<String> {
        list(world, &within, descendants).iter().map(|id| id.as_str().to_owned()).collect()
    };
    assert_eq!(names(false), direct, "children of {within:?}");
    assert_eq!(names(true), below, "below {within:?}");
}

fn check_all(world: &World, threads: &[factum_model::id::ThreadId; 2]) {
    check(world, Within::Session, &["a", "d"], &["a", "b", "c", "d"]);
    check(world, Within::Thread(threads[0].clone()), &["a", "d"], &["a", "b", "c", "d"]);
    check(world, Within::Thread(threads[1].clone()), &["b"], &["b", "c"]);
    check(world, Within::Turn(turn_id("t1")), &["a"], &["a", "b", "c"]);
    check(world, Within::Task(id("k1")), &["a"], &["a", "b", "c"]);
    check(world, Within::Task(id("k2")), &["b"], &["b", "c"]);
    check(world, Within::Subagent(id_of("a")), &["b"], &["b", "c"]);
    check(world, Within::Subagent(id_of("b")), &["c"], &["c"]);
    check(world, Within::Subagent(id_of("c")), &[], &[]);
    check(world, Within::Subagent(id_of("unknown")), &[], &[]);
}

#[test]
fn the_same_before_and_behind_a_close() {
    let mut world = tree();
    let threads = [main_thread(&world), record(&world, "a").thread_id];
    check_all(&world, &threads);
    close(&mut world, "a", None);
    check_all(&world, &threads);
    assert_eq!(world.reindexed(), world.index, "the rows are a function of the facts");
}

#[test]
fn a_record_has_everything_it_was_spawned_with() {
    let world = tree();
    let (a, b, c) = (record(&world, "a"), record(&world, "b"), record(&world, "c"));
    assert_eq!((a.depth, b.depth, c.depth), (1, 2, 3));
    assert_eq!(a.parent_thread_id, main_thread(&world));
    assert_eq!((a.parent_task_id, a.parent_subagent_id), (Some(id("k1")), None));
    assert_eq!((b.task_id, b.parent_subagent_id), (Some(id("k2")), Some(id_of("a"))));
    assert_eq!((c.parent_subagent_id, &c.parent_thread_id), (Some(id_of("b")), &b.thread_id));
    let thread = world.state.thread(&c.thread_id).expect("its thread");
    assert_eq!((thread.parent_thread_id.clone(), thread.agent.as_str()), (Some(c.parent_thread_id), "demo"));
}

#[test]
fn the_summary_shows_open_ones_and_counts_all() {
    let mut world = tree();
    answer(&mut world, "a", vec![gated("rm")]);
    close(&mut world, "d", None);
    let summary = subagent_job_summary(&world.state, 2).expect("a summary");
    let shown: Vec<&str> = summary.subagents.iter().map(|record| record.subagent_id.as_str()).collect();
    assert_eq!((shown, summary.subagents_total, summary.jobs_total), (vec!["a", "b"], 4, 0));
    assert_eq!(summary.assigned_threads, [record(&world, "a").thread_id]);
    let reasons: Vec<(bool, &str)> =
        summary.recoverability.iter().map(|one| (one.recoverable, one.reason.as_str())).collect();
    assert_eq!(
        reasons,
        [
            (true, "what it waits for stays open across a restart"),
            (true, "it has nothing to do; send_subagent_input gives it work")
        ]
    );
}
