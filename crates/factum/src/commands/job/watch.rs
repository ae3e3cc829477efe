//! `factum job watch`: a batch until it ends.
//!
//! The counts are those of the last fact that had any, moved on by the items that began and ended since.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use clap::Args;
use factum_model::commands::GetJob;
use factum_model::id::{JobId, JobItemId};
use factum_model::job::{JobCounts, JobRecord, JobStatus};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::Value;

use super::Here;
use super::describe::{counts, ended, failure, title};
use crate::client::Follow;
use crate::commands::live::{Board, Live, Row, Total, Weight};
use crate::commands::look::Stands;
use crate::failure::Exit;
use crate::glyphs::Glyphs;
use crate::output::DIM;
use crate::render::shorten;
use crate::words::parse;

#[derive(Debug, Args)]
#[command(after_help = "\
Ends with 0 where every item completes, with 1 where the job ends in any other way.
With -o jsonl the events themselves are printed.")]
pub(super) struct Watch {
    /// The job's id.
    #[arg(value_name = "JOB")]
    job: JobId,
}

pub(super) async fn run(watch: &Watch, here: &Here) -> Result<Exit> {
    let question = GetJob { job_id: watch.job.clone(), item_status: None, item_limit: Some(1), item_cursor: None };
    let job = here.run(&question).await?.job;
    let mut follow = Follow::new(here.client.clone(), job.session_id.as_str(), job.as_of_sequence);
    let mut batch = Batch::new(job);
    let (glyphs, zone) = (Glyphs::of_locale(), TimeZone::system());
    let mut live = Live::new(here.output, glyphs);
    if !batch.status.is_terminal() && !here.output.is_json() {
        live.changed(Weight::Step, &batch.stand(glyphs))?;
    }
    live.show(&batch.board(live.rows_max()));
    while !batch.status.is_terminal() {
        let event = follow.next().await?;
        let seen: Seen = serde_json::from_str(&event.json)?;
        let Some(change) = batch.saw(&seen) else { continue };
        if here.output.is_json() {
            here.output.json_text(&event.json)?;
            continue;
        }
        if let Some(line) = change.line(&seen, &zone, glyphs) {
            live.changed(change.weight, &line)?;
        }
        live.show(&batch.board(live.rows_max()));
    }
    live.finish();
    if !here.output.is_json() {
        here.output.line(batch.stand(glyphs))?;
    }
    Ok(if batch.status == JobStatus::Completed && batch.counts.completed == batch.counts.total {
        Exit::Ok
    } else {
        Exit::Findings
    })
}

/// What is read of an event.
#[derive(Debug, Deserialize)]
struct Seen {
    r#type: String,
    timestamp: Timestamp,
    job_id: Option<JobId>,
    job_item_id: Option<JobItemId>,
    #[serde(default)]
    payload: Value,
}

/// What an event changed, in words; nothing where only numbers did.
#[derive(Debug, PartialEq, Eq)]
struct Change {
    words: Option<(String, String)>,
    weight: Weight,
}

impl Change {
    fn line(&self, seen: &Seen, zone: &TimeZone, glyphs: Glyphs) -> Option<String> {
        let (what, note) = self.words.as_ref()?;
        let time = seen.timestamp.to_zoned(zone.clone()).strftime("%H:%M:%S");
        let status = parse::<factum_model::job::JobItemStatus>(what).map(|status| status.shown(glyphs));
        let status = status.or_else(|_| parse::<JobStatus>(what).map(|status| status.shown(glyphs)));
        Some(format!("{DIM}{time}{DIM:#}  {}  {note}", status.unwrap_or_else(|_| what.clone())))
    }
}

/// A batch that moves. Pure.
struct Batch {
    job_id: JobId,
    name: String,
    status: JobStatus,
    counts: JobCounts,
    /// What is being done: who does it, and which attempt it is.
    running: BTreeMap<JobItemId, String>,
    /// Those of them whose worker said what they came to.
    reported: BTreeSet<JobItemId>,
}

impl Batch {
    fn new(job: JobRecord) -> Self {
        let name = title(&job);
        let (status, counts) = (job.status, job.progress);
        Self { job_id: job.job_id, name, status, counts, running: BTreeMap::new(), reported: BTreeSet::new() }
    }

    /// Takes an event in. Nothing where it is not about the batch.
    fn saw(&mut self, event: &Seen) -> Option<Change> {
        if event.job_id.as_ref() != Some(&self.job_id) {
            return None;
        }
        let change = match (&event.job_item_id, event.r#type.strip_prefix("job.item.")) {
            (Some(item), Some(class)) => self.item(item, class, &event.payload),
            _ => self.whole(event),
        };
        Some(change)
    }

