//! Items that workers claim: leases, tokens, losing, giving back.

use serde_json::json;

use super::*;
use crate::session::tasks;
use crate::session::workers::holder;

fn queued(count: usize, attempts: u32) -> World {
    let mut world = World::idle();
    let params = json!({
        "job_id": "j1", "items": items(count), "max_concurrency": 2, "max_item_attempts": attempts,
        "queue": "render", "required_capabilities": ["gpu", "cuda"], "output_schema_ref": "schema:1",
    });
    world.create_job(params).expect("created");
    world
}

#[test]
fn items_wait_as_runs_and_a_claim_is_a_lease() {
    let mut world = queued(3, 1);
    let ready = world.ready();
    assert_eq!((ready.len(), world.counts("j1")), (2, [3, 0, 0, 0]));
    let key = world.table("ready").map(|(key, _)| workers::keys::read_ready(key).expect("a key")).next().expect("one");
    assert_eq!((key.queue.as_str(), key.capabilities), ("render", vec!["cuda".to_owned(), "gpu".to_owned()]));

    let claimed = world.claim(&ready[0]).expect("claimed");
    assert_eq!((claimed.objective.as_str(), claimed.arguments), ("do it", Some(json!({ "n": 1 }))));
    assert_eq!(claimed.output_schema_ref.as_deref(), Some("schema:1"));
    assert_eq!(claimed.lease_token, world.state.sequence, "the token is where the lease was given");
    assert_eq!((world.ready().len(), world.table("lease").count(), world.counts("j1")), (1, 1, [2, 1, 0, 0]));
    assert!(world.claim(&ready[0]).is_err(), "claimed once");

    let told = world.complete_run(&claimed.run_id, claimed.lease_token);
    assert_eq!(told, ["job.item.completed i1 #1", "job.item.queued i3 #1", "job.progress 2p 0r 1c 0f"]);
    assert_eq!((world.ready().len(), world.table("lease").count()), (2, 0));
    assert!(world.index.contains_key(&workers::keys::run(ACCOUNT, &claimed.run_id)), "found for late reports");
}

#[test]
fn only_the_holder_is_heard() {
    let mut world = queued(1, 1);
    let run_id = world.ready()[0].clone();
    let late = "refused precondition_failed: this run is not held with this token; \
                its lease ended and the work may be another's now";
    assert_eq!(world.complete_run(&run_id, 1), [late], "nobody holds it");
    let claimed = world.claim(&run_id).expect("claimed");
    assert_eq!(world.complete_run(&run_id, claimed.lease_token + 1), [late]);
    assert_eq!(world.fail_run(&run_id, claimed.lease_token - 1, true), [late]);
    world.complete_run(&run_id, claimed.lease_token);
    assert_eq!(world.complete_run(&run_id, claimed.lease_token), [late], "it is over");
}

#[test]
fn a_lost_worker_costs_an_attempt_and_is_followed_only_where_that_was_allowed() {
    for (attempts, expected) in [(1, "job.item.failed i1 #1 lost over"), (2, "job.item.failed i1 #1 lost again")] {
        let mut world = queued(1, attempts);
        let claimed = world.claim(&world.ready()[0].clone()).expect("claimed");
        assert_eq!(world.lose(&claimed.run_id, claimed.lease_token + 1), Vec::<String>::new(), "another lease");
        assert_eq!(world.lose(&claimed.run_id, claimed.lease_token)[0], expected);
        assert_eq!(world.table("lease").count(), 0);
        assert!(world.complete_run(&claimed.run_id, claimed.lease_token)[0].starts_with("refused"), "too late");
        if attempts == 2 {
            world.later(1_000);
            assert_eq!(world.fire_due(), ["job.item.retrying i1 after #1", "job.item.queued i1 #2"]);
            let again = world.claim(&world.ready()[0].clone()).expect("claimed");
            assert_eq!((again.attempt_count, again.run_id == claimed.run_id), (2, false));
            assert!(again.lease_token > claimed.lease_token, "tokens rise");
        }
    }
}

