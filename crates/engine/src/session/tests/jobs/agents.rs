//! Items that an agent does: a pool of threads, the next item in the commit that ends the one before.

use factum_model::value::{Failure, OnBusy, Part};
use serde_json::json;

use super::*;

fn retryable(category: &str) -> Failure {
    Failure { retryable: true, ..failure(category) }
}

#[test]
fn items_run_a_few_at_once_and_the_next_one_starts_where_one_ended() {
    let mut world = World::idle();
    let told = world.create_job_told(json!({ "job_id": "j1", "items": items(3), "max_concurrency": 2 }));
    let start = ["thread.started", "job.item.started i1 #1", "turn.submitted", "turn.started"];
    assert_eq!(told[..2], ["job.created 3 items", "job.started"]);
    assert_eq!(told[2..6], start);
    assert_eq!(told.len(), 10);
    assert_eq!(world.counts("j1"), [1, 2, 0, 0]);

    let told = world.end_item("j1", 2, None);
    let next = ["job.item.started i3 #1", "turn.submitted", "turn.started", "job.progress 0p 2r 1c 0f"];
    assert_eq!(told[..2], ["turn.completed", "job.item.completed i2 #1"]);
    assert_eq!(told[2..], next);
    let (second, third) = (world.item("j1", 2).expect("a row"), world.item("j1", 3).expect("a row"));
    assert_eq!(second.thread_id, third.thread_id, "the thread is used again");
    assert_eq!(second.summary.as_deref(), Some("hi"));

    world.end_item("j1", 1, None);
    let told = world.end_item("j1", 3, None);
    assert_eq!(told, ["turn.completed", "job.item.completed i3 #1", "job.completed 0p 0r 3c 0f"]);
    let record = world.record("j1");
    assert_eq!((record.status, record.ended_at, record.item_cursor), (JobStatus::Completed, Some(world.now), 3));
    assert_eq!(record.assigned_threads.len(), 2);
    assert!(!world.state.jobs.is_open(&id("j1")), "what has ended is in its row only");
}

