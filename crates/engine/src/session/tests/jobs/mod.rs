//! Tests of jobs and schedules: tables of what each command writes, and a reference model that random histories are held to.

mod agents;
mod by_workers;
mod limits;
mod model;
mod random;
mod rows;
mod schedules;
mod stops;

use factum_model::commands::*;
use factum_model::events::JobCreated;
use factum_model::id::*;
use factum_model::job::*;
use factum_model::report::{Report, Runner, TurnReport};
use factum_model::value::Failure;
use factum_model::{Event, Fact, Refusal};
use serde_json::{Value, json};

use super::world::*;
use crate::session::jobs::*;
use crate::session::workers::{self, Claim};
use crate::session::{Timer, fire_timer, keys as session_keys};

impl World {
    pub(super) fn create_job(&mut self, params: Value) -> Result<Done<CreateJobResult>, Refusal> {
        let rows = self.task_rows(&params);
        let command: CreateJob = with_instruction(params);
        self.decide(|state, context| create_job(state, &id("s1"), "demo", &rows, &command, context))
    }

    fn create_job_told(&mut self, params: Value) -> Vec<String> {
        told(self.create_job(params))
    }

    fn cancel_job(&mut self, job: &str) -> Vec<String> {
        let command: CancelJob = serde_json::from_value(json!({ "job_id": job })).expect("params");
        told(self.decide(|state, context| cancel_job(state, &command, context)))
    }

    /// As the shell does it: from the rows and the log.
    pub(super) fn retry_item(&mut self, job: &str, number: u64) -> Vec<String> {
        let Some(row) = self.job_row(job) else { return vec!["no row".into()] };
        let created = self.created(row.created_sequence);
        let input = &created.items[number as usize - 1];
        let item = self.item(job, number).unwrap_or_else(|| never_begun(&row.record, input, number));
        let command = RetryJobItem {
            job_id: id(job),
            job_item_id: input.job_item_id.clone(),
            reason: None,
            idempotency_key: None,
        };
        let (record, created_sequence) = (&row.record, row.created_sequence);
        let rows = self.task_rows(&json!({ "task_id": record.task_id }));
        let ended = EndedItem { record, created_sequence, created: &created, input, item: &item };
        told(self.decide(|state, context| retry_job_item(state, &ended, &rows, &command, context)))
    }

    fn created(&self, sequence: u64) -> JobCreated {
        let bytes = self.log.iter().flatten().nth(sequence as usize - 1).expect("an event");
        match Event::decode(bytes).expect("events decode").fact {
            Fact::JobCreated(fact) => *fact,
            other => panic!("{} at {sequence}", other.type_name()),
        }
    }

    /// Ends the turn that does an item.
    pub(super) fn end_item(&mut self, job: &str, number: u64, error: Option<Failure>) -> Vec<String> {
        let item = self.item(job, number).expect("an item");
        let (thread_id, turn_id) = (item.thread_id.expect("a thread"), item.turn_id.expect("a turn"));
        let active = self.state.thread(&thread_id).and_then(|thread| thread.active.as_ref());
        let attempt = active.filter(|turn| turn.turn_id == turn_id).expect("its turn is at work").attempt;
        let outcome = match error {
            None => completed(),
            Some(error) => TurnReport::Failed { error },
        };
        let runner = Runner { thread_id, turn_id, attempt };
        let report = Report::TurnFinished { outcome };
        told(self.decide(|state, context| crate::session::decide_report(state, &runner, report, context)))
    }

    fn claim(&mut self, run_id: &RunId) -> Result<ClaimedRun, Refusal> {
        let claim = Claim { run_id, channel_id: &id("w1"), lease_ms: 1_000 };
        self.decide(|state, context| workers::claim_run(state, &claim, context)).map(|done| done.output)
    }

    fn complete_run(&mut self, run_id: &RunId, token: u64) -> Vec<String> {
        let params = json!({ "run_id": run_id, "lease_token": token, "summary": "done" });
        let command: CompleteRun = serde_json::from_value(params).expect("params");
        told(self.decide(|state, context| workers::complete_run(state, &command, context)))
    }

    fn fail_run(&mut self, run_id: &RunId, token: u64, retryable: bool) -> Vec<String> {
        let error = Failure { retryable, ..failure("broken") };
        let params = json!({ "run_id": run_id, "lease_token": token, "error": error, "checkpoint_refs": ["cp"] });
        let command: FailRun = serde_json::from_value(params).expect("params");
        told(self.decide(|state, context| workers::fail_run(state, &command, context)))
    }

    fn release_run(&mut self, run_id: &RunId, token: u64) -> Vec<String> {
        let params = json!({ "run_id": run_id, "lease_token": token });
        let command: ReleaseRun = serde_json::from_value(params).expect("params");
        told(self.decide(|state, context| workers::release_run(state, &command, context)))
    }

    fn lose(&mut self, run_id: &RunId, token: u64) -> Vec<String> {
        told(self.decide(|state, context| workers::expire_lease(state, run_id, token, context)))
    }

