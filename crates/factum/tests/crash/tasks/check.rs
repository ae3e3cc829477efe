//! What everybody was told, held against the log and the records as they are in the end.

use std::collections::{HashMap, HashSet};

use factum_testkit::{Client, Server};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use super::book::{Book, attempts, contradictions, is_open, text};
use super::check_jobs::millis;
use super::found::Found;
use super::{check_family, check_jobs};

/// How many acknowledged calls are made again in the end.
const REPEATS: usize = 200;

pub(super) fn check(book: &Book, found: &Found, seed: u64) {
    let mut faults = book.faults.clone();
    check_streams(found, &mut faults);
    let runs = Runs::of(found, &mut faults);
    check_created(book, found, &mut faults);
    check_claims(book, &runs, &mut faults);
    check_ends(book, &runs, &mut faults);
    check_decisions(book, found, &mut faults);
    check_jobs::check(book, found, &mut faults);
    check_family::check(book, found, &mut faults);
    for record in found.tasks.values() {
        check_record(record, found, &runs, &mut faults);
        check_timed(record, &mut faults);
    }
    for seen in book.seen.values() {
        match found.tasks.get(text(seen, "task_id")) {
            Some(record) => faults.extend(contradictions(seen, record)),
            None => faults.push(format!("{} was shown and is not there", seen["task_id"])),
        }
    }
    let (first, count) = (&faults[..faults.len().min(10)], faults.len());
    assert!(faults.is_empty(), "seed {seed}: {count} faults, the first: {first:#?}");
    say_what_was_tried(book, found);
}

/// A test that tried nothing has shown nothing.
fn say_what_was_tried(book: &Book, found: &Found) {
    let count = |kind: &str| found.events.values().flatten().filter(|event| event["type"] == kind).count();
    let often = [
        "task.created",
        "task.delegated",
        "task.attempt.completed",
        "task.attempt.failed",
        "task.retrying",
        "task.timed_out",
        "job.created",
        "job.item.completed",
        "job.schedule.fired",
        "subagent.spawned",
        "subagent.closed",
    ];
    let seldom = [
        "task.completed",
        "run.released",
        "task.lost",
        "task.cancelled",
        "runtime.warning",
        "job.item.failed",
        "job.item.retrying",
        "job.cancelled",
        "job.failed",
        "subagent.status",
        "subagent.input",
    ];
    let counted = |kinds: &[&'static str]| kinds.iter().map(|kind| (*kind, count(kind))).collect::<Vec<_>>();
    let (often, seldom) = (counted(&often), counted(&seldom));
    let (answers, late) = (book.answers.len(), book.refused.len());
    eprintln!("{answers} answers, {} calls unanswered, {late} ends too late", book.unanswered);
    eprintln!("{often:?}, {seldom:?}");
    assert!(book.unanswered > 0 && often.iter().all(|(_, count)| *count > 0), "too little was tried");
}

fn check_streams(found: &Found, faults: &mut Vec<String>) {
    let mut ids = HashSet::new();
    for (session_id, events) in &found.events {
        for (event, expected) in events.iter().zip(1_u64..) {
            if event["sequence"] != expected {
                faults.push(format!("{session_id}: {} is stored where {expected} belongs", event["sequence"]));
            }
            if !ids.insert(text(event, "event_id")) {
                faults.push(format!("{session_id}: {} is stored twice", event["event_id"]));
            }
        }
    }
}

/// Every task that an owner was told of is there as it was asked for, with its place in the graph.
fn check_created(book: &Book, found: &Found, faults: &mut Vec<String>) {
    for created in book.of("create_task") {
        let (params, task_id) = (&created.params, text(&created.params, "task_id"));
        let Some(record) = found.tasks.get(task_id) else {
            faults.push(format!("{task_id} was acknowledged and is not there"));
            continue;
        };
        for name in ["session_id", "objective", "parent_task_id", "queue"] {
            if record[name] != params[name] {
                faults.push(format!("{task_id}: {name} was {} and is {}", params[name], record[name]));
            }
        }
        for blocker in params["blocked_by"].as_array().into_iter().flatten() {
            let held = |id: &str| has_edge(&found.tasks[id], blocker, "blocks", &params["task_id"]);
            if !held(task_id) || !held(blocker.as_str().unwrap()) {
                faults.push(format!("{task_id}: the edge from {blocker} is gone"));
            }
        }
        if let Some(parent) = params["parent_task_id"].as_str()
            && !has_edge(&found.tasks[parent], &params["parent_task_id"], "parent", &params["task_id"])
        {
            faults.push(format!("{task_id}: the edge to its parent {parent} is gone"));
        }
    }
    for linked in book.of("link_tasks").map(|answer| &answer.params) {
        let record = &found.tasks[text(linked, "from")];
        if !has_edge(record, &linked["from"], text(linked, "relationship"), &linked["to"]) {
            faults.push(format!("the edge {linked} is gone"));
        }
    }
}

fn has_edge(record: &Value, from: &Value, relationship: &str, to: &Value) -> bool {
    let edges = record["relationships"].as_array().unwrap();
    edges.iter().any(|edge| {
        edge["from"] == *from
            && edge["to"] == *to
            && edge["relationship"] == relationship
            && edge["status"] != "removed"
    })
}

/// What the log says of each run.
#[derive(Default)]
struct Run<'a> {
    started: Vec<&'a Value>,
    delegated: Vec<&'a Value>,
    released: Vec<&'a Value>,
    /// How it came out.
    ended: Vec<&'a Value>,
}

