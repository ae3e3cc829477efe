//! Jobs that are stopped: by somebody, or by the time.

use serde_json::json;

use super::*;

#[test]
fn agents_are_interrupted_and_finished_items_stay_finished() {
    let mut world = World::idle();
    world.create_job(json!({ "job_id": "j1", "items": items(4), "max_concurrency": 2 })).expect("created");
    world.end_item("j1", 1, None);
    let told = world.cancel_job("j1");
    assert_eq!(
        told,
        [
            "job.item.failed i2 #1 interrupted over",
            "turn.failed",
            "job.item.failed i3 #1 interrupted over",
            "turn.failed",
            "job.cancelled 1p 0r 1c 2f"
        ]
    );
    assert_eq!(world.item("j1", 1).expect("a row").status, JobItemStatus::Completed);
    assert_eq!(world.cancel_job("j1"), ["refused not_found: not found"], "the shell answers from the row");
    assert_eq!(world.timers(), []);
}

#[test]
fn a_retried_item_of_a_cancelled_job_does_not_bring_the_others_back() {
    let mut world = World::idle();
    world.create_job(json!({ "job_id": "j1", "items": items(3), "max_concurrency": 1 })).expect("created");
    world.cancel_job("j1");
    world.retry_item("j1", 1);
    assert_eq!(world.end_item("j1", 1, None)[2..], ["job.cancelled 2p 0r 1c 0f"], "two were never done");
    for number in [3, 2] {
        let told = world.retry_item("j1", number);
        assert_eq!(told[0], format!("job.item.retrying i{number} after #0 reopens"));
        world.end_item("j1", number, None);
    }
    assert_eq!((world.record("j1").status, world.counts("j1")), (JobStatus::Completed, [0, 0, 3, 0]));
}

fn leased() -> (World, RunId, u64) {
    let mut world = World::idle();
    let params =
        json!({ "job_id": "j1", "items": items(3), "max_concurrency": 2, "queue": "q", "max_item_attempts": 3 });
    world.create_job(params).expect("created");
    let claimed = world.claim(&world.ready()[0].clone()).expect("claimed");
    (world, claimed.run_id, claimed.lease_token)
}

#[test]
fn workers_are_told_and_the_job_ends_when_the_last_has_settled() {
    type Settle = fn(&mut World, &RunId, u64) -> Vec<String>;
    let table: [(Settle, &[&str]); 4] = [
        (World::complete_run, &["job.item.completed i1 #1", "job.cancelled 2p 0r 1c 0f"]),
        (
            |world, run_id, token| world.fail_run(run_id, token, true),
            &["job.item.failed i1 #1 broken over", "job.cancelled 2p 0r 0c 1f"],
        ),
        (World::release_run, &["run.released", "job.cancelled 3p 0r 0c 0f"]),
        (World::lose, &["job.item.failed i1 #1 lost over", "job.cancelled 2p 0r 0c 1f"]),
    ];
    for (settle, expected) in table {
        let (mut world, run_id, token) = leased();
        assert_eq!(world.cancel_job("j1"), ["job.cancel_requested"]);
        assert_eq!((world.record("j1").status, world.ready()), (JobStatus::Cancelling, vec![]), "none left to claim");
        assert_eq!(world.cancel_job("j1"), Vec::<String>::new(), "said once");
        assert!(world.retry_item("j1", 3)[0].starts_with("refused precondition_failed"));
        assert_eq!(settle(&mut world, &run_id, token), expected);
        assert_eq!((world.timers(), world.table("lease").count()), (vec![], 0));
    }
}

#[test]
fn a_worker_that_does_not_settle_is_given_up() {
    let (mut world, run_id, token) = leased();
    world.cancel_job("j1");
    world.later(world.limits.job_settle_ms as i64);
    assert_eq!(world.fire_due(), ["job.item.failed i1 #1 interrupted over", "job.cancelled 2p 0r 0c 1f"]);
    assert!(world.complete_run(&run_id, token)[0].starts_with("refused precondition_failed"));
}

#[test]
fn a_job_that_takes_too_long_has_timed_out() {
    let mut world = World::idle();
    let params = json!({ "job_id": "j1", "items": items(2), "max_concurrency": 1, "max_runtime_ms": 50 });
    world.create_job(params).expect("created");
    world.later(50);
    let told = world.fire_due();
    assert_eq!(told, ["job.item.failed i1 #1 timeout over", "turn.failed", "job.failed timeout 1p 0r 0c 1f"]);
    assert_eq!(world.record("j1").status, JobStatus::TimedOut);
    world.retry_item("j1", 1);
    assert_eq!(world.timers()[0].due, at(100), "its time begins anew");
}
