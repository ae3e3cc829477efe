//! Batches and schedules: every item is done as often as it may be and not more, and no time of a schedule is forgotten.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::batches::{EVERY_MS, is_over};
use super::book::{Book, job_contradictions, text};
use super::found::Found;

pub(super) fn check(book: &Book, found: &Found, faults: &mut Vec<String>) {
    for created in book.of("create_job") {
        check_created(&created.params, found, faults);
    }
    for seen in found.jobs.values() {
        check_job(seen, found, faults);
    }
    for (job_id, seen) in &book.jobs_seen {
        match found.jobs.get(job_id) {
            Some(now) => faults.extend(job_contradictions(seen, now)),
            None => faults.push(format!("{job_id} was shown and is not there")),
        }
    }
    for retried in book.of("retry_job_item") {
        let again = events(found, text(&retried.params, "job_id"), &["job.item.retrying"]);
        let own = again.iter().filter(|event| event["sequence"].as_u64() <= retried.answer["sequence"].as_u64());
        let own = own.filter(|event| event["job_item_id"] == retried.params["job_item_id"] && was_over(event));
        if own.count() == 0 {
            faults.push(format!("the retry {} was acknowledged and is not in the log", retried.params));
        }
    }
    for schedule in &found.schedules {
        check_schedule(schedule, found, faults);
    }
}

/// A batch that was acknowledged is there with all its items.
fn check_created(params: &Value, found: &Found, faults: &mut Vec<String>) {
    let job_id = text(params, "job_id");
    let Some(seen) = found.jobs.get(job_id) else {
        faults.push(format!("{job_id} was acknowledged and is not there"));
        return;
    };
    let ids = |items: &Value| -> Vec<Value> {
        items.as_array().unwrap().iter().map(|item| item["job_item_id"].clone()).collect()
    };
    if ids(&params["items"]) != ids(&seen["items"]) || seen["job"]["queue"] != params["queue"] {
        faults.push(format!("{job_id} was asked for as {params} and is {seen}"));
    }
}

fn check_job(seen: &Value, found: &Found, faults: &mut Vec<String>) {
    let (job, items) = (&seen["job"], seen["items"].as_array().unwrap());
    let (job_id, status) = (text(job, "job_id"), text(job, "status"));
    if events(found, job_id, &["job.created"]).len() != 1 || !is_over(status) {
        faults.push(format!("{job_id} is {status} while nobody is there to work on it, or was created twice"));
    }
    let count = |status: &str| items.iter().filter(|item| item["status"] == status).count();
    let counts = json!({
        "total": items.len(), "pending": count("pending"), "running": 0, "completed": count("completed"),
        "failed": count("failed"), "reported": count("reported"),
    });
    if job["progress"] != counts {
        faults.push(format!("{job_id} counts {}, its items are {counts}", job["progress"]));
    }
    let allowed = job["max_item_attempts"].as_u64().unwrap();
    for item in items {
        check_item(job_id, item, allowed, found, faults);
    }
    let took = millis(&job["ended_at"]) - millis(&job["started_at"]);
    if let Some(limit) = job["max_runtime"].as_i64().filter(|limit| status == "timed_out" && took < *limit) {
        faults.push(format!("{job_id} timed out after {took} of {limit} ms"));
    }
}

fn check_item(job_id: &str, item: &Value, allowed: u64, found: &Found, faults: &mut Vec<String>) {
    let types = ["job.item.started", "job.item.completed", "job.item.failed", "job.item.retrying", "run.released"];
    let own: Vec<&Value> =
        events(found, job_id, &types).into_iter().filter(|event| event["job_item_id"] == item["job_item_id"]).collect();
    let count = |kind: &str| own.iter().filter(|event| event["type"] == kind).count() as u64;
    let (began, given_back, completed) =
        (count("job.item.started"), count("run.released"), count("job.item.completed"));
    let by_hand = own.iter().filter(|event| was_over(event)).count() as u64;
    let recovered = own.iter().filter(|event| event["payload"]["cause"] == "crash_recovery").count() as u64;
    let (status, attempts) = (text(item, "status"), item["attempt_count"].as_u64().unwrap());
    if attempts != began - given_back || attempts > allowed + by_hand + recovered {
        faults.push(format!("{job_id}: {item} had {attempts} attempts, {began} began, {given_back} were given back"));
    }
    let last = own.last().map_or("never begun", |event| text(event, "type"));
    let fits = match status {
        "completed" => completed == 1 && last == "job.item.completed",
        "failed" => completed == 0 && last == "job.item.failed",
        "reported" => completed == 0 && own.last().is_some_and(|event| event["payload"]["status"] == "reported"),
        "pending" => completed == 0 && last != "job.item.started",
        _ => false,
    };
    if !fits {
        faults.push(format!("{job_id}: {item}, and the log says {completed} times completed and last {last}"));
    }
}

/// Whether somebody took up an item again that had come to its end.
fn was_over(event: &Value) -> bool {
    ["failed", "reported"].iter().any(|was| event["payload"]["was"] == *was)
}

/// Between two firings there is a job, or a count, for every time that was due.
fn check_schedule(schedule: &Value, found: &Found, faults: &mut Vec<String>) {
    let (id, session_id) = (text(schedule, "schedule_id"), text(schedule, "session_id"));
    let own = |types| found.of(session_id, types).filter(|event| event["payload"]["schedule_id"] == id);
    let created: Vec<&Value> = own(&["job.scheduled"]).collect();
    assert_eq!(created.len(), 1, "{id} was made {} times", created.len());
    let (mut before, mut jobs, mut missed) = (millis(&created[0]["payload"]["next_at"]) - EVERY_MS as i64, 0, 0);
    let mut made = HashSet::new();
    for fired in own(&["job.schedule.fired"]) {
        let (payload, due) = (&fired["payload"], millis(&fired["payload"]["due_at"]));
        let job = payload["job_id"].as_str();
        if due > millis(&fired["timestamp"]) {
            faults.push(format!("{id} fired before its time: {fired}"));
        }
        if job.is_some_and(|job| {
            !made.insert(job) || found.jobs.get(job).is_none_or(|seen| seen["job"]["schedule_id"] != id)
        }) {
            faults.push(format!("{id}: the job of {fired} is not there, or was made twice"));
        }
        let accounted = i64::from(job.is_some()) + payload["missed"].as_i64().unwrap();
        if due - before != accounted * EVERY_MS as i64 {
            faults.push(format!("{id}: from {before} to {due} there were {accounted} times"));
        }
        (before, jobs, missed) = (due, jobs + i64::from(job.is_some()), missed + payload["missed"].as_i64().unwrap());
    }
    let of_it = found.jobs.values().filter(|seen| seen["job"]["schedule_id"] == id).count() as i64;
    if schedule["jobs_made"] != jobs || of_it != jobs || schedule["missed_total"] != missed {
        faults.push(format!("{id} made {jobs} jobs, {of_it} are there, {missed} times were missed: {schedule}"));
    }
}

fn events<'a>(found: &'a Found, job_id: &str, types: &'a [&'a str]) -> Vec<&'a Value> {
    let session_id = text(&found.jobs[job_id]["job"], "session_id");
    found.of(session_id, types).filter(|event| event["job_id"] == job_id).collect()
}

pub(super) fn millis(at: &Value) -> i64 {
    let at: jiff::Timestamp = at.as_str().unwrap_or_else(|| panic!("{at} is no time")).parse().unwrap();
    at.as_millisecond()
}