struct Runs<'a>(HashMap<&'a str, Run<'a>>);

impl<'a> Runs<'a> {
    /// Each begins once, ends at most once, and is held by one worker at a time: until it was given back.
    fn of(found: &'a Found, faults: &mut Vec<String>) -> Self {
        let mut runs: HashMap<&str, Run<'a>> = HashMap::new();
        for event in found.events.values().flatten() {
            let Some(run_id) = event["run_id"].as_str() else { continue };
            let run = runs.entry(run_id).or_default();
            let free = run.delegated.len() == run.released.len() && run.ended.is_empty();
            match event["type"].as_str().unwrap() {
                "task.attempt.started" | "job.item.queued" => run.started.push(event),
                // An agent's item is never offered to anybody.
                "job.item.started" if event["payload"]["lease"].is_null() => run.started.push(event),
                "task.delegated" | "job.item.started" if !free => {
                    faults.push(format!("{run_id} was given away twice: {event}"));
                }
                "task.delegated" | "job.item.started" => run.delegated.push(event),
                "run.released" => run.released.push(event),
                "task.attempt.completed" | "task.attempt.failed" | "job.item.completed" | "job.item.failed" => {
                    run.ended.push(event);
                }
                _ => {}
            }
        }
        for (run_id, run) in &runs {
            if run.started.len() != 1 || run.ended.len() > 1 {
                faults.push(format!("{run_id} began {} and ended {} times", run.started.len(), run.ended.len()));
            }
            let tokens: Vec<u64> = run.delegated.iter().map(|event| token(event)).collect();
            if !tokens.is_sorted_by(|a, b| a < b) {
                faults.push(format!("{run_id}: tokens do not rise: {tokens:?}"));
            }
        }
        Self(runs)
    }
}

fn token(delegated: &Value) -> u64 {
    delegated["payload"]["lease"]["token"].as_u64().unwrap_or_else(|| panic!("{delegated}"))
}