#[test]
fn a_failed_attempt_tells_the_next_one_where_to_go_on() {
    let mut world = queued(1, 2);
    let claimed = world.claim(&world.ready()[0].clone()).expect("claimed");
    world.fail_run(&claimed.run_id, claimed.lease_token, true);
    world.later(1_000);
    world.fire_due();
    let again = world.claim(&world.ready()[0].clone()).expect("claimed");
    assert_eq!(again.checkpoint_refs, ["cp"]);
}

#[test]
fn what_is_given_back_was_no_attempt() {
    let mut world = queued(1, 1);
    let claimed = world.claim(&world.ready()[0].clone()).expect("claimed");
    assert_eq!(world.release_run(&claimed.run_id, claimed.lease_token), ["run.released", "job.item.queued i1 #1"]);
    assert_eq!((world.counts("j1"), world.item("j1", 1).expect("a row").attempt_count), ([1, 0, 0, 0], 0));
    let again = world.claim(&world.ready()[0].clone()).expect("claimed");
    assert_eq!(again.attempt_count, 1);
}

#[test]
fn a_report_is_recorded_whole_or_not_at_all() {
    let mut world = queued(1, 1);
    let claimed = world.claim(&world.ready()[0].clone()).expect("claimed");
    let mut report = |facts: Value| {
        let params = json!({
            "run_id": claimed.run_id, "lease_token": claimed.lease_token,
            "progress": { "percent": 40, "current_step": "rendering" }, "facts": facts,
        });
        let command: ReportRun = serde_json::from_value(params).expect("params");
        told(world.decide(|state, context| workers::report_run(state, &command, context)))
    };
    let status = json!({ "type": "run.status", "payload": { "phase": "verifying", "title": "Looking" } });
    assert_eq!(report(json!([status])), ["run.status", "run.status"]);
    let foreign = json!({ "type": "turn.completed", "payload": {} });
    assert_eq!(
        report(json!([status, foreign])),
        ["refused invalid_params: a worker reports run.status, model.*, reasoning.*, tool.*, artifact.* and output.*"]
    );
    let torn = json!({ "type": "tool.started", "payload": {} });
    assert!(report(json!([torn]))[0].starts_with("refused invalid_params: tool.started does not fit"));
}

#[test]
fn a_result_is_reported_and_then_handed_in() {
    let mut world = queued(2, 1);
    let claimed = world.claim(&world.ready()[0].clone()).expect("claimed");
    let (run_id, token) = (&claimed.run_id, claimed.lease_token);
    let reported = world.report_result(run_id, token);
    assert_eq!(reported, ["job.item.reported i1 #1", "job.progress 1p 0r 0c 0f 1+"]);
    assert_eq!((world.counts("j1"), world.record("j1").progress.reported), ([1, 0, 0, 0], 1));
    let item = world.item("j1", 1).expect("a row");
    assert_eq!((item.status, item.summary.as_deref()), (JobItemStatus::Reported, Some("found it")));
    assert_eq!((item.output_refs, world.table("lease").count()), (vec!["out:1".to_owned()], 1), "it is still held");
    assert!(world.retry_item("j1", 1)[0].starts_with("refused precondition_failed"), "it is at work");
    assert_eq!(world.report_result(run_id, token), ["job.item.reported i1 #1"], "it may say more");
    assert_eq!(world.record("j1").progress.reported, 1);

    let params = json!({ "run_id": run_id, "lease_token": token });
    let command: CompleteRun = serde_json::from_value(params).expect("params");
    let told = told(world.decide(|state, context| workers::complete_run(state, &command, context)));
    assert_eq!(told, ["job.item.completed i1 #1"]);
    let item = world.item("j1", 1).expect("a row");
    assert_eq!(
        (item.status, item.summary.as_deref()),
        (JobItemStatus::Completed, Some("found it")),
        "as it was reported"
    );
    assert_eq!((world.counts("j1"), world.record("j1").progress.reported), ([1, 0, 1, 0], 0));
}

