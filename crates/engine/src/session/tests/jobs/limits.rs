//! Bounds of jobs, and what makes no sense.

use serde_json::json;

use super::*;

#[test]
fn what_is_refused() {
    let table = [
        (json!({ "items": items(4) }), "limit_exceeded: job_items is 4, the limit is 3"),
        (json!({ "instruction": "x".repeat(21) }), "limit_exceeded: job_instruction_bytes is 21, the limit is 20"),
        (json!({ "max_concurrency": 5 }), "limit_exceeded: job_concurrency is 5, the limit is 4"),
        (json!({ "max_item_attempts": 6 }), "limit_exceeded: job_item_attempts is 6, the limit is 5"),
        (json!({ "title": "x".repeat(257) }), "limit_exceeded: title_chars is 257, the limit is 256"),
        (json!({ "instruction": " " }), ""),
        (json!({ "max_concurrency": 0 }), ""),
        (json!({ "max_item_attempts": 0 }), ""),
        (json!({ "max_runtime_ms": 0 }), ""),
        (json!({ "instruction": "a", "instruction_ref": "b" }), ""),
        (json!({ "queue": "q", "agent": "demo" }), ""),
        (json!({ "queue": "with space" }), ""),
        (json!({ "queue": "q", "required_capabilities": ["a,b"] }), ""),
        (json!({ "required_capabilities": ["a"] }), ""),
        (json!({ "items": [{ "job_item_id": "a" }, { "job_item_id": "a" }] }), ""),
    ];
    for (params, expected) in table {
        let mut world = World::idle();
        world.limits.job_items_max = 3;
        world.limits.job_instruction_bytes_max = 20;
        world.limits.job_concurrency_max = 8;
        world.limits.job_item_attempts_max = 5;
        if expected.contains("concurrency") {
            world.limits.job_concurrency_max = 4;
        }
        let told = world.create_job_told(params.clone());
        let expected = if expected.is_empty() { "invalid_params" } else { expected };
        assert!(told[0].starts_with(&format!("refused {expected}")), "{params}: {told:?}");
    }
}

#[test]
fn a_task_that_a_job_is_a_part_of_is_one_of_its_session() {
    let mut world = World::idle();
    world.create_tasks(&["here"]);
    assert_eq!(world.create_job_told(json!({ "task_id": "none" })), refused(&Refusal::not_found()));
    let made = world.create_job(json!({ "job_id": "j1", "task_id": "here" })).expect("created");
    assert_eq!(made.output.task_id, Some(id("here")));

    // One that ended long ago is known by its row, and a row of another session's is none.
    let mut row = world.task_rows(&json!({ "task_id": "here" })).remove(0);
    row.task_id = id("long_ago");
    let command: CreateJob = with_instruction(json!({ "task_id": "long_ago" }));
    let decide = |world: &mut World, rows: &[factum_model::task::TaskRow]| {
        world.decide(|state, context| create_job(state, &id("s1"), "demo", rows, &command, context)).map(|_| ())
    };
    assert_eq!(decide(&mut world, &[]), Err(Refusal::not_found()));
    assert_eq!(decide(&mut world, std::slice::from_ref(&row)), Ok(()));
    row.session_id = id("s2");
    assert_eq!(decide(&mut world, &[row]), Err(Refusal::not_found()));
}

#[test]
fn jobs_at_work_and_what_they_keep() {
    let mut world = World::idle();
    world.limits.jobs_open_max = 2;
    world.create_job(json!({ "job_id": "j1" })).expect("created");
    assert_eq!(
        world.create_job_told(json!({ "job_id": "j1" })),
        ["refused conflict: a job with this id exists already"]
    );
    world.create_job(json!({ "job_id": "j2" })).expect("created");
    assert_eq!(world.create_job_told(json!({})), ["refused limit_exceeded: jobs_open is 3, the limit is 2"]);
    world.end_item("j1", 1, None);
    world.create_job(json!({ "job_id": "j3" })).expect("there is room again");
    assert_eq!(
        world.retry_item("j1", 1)[0],
        "refused precondition_failed: only an item that failed, was cut off behind its report, or that its job never came \
         to can be retried"
    );

    let mut world = World::idle();
    world.limits.job_input_bytes_max = 200;
    let item = |bytes: usize| json!([{ "job_item_id": "i", "arguments": "x".repeat(bytes) }]);
    world.create_job(json!({ "job_id": "j1", "items": item(50) })).expect("created");
    let told = world.create_job_told(json!({ "items": item(100) }));
    assert!(told[0].starts_with("refused limit_exceeded: job_input_bytes is "), "{told:?}");
    world.end_item("j1", 1, None);
    world.create_job(json!({ "items": item(100) })).expect("there is room again");
}

#[test]
fn a_job_has_items_and_one_where_nobody_says_which() {
    let mut world = World::idle();
    let told = world.create_job_told(json!({ "items": [] }));
    assert!(told[0].starts_with("refused invalid_params: a job needs at least one item"), "{told:?}");
    world.create_job(json!({ "job_id": "j1", "max_runtime": 5 })).expect("created");
    let record = world.record("j1");
    assert_eq!((record.progress.total, record.max_runtime_ms), (1, Some(5)), "by the contract's name too");
}
