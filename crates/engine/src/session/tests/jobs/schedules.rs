//! Schedules: when they fire, what they make of times that passed, and when they end.

use factum_model::commands::{CreateSchedule, EndSchedule};
use serde_json::json;

use super::*;

/// The clock of the tests begins at 2027-01-15T08:00:00Z.
const MINUTE: i64 = 60_000;

impl World {
    fn schedule(&mut self, params: Value) -> Vec<String> {
        let mut params = params;
        params["schedule_id"] = json!("sc");
        if params.get("job").is_none() {
            params["job"] = json!({ "instruction": "sweep", "queue": "q" });
        }
        let command: CreateSchedule = serde_json::from_value(params).expect("params");
        told(self.decide(|state, context| create_schedule(state, &id("s1"), "demo", &command, context)))
    }

    fn end_schedule(&mut self) -> Vec<String> {
        let command: EndSchedule = serde_json::from_value(json!({ "schedule_id": "sc" })).expect("params");
        told(self.decide(|state, context| end_schedule(state, &command, context)))
    }

    fn schedule_row(&self) -> ScheduleRecord {
        serde_json::from_slice(&self.index[&keys::schedule(ACCOUNT, &id("sc"))]).expect("a row")
    }

    /// What fires after some minutes, without the facts of the jobs themselves.
    fn fired_after(&mut self, minutes: i64) -> Vec<String> {
        self.later(minutes * MINUTE);
        let lines = self.fire_due();
        lines.into_iter().filter(|line| line.starts_with("job.schedule")).collect()
    }
}

#[test]
fn a_schedule_makes_a_job_and_sets_its_next_time_in_one_commit() {
    let mut world = World::idle();
    assert_eq!(world.schedule(json!({ "cron": "*/15 * * * *" })), ["job.scheduled"]);
    assert_eq!(world.schedule_row().next_at, Some(at(0)), "a time that is now counts");
    let told = world.fire_due();
    let fired = "job.schedule.fired 2027-01-15T08:00:00Z job missed 0";
    assert_eq!(told[..3], [fired, "job.created 1 items", "job.started"]);
    let record = world.schedule_row();
    assert_eq!((record.next_at, record.jobs_made), (Some(at(15 * MINUTE)), 1));
    let job = world.record(record.last_job_id.expect("a job").as_str());
    assert_eq!((job.schedule_id, job.requested_by.as_str()), (Some(id("sc")), CALLER));
    assert_eq!(world.fired_after(14), Vec::<String>::new());
    assert_eq!(world.fired_after(1), ["job.schedule.fired 2027-01-15T08:15:00Z job missed 0"]);
}

#[test]
fn what_becomes_of_times_that_passed() {
    let fired = |minute: &str, what: &str, missed: u64| {
        format!("job.schedule.fired 2027-01-15T08:{minute}:00Z {what} missed {missed}")
    };
    // An hour and a half later, 08:00 to 09:30 have passed for a schedule of every half an hour.
    let table: [(&str, Vec<String>); 3] = [
        ("once", vec!["job.schedule.fired 2027-01-15T09:30:00Z job missed 3".to_owned()]),
        ("skip", vec!["job.schedule.fired 2027-01-15T09:30:00Z none missed 4".to_owned()]),
        (
            "all",
            vec![
                fired("30", "job", 1),
                "job.schedule.fired 2027-01-15T09:00:00Z job missed 0".to_owned(),
                "job.schedule.fired 2027-01-15T09:30:00Z job missed 0".to_owned(),
            ],
        ),
    ];
    for times in [json!({ "cron": "*/30 * * * *" }), json!({ "every_ms": 30 * MINUTE })] {
        for (missed, expected) in &table {
            let mut world = World::idle();
            world.limits.schedule_catch_up_max = 3;
            let mut params = times.clone();
            params["missed"] = json!(missed);
            world.schedule(params);
            assert_eq!(world.fired_after(92), *expected, "{missed} {times}");
            assert_eq!(world.schedule_row().next_at, Some(at(120 * MINUTE)), "{missed}");
        }
    }
}

#[test]
fn a_very_long_absence_is_made_up_for_once_and_counted_as_far_as_that_is_cheap() {
    for (times, at_most) in [(json!({ "cron": "* * * * *" }), 10_000), (json!({ "every_ms": MINUTE }), 14_400)] {
        let mut world = World::idle();
        world.schedule(times);
        let told = world.fired_after(14_400);
        assert_eq!(told.len(), 1, "{told:?}");
        let record = world.schedule_row();
        assert_eq!(record.next_at, Some(at(14_401 * MINUTE)));
        assert_eq!((record.jobs_made, record.missed_total), (1, at_most - u64::from(at_most == 10_000)));
    }
}