#[test]
fn what_the_worker_says_last_counts_more_than_its_report() {
    for (attempts, expected) in [(1, "job.item.failed i1 #1 broken over"), (2, "job.item.failed i1 #1 broken again")] {
        let mut world = queued(1, attempts);
        let claimed = world.claim(&world.ready()[0].clone()).expect("claimed");
        world.report_result(&claimed.run_id, claimed.lease_token);
        assert_eq!(world.fail_run(&claimed.run_id, claimed.lease_token, true)[0], expected);
        assert_eq!(world.record("j1").progress.reported, 0);
    }
    let mut world = queued(1, 1);
    let claimed = world.claim(&world.ready()[0].clone()).expect("claimed");
    world.report_result(&claimed.run_id, claimed.lease_token);
    world.release_run(&claimed.run_id, claimed.lease_token);
    assert_eq!((world.counts("j1"), world.item("j1", 1).expect("a row").summary), ([1, 0, 0, 0], None));
}

#[test]
fn a_worker_that_vanishes_behind_its_report_leaves_the_item_reported() {
    let mut world = queued(2, 2);
    let claimed = world.claim(&world.ready()[0].clone()).expect("claimed");
    world.report_result(&claimed.run_id, claimed.lease_token);
    assert_eq!(world.lose(&claimed.run_id, claimed.lease_token), ["job.item.failed i1 #1 lost reported"]);
    let item = world.item("j1", 1).expect("a row");
    assert_eq!((item.status, item.summary.as_deref()), (JobItemStatus::Reported, Some("found it")));
    assert_eq!((item.output_refs, item.retryable), (vec!["out:1".to_owned()], true));

    let other = world.claim(&world.ready()[0].clone()).expect("claimed");
    world.report_result(&other.run_id, other.lease_token);
    let told = world.lose(&other.run_id, other.lease_token);
    assert_eq!(told, ["job.item.failed i2 #1 lost reported", "job.failed items_failed 0p 0r 0c 0f 2+"]);
    let error = world.record("j1").last_error.expect("an error").message;
    assert!(error.contains("2 reported a result that was never handed in"), "success is not inferred: {error}");

    let told = world.retry_item("j1", 1);
    assert_eq!(told, ["job.item.retrying i1 after #1 reopens", "job.started", "job.item.queued i1 #2"]);
    assert_eq!((world.counts("j1"), world.record("j1").progress.reported), ([1, 0, 0, 0], 1));
}

#[test]
fn a_job_that_is_stopped_keeps_what_was_reported() {
    let mut world = queued(2, 1);
    for run_id in world.ready() {
        let claimed = world.claim(&run_id).expect("claimed");
        if claimed.job_item_id == Some(id("i1")) {
            world.report_result(&run_id, claimed.lease_token);
        }
    }
    world.cancel_job("j1");
    world.later(world.limits.job_settle_ms as i64);
    let cut_off = ["job.item.failed i1 #1 interrupted reported", "job.item.failed i2 #1 interrupted over"];
    assert_eq!(world.fire_due(), [cut_off[0], cut_off[1], "job.cancelled 0p 0r 0c 1f 1+"]);
}

#[test]
fn the_holder_is_known_to_a_heartbeat() {
    let mut world = queued(1, 1);
    let run_id = world.ready()[0].clone();
    assert!(holder(&world.state, &run_id).is_none());
    let claimed = world.claim(&run_id).expect("claimed");
    let held = holder(&world.state, &run_id).expect("held");
    assert_eq!((held.lease.token, held.worker.as_str()), (claimed.lease_token, CALLER));
    assert_eq!((held.cancel_requested, held.paused), (false, false));
    world.cancel_job("j1");
    assert!(holder(&world.state, &run_id).expect("held").cancel_requested);
}

/// The runs of a job's items are not those of its task, although their facts name it.
#[test]
fn an_item_that_is_given_back_is_not_its_task() {
    let mut world = World::idle();
    let params = json!({ "task_id": "k", "objective": "do it", "status": "queued", "queue": "k" });
    let command: CreateTask = serde_json::from_value(params).expect("params");
    world
        .decide(|state, context| tasks::create_task(state, &id("s1"), "demo", &[], &command, context))
        .expect("created");
    let of_task = world.claim(&world.ready()[0].clone()).expect("claimed");
    world.create_job(json!({ "job_id": "j1", "task_id": "k", "queue": "render" })).expect("created");
    let of_item = world.claim(&world.ready()[0].clone()).expect("claimed");
    world.release_run(&of_item.run_id, of_item.lease_token);
    let held = holder(&world.state, &of_task.run_id).expect("the task's own run is held");
    assert_eq!(held.lease.token, of_task.lease_token);
}