/// Every claim that a worker was told of is in the log, and nobody else was told of the same.
fn check_claims(book: &Book, runs: &Runs<'_>, faults: &mut Vec<String>) {
    let mut told: HashMap<(&str, u64), &str> = HashMap::new();
    for claim in book.of("claim_runs") {
        for run in claim.answer["runs"].as_array().unwrap() {
            let (run_id, lease_token) = (text(run, "run_id"), run["lease_token"].as_u64().unwrap());
            let key = text(&claim.params, "idempotency_key");
            if let Some(other) = told.insert((run_id, lease_token), key) {
                faults.push(format!("{run_id} with token {lease_token} was given to {other} and {key}"));
            }
            let given = runs.0.get(run_id).into_iter().flat_map(|run| &run.delegated);
            let given: Vec<&&Value> = given.filter(|event| token(event) == lease_token).collect();
            let to = |event: &Value| {
                let payload = &event["payload"];
                [&payload["delegate_ref"], &payload["worker"]].contains(&&json!(claim.principal))
            };
            if given.len() != 1 || !to(given[0]) {
                faults.push(format!("{key} was given {run_id} with token {lease_token}, and the log says {given:?}"));
            }
        }
    }
}

/// What workers were told about the ends of runs is so, and what was refused left no trace.
fn check_ends(book: &Book, runs: &Runs<'_>, faults: &mut Vec<String>) {
    for (method, kind, mark) in [
        ("complete_run", ["task.attempt.completed", "job.item.completed"], &["/completion_summary", "/summary"][..]),
        ("fail_run", ["task.attempt.failed", "job.item.failed"], &["/error/message"]),
        ("release_run", ["run.released"; 2], &["/reason"]),
    ] {
        for end in book.of(method) {
            let run_id = text(&end.params, "run_id");
            let said = format!("{run_id} {}", end.params["lease_token"]);
            let run = &runs.0[run_id];
            // Giving back a run of a task that is being cancelled ends it, without the worker's words.
            let cancelled = |event: &&Value| event["payload"]["error"]["category"] == "cancelled";
            let settled = method == "release_run" && run.ended.iter().any(cancelled);
            let ends = run.ended.iter().chain(&run.released);
            let of_kind = ends.filter(|event| kind.contains(&event["type"].as_str().unwrap()));
            let says = |event: &&&Value| mark.iter().any(|mark| event["payload"].pointer(mark) == Some(&json!(said)));
            let own = of_kind.filter(says).count();
            if own != 1 && !settled {
                faults.push(format!("{method} of {said} was acknowledged and is in the log {own} times"));
            }
        }
    }
    let ends = runs.0.values().flat_map(|run| run.ended.iter().chain(&run.released));
    let marks: HashSet<&str> = ends.flat_map(|event| marks_of(&event["payload"])).collect();
    for refused in book.refused.iter().filter(|refused| marks.contains(refused.as_str())) {
        faults.push(format!("the end of {refused} was refused and is in the log"));
    }
}

fn marks_of(payload: &Value) -> impl Iterator<Item = &str> {
    ["/completion_summary", "/summary", "/error/message", "/reason"]
        .into_iter()
        .filter_map(|at| payload.pointer(at)?.as_str())
}

/// What owners decided holds: completed stays completed, and what was cancelled has ended with all below it.
fn check_decisions(book: &Book, found: &Found, faults: &mut Vec<String>) {
    for completed in book.of("complete_task") {
        let record = &found.tasks[text(&completed.params, "task_id")];
        if record["status"] != "completed" {
            faults.push(format!("{} was completed and is {}", record["task_id"], record["status"]));
        }
    }
    for retried in book.of("retry_task") {
        let record = &found.tasks[text(&retried.params, "task_id")];
        let count = retried.answer["attempt_count"].as_u64().unwrap() as usize;
        if attempts(record).get(count - 1).is_none_or(|attempt| attempt["run_id"] != retried.answer["run_id"]) {
            faults.push(format!("{}: attempt {count} is not {}", record["task_id"], retried.answer["run_id"]));
        }
    }
    for cancelled in book.of("cancel_task") {
        let root = &cancelled.params["task_id"];
        for record in found.tasks.values().filter(|record| record["root_task_id"] == *root) {
            let status = text(record, "status");
            if !["cancelled", "completed", "failed", "timed_out"].contains(&status) {
                faults.push(format!("{} is {status} below {root}, which was cancelled", record["task_id"]));
            }
        }
    }
}