    fn whole(&mut self, event: &Seen) -> Change {
        let payload = &event.payload;
        if let Ok(counts) = serde_json::from_value(payload["progress"].clone()) {
            self.counts = counts;
        }
        let status = payload["status"].as_str().and_then(|word| parse::<JobStatus>(word).ok());
        let Some(status) = status.filter(|status| *status != self.status) else {
            return Change { words: None, weight: Weight::Step };
        };
        self.status = status;
        let why = ["reason", "summary"].iter().find_map(|field| payload[*field].as_str()).map(shorten);
        let note = error(payload).or(why).unwrap_or_else(|| counts(&self.counts));
        let word = payload["status"].as_str().unwrap_or_default().to_owned();
        // How the whole batch ended is told at the end.
        Change { words: (!status.is_terminal()).then_some((word, note)), weight: Weight::Step }
    }

    fn item(&mut self, item: &JobItemId, class: &str, payload: &Value) -> Change {
        let tell = |word: &str, note: String, weight| Change {
            words: Some((word.to_owned(), format!("{item}  {note}").trim_end().to_owned())),
            weight,
        };
        let attempt = payload["attempt_count"].as_u64().unwrap_or(1);
        match class {
            "started" => {
                if self.running.insert(item.clone(), describe_run(payload, attempt)).is_none() {
                    self.counts.pending = self.counts.pending.saturating_sub(1);
                    self.counts.running += 1;
                }
                tell("running", describe_run(payload, attempt), Weight::Step)
            }
            "reported" => {
                if self.reported.insert(item.clone()) {
                    self.counts.running = self.counts.running.saturating_sub(1);
                    self.counts.reported += 1;
                }
                tell("reported", payload["summary"].as_str().map(shorten).unwrap_or_default(), Weight::Step)
            }
            "completed" => {
                self.leave(item);
                self.counts.completed += 1;
                tell("completed", payload["summary"].as_str().map(shorten).unwrap_or_default(), Weight::Step)
            }
            "failed" => {
                self.leave(item);
                let again = payload["will_retry"].as_bool() == Some(true);
                let (word, count, more) = match payload["status"].as_str() {
                    _ if again => ("failed", &mut self.counts.pending, "; it is tried again"),
                    Some("reported") => ("reported", &mut self.counts.reported, "; its result was reported and stays"),
                    _ => ("failed", &mut self.counts.failed, ""),
                };
                *count += 1;
                tell(word, format!("{}{more}", error(payload).unwrap_or_default()), Weight::End)
            }
            "retrying" => {
                self.again(payload);
                Change { words: None, weight: Weight::Step }
            }
            _ => Change { words: None, weight: Weight::Step },
        }
    }

    /// An item that had failed waits again, and with it perhaps a batch that had ended goes on.
    fn again(&mut self, payload: &Value) {
        let job = &payload["reopened"]["job"];
        if let Ok(counts) = serde_json::from_value(job["progress"].clone()) {
            self.counts = counts;
        }
        self.status = job["status"].as_str().and_then(|word| parse(word).ok()).unwrap_or(self.status);
        let was = match payload["was"].as_str() {
            Some("failed") => &mut self.counts.failed,
            Some("reported") => &mut self.counts.reported,
            _ => return,
        };
        *was = was.saturating_sub(1);
        self.counts.pending += 1;
    }

    fn leave(&mut self, item: &JobItemId) {
        self.running.remove(item);
        let stood = if self.reported.remove(item) { &mut self.counts.reported } else { &mut self.counts.running };
        *stood = stood.saturating_sub(1);
    }

    /// Where it stands, in a line.
    fn stand(&self, glyphs: Glyphs) -> String {
        format!("{}  {}  {}", self.status.shown(glyphs), self.name, counts(&self.counts))
    }

    fn board(&self, rows_max: usize) -> Board {
        let rows = self.running.iter().take(rows_max).map(|(item, note)| Row {
            key: item.to_string(),
            name: item.to_string(),
            percent: None,
            note: note.clone(),
        });
        let failed = if self.counts.failed > 0 { format!("{} failed, ", self.counts.failed) } else { String::new() };
        let note = format!("{failed}{} running, {} pending", self.counts.running, self.counts.pending);
        let total = Total { done: ended(&self.counts), of: self.counts.total, note };
        Board { rows: rows.collect(), more: self.running.len().saturating_sub(rows_max), total }
    }
}

fn describe_run(payload: &Value, attempt: u64) -> String {
    let worker = payload["worker"].as_str().map(shorten);
    let again = (attempt > 1).then(|| format!("attempt {attempt}"));
    worker.into_iter().chain(again).collect::<Vec<_>>().join("  ")
}

