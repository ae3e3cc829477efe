//! What owners and workers were told and shown, and what of it cannot be true together.

use std::collections::HashMap;

use serde_json::Value;

#[derive(Default)]
pub(super) struct Book {
    /// Calls that nobody answered.
    pub(super) unanswered: usize,
    pub(super) answers: Vec<Answer>,
    /// Ends of runs that came too late, by their marks: a summary or the message of a failure.
    pub(super) refused: Vec<String>,
    /// The newest look at each task.
    pub(super) seen: HashMap<String, Value>,
    /// The newest look at each batch with its items.
    pub(super) jobs_seen: HashMap<String, Value>,
    pub(super) faults: Vec<String>,
}

/// A call that writes, and what was answered.
pub(super) struct Answer {
    pub(super) principal: String,
    pub(super) method: String,
    pub(super) params: Value,
    pub(super) answer: Value,
}

impl Book {
    pub(super) fn answered(&mut self, principal: String, method: &str, params: Value, answer: Value) {
        self.answers.push(Answer { principal, method: method.to_owned(), params, answer });
    }

    /// The answers to one command.
    pub(super) fn of<'a>(&'a self, method: &'a str) -> impl Iterator<Item = &'a Answer> {
        self.answers.iter().filter(move |answer| answer.method == method)
    }

    /// Holds a look at a task against the one before.
    pub(super) fn saw(&mut self, record: &Value) {
        let known = self.seen.entry(text(record, "task_id").to_owned()).or_insert_with(|| record.clone());
        // Looks are written down in another order than they were had.
        let in_order = as_of(known) <= as_of(record);
        let (before, after) = if in_order { (&*known, record) } else { (record, &*known) };
        self.faults.extend(contradictions(before, after));
        if in_order {
            known.clone_from(record);
        }
    }

    /// The same of a batch.
    pub(super) fn saw_job(&mut self, seen: &Value) {
        let known = self.jobs_seen.entry(text(&seen["job"], "job_id").to_owned()).or_insert_with(|| seen.clone());
        let in_order = as_of(&known["job"]) <= as_of(&seen["job"]);
        let (before, after) = if in_order { (&*known, seen) } else { (seen, &*known) };
        self.faults.extend(job_contradictions(before, after));
        if in_order {
            known.clone_from(seen);
        }
    }
}

/// What an earlier look at a batch shows that a later one denies: items neither come nor go, and what is done stays done.
pub(super) fn job_contradictions(before: &Value, after: &Value) -> Vec<String> {
    let job = text(&before["job"], "job_id");
    let (was, is) = (before["items"].as_array().unwrap(), after["items"].as_array().unwrap());
    let mut faults = Vec::new();
    if was.len() != is.len() {
        faults.push(format!("{job} had {} items and has {}", was.len(), is.len()));
    }
    for (was, is) in was.iter().zip(is) {
        let less = was["attempt_count"].as_u64() > is["attempt_count"].as_u64();
        // An attempt that is given back does not count.
        let given_back = was["status"] == "running" || was["status"] == "reported";
        if was["job_item_id"] != is["job_item_id"]
            || (less && !given_back)
            || (was["status"] == "completed" && was != is)
        {
            faults.push(format!("{job}: an item was {was} and is {is}"));
        }
    }
    faults
}

/// What an earlier look shows that a later one denies.
pub(super) fn contradictions(before: &Value, after: &Value) -> Vec<String> {
    let task = text(before, "task_id");
    let mut faults = Vec::new();
    let later = attempts(after);
    for (at, attempt) in attempts(before).iter().enumerate() {
        let Some(now) = later.get(at) else {
            faults.push(format!("{task}: attempt {} is gone", at + 1));
            continue;
        };
        let same = ["run_id", "attempt_id", "attempt_count", "cause"].iter().all(|name| attempt[name] == now[name]);
        if !same || (!is_open(attempt) && attempt != now) {
            faults.push(format!("{task}: attempt {} was {attempt} and is {now}", at + 1));
        }
    }
    if before["status"] == "completed" && after["status"] != "completed" {
        faults.push(format!("{task} was completed and is {}", after["status"]));
    }
    faults
}

pub(super) fn attempts(record: &Value) -> &[Value] {
    record["attempts"].as_array().unwrap_or_else(|| panic!("{record}"))
}

/// Whether an attempt has no outcome yet.
pub(super) fn is_open(attempt: &Value) -> bool {
    attempt["status"] == "queued" || attempt["status"] == "running"
}

pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}"))
}

fn as_of(record: &Value) -> u64 {
    record["as_of_sequence"].as_u64().unwrap_or_else(|| panic!("{record}"))
}