#[test]
fn an_item_is_told_the_instruction_and_what_it_is_about() {
    let mut world = World::idle();
    let items = json!([{ "arguments": { "n": 1 } }, { "arguments": "plain" }, { "input_ref": "blob:x" }]);
    let done = world.create_job(json!({ "job_id": "j1", "items": items, "input_refs": ["doc:y"] })).expect("created");
    let inputs = done.events.iter().filter_map(|event| match &event.fact {
        Fact::TurnSubmitted(fact) => Some(fact.input.clone()),
        _ => None,
    });
    let text = |text: &str| Part::Text { text: text.into() };
    let r#ref = |r#ref: &str| Part::Ref { r#ref: r#ref.into() };
    assert_eq!(
        inputs.collect::<Vec<_>>(),
        [
            vec![text("do it"), Part::Data { data: json!({ "n": 1 }) }, r#ref("doc:y")],
            vec![text("do it"), text("plain"), r#ref("doc:y")],
            vec![text("do it"), r#ref("blob:x"), r#ref("doc:y")],
        ]
    );
}

#[test]
fn a_failure_is_tried_again_while_attempts_are_left_and_it_may_help() {
    let table = [
        (1, retryable("overloaded"), "job.item.failed i1 #1 overloaded over"),
        (2, failure("refused"), "job.item.failed i1 #1 refused over"),
        (2, retryable("overloaded"), "job.item.failed i1 #1 overloaded again"),
    ];
    for (attempts, error, expected) in table {
        let mut world = World::idle();
        world.create_job(json!({ "job_id": "j1", "items": items(1), "max_item_attempts": attempts })).expect("created");
        let told = world.end_item("j1", 1, Some(error));
        assert_eq!(told[1], expected);
        if !expected.ends_with("again") {
            assert_eq!(told[2..], ["job.failed items_failed 0p 0r 0c 1f"]);
            continue;
        }
        assert_eq!((told.len(), world.counts("j1")), (2, [1, 0, 0, 0]));
        assert_eq!(world.item("j1", 1).expect("a row").last_error.expect("an error").category, "overloaded");
        world.later(999);
        assert_eq!(world.fire_due(), Vec::<String>::new(), "it waits a second");
        world.later(1);
        let told = world.fire_due();
        assert_eq!(told[..2], ["job.item.retrying i1 after #1", "job.item.started i1 #2"]);
        let told = world.end_item("j1", 1, Some(retryable("overloaded")));
        assert_eq!(told[1..], ["job.item.failed i1 #2 overloaded over", "job.failed items_failed 0p 0r 0c 1f"]);
    }
}

#[test]
fn a_job_with_some_failures_is_completed_and_says_how_many() {
    let mut world = World::idle();
    world.create_job(json!({ "job_id": "j1", "items": items(2) })).expect("created");
    world.end_item("j1", 1, Some(failure("refused")));
    assert_eq!(world.end_item("j1", 2, None)[2..], ["job.completed 0p 0r 1c 1f"]);
}

#[test]
fn one_item_is_retried_alone_while_the_job_goes_on_and_after_it_ended() {
    let mut world = World::idle();
    world.create_job(json!({ "job_id": "j1", "items": items(3), "max_concurrency": 2 })).expect("created");
    assert!(world.retry_item("j1", 1)[0].starts_with("refused precondition_failed"), "at work");
    assert!(world.retry_item("j1", 3)[0].starts_with("refused precondition_failed"), "its turn will come");
    world.end_item("j1", 1, Some(failure("refused")));
    assert_eq!(world.retry_item("j1", 1), ["job.item.retrying i1 after #1"], "no room: it goes first when there is");
    assert_eq!(world.end_item("j1", 2, None)[2], "job.item.started i1 #2");
    world.end_item("j1", 1, Some(failure("refused")));
    assert_eq!(world.end_item("j1", 3, None)[2..], ["job.completed 0p 0r 2c 1f"]);
    assert!(world.retry_item("j1", 3)[0].starts_with("refused precondition_failed"), "it completed");

    let told = world.retry_item("j1", 1);
    assert_eq!(told[..3], ["job.item.retrying i1 after #2 reopens", "job.started", "job.item.started i1 #3"]);
    assert_eq!((world.record("j1").status, world.counts("j1")), (JobStatus::Running, [0, 1, 2, 0]));
    assert_eq!(world.record("j1").assigned_threads.len(), 2, "in the threads it had");
    assert_eq!(world.end_item("j1", 1, None)[1..], ["job.item.completed i1 #3", "job.completed 0p 0r 3c 0f"]);
}

#[test]
fn a_crash_is_followed_by_an_attempt_that_carries_the_turn_on() {
    let mut world = World::idle();
    world.create_job(json!({ "job_id": "j1", "items": items(1), "max_item_attempts": 2 })).expect("created");
    let before = world.item("j1", 1).expect("a row");
    let story = world.recover();
    let expected = ["job.item.failed", "job.item.retrying", "job.item.started"];
    assert_eq!(story.iter().filter(|line| line.starts_with("job.")).collect::<Vec<_>>().len(), 3, "{story:?}");
    assert!(expected.iter().all(|kind| story.iter().any(|line| line.starts_with(kind))), "{story:?}");
    let after = world.item("j1", 1).expect("a row");
    assert_eq!((after.status, after.attempt_count, &after.turn_id), (JobItemStatus::Running, 2, &before.turn_id));
    assert_ne!(after.run_id, before.run_id);
    assert_eq!(after.last_error.expect("why").category, "process_ended");
    assert_eq!((world.counts("j1"), world.timers().len()), ([0, 1, 0, 0], 0));

    // No policy counts it: the failure of the second attempt is the first.
    assert_eq!(world.end_item("j1", 1, Some(retryable("overloaded")))[1], "job.item.failed i1 #2 overloaded again");
    world.later(1_000);
    assert!(world.fire_due().contains(&"job.item.started i1 #3".to_owned()));
    assert_eq!(world.end_item("j1", 1, Some(retryable("overloaded")))[1], "job.item.failed i1 #3 overloaded over");
}

#[test]
fn a_process_that_never_stays_up_does_not_fill_the_log_with_attempts() {
    let mut world = World::idle();
    world.limits.job_item_attempts_max = 3;
    world.create_job(json!({ "job_id": "j1", "items": items(1) })).expect("created");
    for expected in [2, 3, 3] {
        world.recover();
        assert_eq!(world.item("j1", 1).expect("a row").attempt_count, expected);
    }
    assert_eq!(world.end_item("j1", 1, None)[1..], ["job.item.completed i1 #3", "job.completed 0p 0r 1c 0f"]);
}

#[test]
fn whoever_interrupts_an_item_has_its_thread() {
    let mut world = World::idle();
    world.create_job(json!({ "job_id": "j1", "items": items(2), "max_concurrency": 1 })).expect("created");
    let thread_id = world.item("j1", 1).and_then(|item| item.thread_id).expect("a thread");
    let submit = json!({ "turn_id": "mine", "thread_id": thread_id, "on_busy": OnBusy::Interrupt });
    world.submit_with(submit).expect("accepted");
    let active = world.state.thread(&thread_id).and_then(|thread| thread.active.as_ref()).expect("a turn");
    assert_eq!(active.turn_id.as_str(), "mine");
    let next = world.item("j1", 2).expect("handed out");
    assert_eq!(next.status, JobItemStatus::Running);
    assert_ne!(next.thread_id, Some(thread_id));
}

#[test]
fn progress_is_said_once_for_every_percent() {
    let mut world = World::idle();
    world.create_job(json!({ "job_id": "j1", "items": items(500), "max_concurrency": 1 })).expect("created");
    let mut said = 0;
    for number in 1..=500 {
        said += world.end_item("j1", number, None).iter().filter(|line| line.starts_with("job.progress")).count();
    }
    assert_eq!((said, world.record("j1").status), (99, JobStatus::Completed));
}

#[test]
fn a_job_brings_its_session_along() {
    let mut world = World::new();
    let told = world.create_job_told(json!({ "job_id": "j1" }));
    assert_eq!(told[..4], ["session.created", "thread.started", "job.created 1 items", "job.started"]);
}

#[test]
fn a_job_whose_agent_gets_no_thread_says_so() {
    let mut world = World::idle();
    world.limits.threads_max = 2;
    let refused = world.create_job_told(json!({ "items": items(2) }));
    assert_eq!(refused, ["refused limit_exceeded: threads is 3, the limit is 2"]);
    world.create_job(json!({ "job_id": "j1", "items": items(2), "max_concurrency": 1 })).expect("created");
    let thread_id = world.item("j1", 1).and_then(|item| item.thread_id).expect("a thread");
    world.submit_with(json!({ "turn_id": "mine", "thread_id": thread_id })).expect("queued");
    let told = world.end_item("j1", 1, None);
    assert!(told.contains(&"job.failed limit_exceeded 1p 0r 1c 0f".to_owned()), "{told:?}");
}