#[test]
fn a_little_late_is_on_time() {
    let mut world = World::idle();
    world.schedule(json!({ "every_ms": 30 * MINUTE, "missed": "skip", "start_at": at(30 * MINUTE) }));
    assert_eq!(world.fired_after(31), ["job.schedule.fired 2027-01-15T08:30:00Z job missed 0"]);
}

#[test]
fn a_job_that_is_still_at_work_can_keep_the_next_one_away() {
    for (overlap, expected) in [("allow", "job"), ("skip", "none")] {
        let mut world = World::idle();
        world.schedule(json!({ "every_ms": MINUTE, "overlap": overlap }));
        world.fire_due();
        let missed = u64::from(expected == "none");
        assert_eq!(
            world.fired_after(1),
            [format!("job.schedule.fired 2027-01-15T08:01:00Z {expected} missed {missed}")]
        );
        let run_id = world.ready()[0].clone();
        let token = world.claim(&run_id).expect("claimed").lease_token;
        world.complete_run(&run_id, token);
        if overlap == "skip" {
            assert_eq!(world.fired_after(1), ["job.schedule.fired 2027-01-15T08:02:00Z job missed 0"]);
        }
    }
}

#[test]
fn a_job_that_cannot_be_made_is_said_and_the_schedule_goes_on() {
    let mut world = World::idle();
    world.limits.jobs_open_max = 1;
    world.schedule(json!({ "every_ms": MINUTE }));
    world.fire_due();
    assert_eq!(world.fired_after(1), ["job.schedule.fired 2027-01-15T08:01:00Z none missed 1"]);
    let record = world.schedule_row();
    assert_eq!((record.jobs_made, record.missed_total, record.next_at), (1, 1, Some(at(2 * MINUTE))));
}

#[test]
fn a_schedule_ends_by_itself_or_by_hand_and_its_jobs_go_on() {
    let mut world = World::idle();
    world.schedule(json!({ "every_ms": MINUTE, "end_at": at(MINUTE) }));
    world.fire_due();
    let told = world.fired_after(1);
    assert_eq!(told, ["job.schedule.fired 2027-01-15T08:01:00Z job missed 0", "job.schedule.ended"]);
    assert_eq!((world.timers(), world.schedule_row().ended_at), (vec![], Some(world.now)));

    let mut world = World::idle();
    world.schedule(json!({ "every_ms": MINUTE }));
    world.fire_due();
    assert_eq!(world.end_schedule(), ["job.schedule.ended"]);
    assert_eq!(world.end_schedule(), ["refused not_found: not found"]);
    assert_eq!((world.fired_after(5), world.ready().len()), (vec![], 1));
}

#[test]
fn what_is_refused() {
    let table = [
        (json!({}), "invalid_params: a schedule has either cron or every_ms"),
        (json!({ "cron": "* * * * *", "every_ms": 5_000 }), "invalid_params: a schedule has either cron or every_ms"),
        (json!({ "every_ms": 999 }), "invalid_params: every_ms must be at least schedule_interval_ms_min, 1000"),
        (json!({ "cron": "0 0 30 2 *" }), "invalid_params: the schedule never comes"),
        (json!({ "cron": "61 * * * *" }), "invalid_params: cron: \"61\" is not a minute"),
        (json!({ "cron": "* * * *" }), "invalid_params: cron has five fields"),
        (json!({ "cron": "* * * * *", "time_zone": "Mars/Olympus" }), "invalid_params: there is no time zone"),
        (json!({ "every_ms": 5_000, "end_at": at(-1) }), "invalid_params: the schedule never comes"),
        (json!({ "every_ms": 5_000, "job": { "instruction": "" } }), "invalid_params: a job needs an instruction"),
        (
            json!({ "every_ms": 5_000, "job": { "instruction": "x".repeat(70_000) } }),
            "limit_exceeded: schedule_bytes is",
        ),
    ];
    for (params, expected) in table {
        let told = World::idle().schedule(params.clone());
        assert!(told[0].starts_with(&format!("refused {expected}")), "{params}: {told:?}");
    }
    let mut world = World::idle();
    world.limits.schedules_max = 0;
    assert_eq!(
        world.schedule(json!({ "every_ms": 5_000 })),
        ["refused limit_exceeded: schedules is 1, the limit is 0"]
    );
}