fn error(payload: &Value) -> Option<String> {
    serde_json::from_value(payload["error"].clone()).ok().as_ref().map(failure)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::describe::tests::{job, progress};
    use super::*;

    fn event(class: &str, item: Option<&str>, payload: Value) -> Seen {
        let mut event =
            json!({ "type": class, "timestamp": "2026-11-15T10:00:00Z", "job_id": "job_1", "payload": payload });
        if let Some(item) = item {
            event["job_item_id"] = json!(item);
        }
        serde_json::from_value(event).unwrap()
    }

    #[test]
    fn counts_follow_the_items_and_what_the_server_counts_wins() {
        let mut batch = Batch::new(job("queued", progress(3, 0, 0, 0)));
        batch.saw(&event("job.started", None, json!({ "status": "running" })));
        let started = |count: u32| json!({ "status": "running", "attempt_count": count, "worker": "w1" });
        batch.saw(&event("job.item.started", Some("item_1"), started(1)));
        batch.saw(&event("job.item.started", Some("item_2"), started(1)));
        assert_eq!(serde_json::to_value(&batch.counts).unwrap(), progress(1, 2, 0, 0));
        let rows = batch.board(1);
        assert_eq!((rows.rows.len(), rows.more, rows.rows[0].note.as_str()), (1, 1, "w1"));

        let failed = json!({ "status": "failed", "error": { "category": "timeout" }, "will_retry": true });
        let change = batch.saw(&event("job.item.failed", Some("item_1"), failed)).unwrap();
        assert_eq!(change.words, Some(("failed".into(), "item_1  timeout; it is tried again".into())));
        assert_eq!(serde_json::to_value(&batch.counts).unwrap(), progress(2, 1, 0, 0));
        batch.saw(&event("job.item.started", Some("item_1"), started(2)));
        batch.saw(&event("job.item.completed", Some("item_2"), json!({ "status": "completed" })));
        assert_eq!(serde_json::to_value(&batch.counts).unwrap(), progress(1, 1, 1, 0));

        batch.saw(&event("job.progress", None, json!({ "progress": progress(0, 1, 1, 1) })));
        batch.saw(&event("job.item.retrying", Some("item_3"), json!({ "status": "pending", "was": "failed" })));
        assert_eq!(serde_json::to_value(&batch.counts).unwrap(), progress(1, 1, 1, 0));
        let failed = json!({ "status": "failed", "error": { "category": "timeout" }, "will_retry": false });
        batch.saw(&event("job.item.started", Some("item_3"), started(2)));
        batch.saw(&event("job.item.failed", Some("item_3"), failed));
        assert_eq!(batch.board(0).total, Total { done: 2, of: 3, note: "1 failed, 1 running, 0 pending".into() });
        let done = json!({ "status": "completed", "progress": progress(0, 0, 2, 1) });
        batch.saw(&event("job.completed", None, done));
        assert_eq!(
            (batch.status, counts(&batch.counts)),
            (JobStatus::Completed, "3 of 3 items ended: 2 completed, 1 failed".into())
        );
    }

    #[test]
    fn a_result_that_is_reported_stays_where_its_worker_is_lost() {
        let mut batch = Batch::new(job("running", progress(1, 0, 0, 0)));
        batch.saw(&event("job.item.started", Some("item_1"), json!({ "status": "running", "attempt_count": 1 })));
        let reported = json!({ "status": "reported", "summary": "found it" });
        let change = batch.saw(&event("job.item.reported", Some("item_1"), reported.clone())).unwrap();
        assert_eq!(change.words, Some(("reported".into(), "item_1  found it".into())));
        batch.saw(&event("job.item.reported", Some("item_1"), reported));
        assert_eq!(counts(&batch.counts), "1 of 1 item ended: 1 reported");
        let lost = json!({ "status": "reported", "error": { "category": "lost" }, "will_retry": false });
        let change = batch.saw(&event("job.item.failed", Some("item_1"), lost)).unwrap();
        assert_eq!(change.words, Some(("reported".into(), "item_1  lost; its result was reported and stays".into())));
        assert_eq!(counts(&batch.counts), "1 of 1 item ended: 1 reported");
        batch.saw(&event("job.item.retrying", Some("item_1"), json!({ "status": "pending", "was": "reported" })));
        assert_eq!(serde_json::to_value(&batch.counts).unwrap(), progress(1, 0, 0, 0));
    }

    #[test]
    fn other_batches_are_none_of_ours() {
        let mut batch = Batch::new(job("running", progress(1, 0, 0, 0)));
        let mut other = event("job.completed", None, json!({ "status": "completed" }));
        other.job_id = Some("job_2".parse().unwrap());
        assert_eq!(batch.saw(&other), None);
    }
}
