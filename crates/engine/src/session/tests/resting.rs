//! Threads whose work is over make room, leave, and stay readable, whatever they were opened for.

use factum_model::id::ThreadId;
use factum_model::read::ThreadReadModel;
use factum_model::value::Status;
use serde_json::json;

use super::subagents::family::{close, record, spawn};
use super::world::*;
use crate::session::{left_thread_key, thread_read_model};

/// What the index says of a thread that has left.
fn last_words(world: &World, thread_id: &ThreadId) -> Option<ThreadReadModel> {
    let row = world.index.get(&left_thread_key(ACCOUNT, &id("s1"), thread_id))?;
    Some(serde_json::from_slice(row).expect("a read model"))
}

#[test]
fn the_last_few_stay_and_the_others_are_rows() {
    let mut world = World::idle();
    let threads = ["a", "b", "c"].map(|name| {
        spawn(&mut world, name, None);
        record(&world, name).thread_id
    });
    close(&mut world, "a", None);
    close(&mut world, "b", None);
    let seen = thread_read_model(&world.state, Some(&threads[0])).expect("just closed");
    assert_eq!(last_words(&world, &threads[0]), None, "it is among the session's threads");
    close(&mut world, "c", None);
    let told = last_words(&world, &threads[0]).expect("a row");
    assert_eq!(ThreadReadModel { as_of_sequence: told.as_of_sequence, ..seen }, told);
    assert_eq!((told.status, told.as_of_sequence), (Status::Cancelled, world.state.sequence));
    let there: Vec<bool> = threads.iter().map(|thread| world.state.thread(thread).is_some()).collect();
    assert_eq!(there, [false, true, true], "two are kept in tests");
    assert_eq!(world.reindexed(), world.index, "the rows are a function of the facts");
}

#[test]
fn a_session_has_any_number_of_jobs_one_after_another() {
    let mut world = World::idle();
    world.limits.threads_max = 3;
    let mut first = None;
    for job in ["j1", "j2", "j3", "j4", "j5"] {
        world.create_job(json!({ "job_id": job, "items": [{}, {}], "max_concurrency": 2 })).expect("there is room");
        first = first.or(world.item(job, 1).and_then(|item| item.thread_id));
        world.end_item(job, 1, None);
        assert_eq!(world.state.resting.len().min(1), usize::from(job != "j1"), "its job goes on");
        world.end_item(job, 2, None);
    }
    assert_eq!(world.state.threads.len(), 3, "the main one, and two that rest");
    let told = last_words(&world, &first.expect("a thread")).expect("a row");
    assert_eq!((told.status, told.diagnostics.turns_completed), (Status::Completed, 1));
}

#[test]
fn an_item_is_tried_again_where_its_thread_still_is_and_in_a_new_one_where_it_left() {
    let mut world = World::idle();
    let ends = |world: &mut World, job: &str| {
        world.create_job(json!({ "job_id": job, "items": [{}] })).expect("created");
        world.end_item(job, 1, Some(failure("broken")));
        world.item(job, 1).and_then(|item| item.thread_id).expect("a thread")
    };
    let threads = ["j1", "j2", "j3"].map(|job| ends(&mut world, job));
    for (job, stayed) in [("j3", true), ("j1", false)] {
        world.retry_item(job, 1);
        let thread_id = world.item(job, 1).and_then(|item| item.thread_id).expect("a thread");
        assert_eq!(threads.contains(&thread_id), stayed, "{job}");
        world.end_item(job, 1, None);
    }
}

#[test]
fn input_brings_a_thread_at_rest_back() {
    let mut world = World::idle();
    world.create_job(json!({ "job_id": "j1", "items": [{}] })).expect("created");
    let thread_id = world.item("j1", 1).and_then(|item| item.thread_id).expect("a thread");
    world.end_item("j1", 1, None);
    assert!(world.state.resting.contains(&thread_id));
    world.submit_with(json!({ "turn_id": "mine", "thread_id": thread_id })).expect("accepted");
    for job in ["j2", "j3", "j4"] {
        world.create_job(json!({ "job_id": job, "items": [{}] })).expect("created");
        world.end_item(job, 1, None);
    }
    let thread = world.state.thread(&thread_id).expect("it is at work and stays");
    assert_eq!(thread.active.as_ref().map(|turn| turn.turn_id.as_str()), Some("mine"));
}
