//! Rows: lists newest first, and a state that does not grow with what has ended.

use factum_model::value::Failure;
use serde_json::json;

use super::*;

#[test]
fn lists_are_newest_first() {
    let mut world = World::idle();
    for job in ["j1", "j2", "j3"] {
        world.later(1);
        world.create_job(json!({ "job_id": job })).expect("created");
    }
    for table in ["jobs", "jobs_in"] {
        let lines = world.table(table).map(|(_, row)| serde_json::from_slice::<JobLine>(row).expect("a line").job_id);
        assert_eq!(lines.collect::<Vec<_>>(), [id::<JobId>("j3"), id("j2"), id("j1")]);
    }
}

#[test]
fn what_is_made_in_one_instant_is_in_order_too() {
    let mut world = World::idle();
    let names: Vec<String> = (0..9).map(|number| format!("job_{}", 9 - number)).collect();
    for name in &names {
        world.create_job(json!({ "job_id": name, "items": items(3), "queue": "q" })).expect("created");
    }
    let lines = world.table("jobs").map(|(_, row)| serde_json::from_slice::<JobLine>(row).expect("a line").job_id);
    assert!(lines.map(|job_id| job_id.to_string()).eq(names.iter().rev().cloned()), "the newest job first");
    let handed =
        |event: &Event| matches!(event.fact, Fact::JobItemQueued(_)).then(|| event.scope.run_id.clone()).flatten();
    let log = world.log.iter().flatten().map(|bytes| Event::decode(bytes).expect("events decode"));
    let handed: Vec<_> = log.filter_map(|event| handed(&event)).collect();
    assert_eq!((world.ready(), handed.len()), (handed.clone(), 27), "the oldest run first");
}

#[test]
fn jobs_that_ended_leave_the_state() {
    let mut world = World::idle();
    world.create_job(json!({ "items": items(1) })).expect("created");
    let before = serde_json::to_vec(&world.state).expect("a state serializes").len();
    for n in 0..30 {
        let job = format!("j{n}");
        world.create_job(json!({ "job_id": job, "items": items(20), "queue": "q" })).expect("created");
        while let Some(run_id) = world.ready().first().cloned() {
            let token = world.claim(&run_id).expect("claimed").lease_token;
            match n % 2 {
                0 => world.complete_run(&run_id, token),
                _ => world.fail_run(&run_id, token, false),
            };
        }
        assert!(world.record(&job).status.is_terminal());
    }
    let after = serde_json::to_vec(&world.state).expect("a state serializes").len();
    assert!(after < before + 2_000, "{before} bytes became {after}");
    assert_eq!(world.table("job_item").count(), 601);
}

#[test]
fn a_job_gets_smaller_as_it_goes_on() {
    let mut world = World::idle();
    world.create_job(json!({ "job_id": "j1", "items": items(2_000), "max_concurrency": 1 })).expect("created");
    let full = serde_json::to_vec(&world.state.jobs).expect("a state serializes").len();
    for number in 1..=1_000 {
        world.end_item("j1", number, Some(Failure { message: "x".repeat(500), ..failure("refused") }));
    }
    let half = serde_json::to_vec(&world.state.jobs).expect("a state serializes").len();
    assert!(half < full * 6 / 10, "{full} bytes became {half}");
}

#[test]
fn a_glance_shows_the_newest_and_where_agents_work() {
    let mut world = World::idle();
    for job in ["j1", "j2", "j3"] {
        world.create_job(json!({ "job_id": job, "items": items(2) })).expect("created");
    }
    let shell = world.state.shell.clone().expect("a session");
    let (records, total, threads) = world.state.jobs.summary(&shell, 2);
    let ids: Vec<&str> = records.iter().map(|record| record.job_id.as_str()).collect();
    assert_eq!((ids, total, threads.len()), (vec!["j3", "j2"], 3, 6));
}