/// What holds of every task, whoever was told of it.
fn check_record(record: &Value, found: &Found, runs: &Runs<'_>, faults: &mut Vec<String>) {
    let (task_id, status) = (text(record, "task_id"), text(record, "status"));
    for (attempt, expected) in attempts(record).iter().zip(1_u64..) {
        let last = expected as usize == attempts(record).len();
        if attempt["attempt_count"] != expected || (is_open(attempt) && !last) {
            faults.push(format!("{task_id}: {attempt} stands where attempt {expected} belongs"));
        }
        let run = runs.0.get(text(attempt, "run_id"));
        let outcome = run.and_then(|run| run.ended.first()).map(|event| &event["payload"]["status"]);
        if is_open(attempt) == outcome.is_some() || outcome.is_some_and(|outcome| *outcome != attempt["status"]) {
            faults.push(format!("{task_id}: attempt {expected} is {}, the log says {outcome:?}", attempt["status"]));
        }
    }
    let started = runs.0.values().flat_map(|run| &run.started).filter(|event| event["task_id"] == task_id).count();
    if started != attempts(record).len() {
        faults.push(format!("{task_id}: {started} attempts began, {} are there", attempts(record).len()));
    }
    let at_work = attempts(record).last().is_some_and(|attempt| attempt["status"] == "running");
    if status == "running" || at_work {
        faults.push(format!("{task_id} is {status} while nobody is there to work on it"));
    }
    let waits = attempts(record).last().is_some_and(|attempt| attempt["status"] == "queued");
    if waits != (status == "queued") {
        faults.push(format!("{task_id} is {status}, and whether its run waits for a worker: {waits}"));
    }
    let blockers: Vec<&Value> = blockers(record).map(|id| &found.tasks[id]).collect();
    let free = !blockers.is_empty() && blockers.iter().all(|blocker| blocker["status"] == "completed");
    if free && attempts(record).is_empty() && status != "cancelled" {
        faults.push(format!("{task_id} is {status} though all it waited for is complete"));
    }
    if !free && !blockers.is_empty() && !attempts(record).is_empty() {
        faults.push(format!("{task_id} began before all it waits for was complete"));
    }
}

/// What nobody worked on was ended by the time, as often as its policy says, and never before the time was over.
fn check_timed(record: &Value, faults: &mut Vec<String>) {
    let task_id = text(record, "task_id");
    if !task_id.ends_with("-timed") {
        return;
    }
    let early = |attempt: &Value| {
        let policy = &attempt["retry_policy"];
        let limit = [&policy["timeout"], &policy["inactivity_timeout_ms"]].into_iter().find_map(Value::as_i64).unwrap();
        attempt["status"] != "timed_out" || millis(&attempt["ended_at"]) - millis(&attempt["started_at"]) < limit
    };
    if record["status"] != "timed_out" || attempts(record).len() != 2 || attempts(record).iter().any(early) {
        faults.push(format!("{task_id} was to time out twice and is {record}"));
    }
}

fn blockers(record: &Value) -> impl Iterator<Item = &str> {
    let edges = record["relationships"].as_array().unwrap().iter();
    let own = edges.filter(|edge| edge["relationship"] == "blocks" && edge["to"] == record["task_id"]);
    own.map(|edge| text(edge, "from"))
}

/// What was acknowledged is answered the same when it is asked for again, with the same key by the same caller.
pub(super) async fn ask_again(book: &Book, server: &Server, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    for _ in 0..REPEATS {
        let asked = &book.answers[rng.random_range(0..book.answers.len())];
        let http = server.http(Some(&format!("dev:{}", asked.principal)));
        let again = http.call(&asked.method, asked.params.clone()).await;
        // A secret is shown once: a repeat is answered without it.
        let mut answer = asked.answer.clone();
        if let Some(fields) = answer.as_object_mut() {
            fields.remove("resume_token");
        }
        assert_eq!(again.as_ref(), Ok(&answer), "seed {seed}: {} {}", asked.method, asked.params);
    }
}