    /// Fires every timer that is due, until none is. Each has to change something, or its row would be due for ever.
    fn fire_due(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(timer) = self.timers().into_iter().find(|timer| timer.due <= self.now) {
            let done = self.decide(|state, context| fire_timer(state, &timer, context)).expect("timers fire");
            assert!(!done.events.is_empty(), "{timer:?} changes nothing");
            lines.extend(story(&done.events));
        }
        lines
    }

    fn timers(&self) -> Vec<Timer> {
        self.table("timer").filter_map(|(key, _)| session_keys::read_timer(key)).collect()
    }

    fn job_row(&self, job: &str) -> Option<JobRow> {
        let row = self.index.get(&keys::job(ACCOUNT, &id(job)))?;
        Some(serde_json::from_slice(row).expect("a job row"))
    }

    fn record(&self, job: &str) -> JobRecord {
        self.job_row(job).expect("a job").record
    }

    pub(super) fn item(&self, job: &str, number: u64) -> Option<JobItem> {
        let row = self.index.get(&keys::item(ACCOUNT, &id(job), number))?;
        Some(serde_json::from_slice(row).expect("an item row"))
    }

    /// Runs that wait for a worker, oldest first.
    fn ready(&self) -> Vec<RunId> {
        let read = |(key, _): (&Vec<u8>, &Vec<u8>)| workers::keys::read_ready(key).expect("a ready key").run_id;
        self.table("ready").map(read).collect()
    }

    fn table(&self, name: &str) -> impl Iterator<Item = (&Vec<u8>, &Vec<u8>)> {
        let (from, to) = ([name.as_bytes(), &[0]].concat(), [name.as_bytes(), &[1]].concat());
        self.index.range(from..to)
    }

    /// Counts of a job: pending, running, completed, failed. Those that are reported are the rest.
    fn counts(&self, job: &str) -> [u64; 4] {
        let JobCounts { total, pending, running, completed, failed, reported } = self.record(job).progress;
        assert_eq!(total, pending + running + completed + failed + reported);
        [pending, running, completed, failed]
    }

    fn report_result(&mut self, run_id: &RunId, token: u64) -> Vec<String> {
        let result = json!({ "summary": "found it", "output_refs": ["out:1"] });
        let params = json!({ "run_id": run_id, "lease_token": token, "result": result });
        let command: ReportRun = serde_json::from_value(params).expect("params");
        told(self.decide(|state, context| workers::report_run(state, &command, context)))
    }
}

fn with_instruction<T: serde::de::DeserializeOwned>(mut params: Value) -> T {
    if params.get("instruction").is_none() && params.get("instruction_ref").is_none() {
        params["instruction"] = json!("do it");
    }
    serde_json::from_value(params).expect("params")
}

/// Items `i1` to `in`.
fn items(count: usize) -> Value {
    (1..=count).map(|n| json!({ "job_item_id": format!("i{n}"), "arguments": { "n": n } })).collect()
}

fn told<T>(outcome: Result<Done<T>, Refusal>) -> Vec<String> {
    match outcome {
        Ok(done) => story(&done.events),
        Err(refusal) => refused(&refusal),
    }
}

/// The facts of jobs and schedules in a line each; of turns and threads only that they were.
fn story(events: &[Event]) -> Vec<String> {
    events.iter().map(line).collect()
}

fn line(event: &Event) -> String {
    let item = event.scope.job_item_id.as_ref().map_or("", JobItemId::as_str);
    let counts = |counts: &JobCounts| {
        let reported = if counts.reported > 0 { format!(" {}+", counts.reported) } else { String::new() };
        format!("{}p {}r {}c {}f{reported}", counts.pending, counts.running, counts.completed, counts.failed)
    };
    let about = match &event.fact {
        Fact::JobCreated(fact) => format!("{} items", fact.items.len()),
        Fact::JobProgress(fact) => counts(&fact.progress),
        Fact::JobItemQueued(fact) => format!("{item} #{}", fact.attempt_count),
        Fact::JobItemStarted(fact) => format!("{item} #{}", fact.attempt_count),
        Fact::JobItemReported(fact) => format!("{item} #{}", fact.attempt_count),
        Fact::JobItemCompleted(fact) => format!("{item} #{}", fact.attempt_count),
        Fact::JobItemFailed(fact) => {
            let next = match fact.status {
                JobItemStatus::Pending => "again",
                JobItemStatus::Reported => "reported",
                _ => "over",
            };
            format!("{item} #{} {} {next}", fact.attempt_count, fact.error.category)
        }
        Fact::JobItemRetrying(fact) => {
            format!("{item} after #{}{}", fact.attempt_count, if fact.reopened.is_some() { " reopens" } else { "" })
        }
        Fact::JobCompleted(fact) => counts(&fact.progress),
        Fact::JobFailed(fact) => format!("{} {}", fact.error.category, counts(&fact.progress)),
        Fact::JobCancelled(fact) => counts(&fact.progress),
        Fact::JobScheduleFired(fact) => {
            let made = if fact.job_id.is_some() { "job" } else { "none" };
            format!("{} {made} missed {}", fact.due_at, fact.missed)
        }
        _ => String::new(),
    };
    [event.fact.type_name(), &about].join(" ").trim_end().to_owned()
}
