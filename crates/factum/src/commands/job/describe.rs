//! A batch in words: its title, its counts, and all of it as lines.

use factum_model::job::{JobCounts, JobItem, JobRecord};
use factum_model::value::Failure;
use jiff::tz::TimeZone;

use crate::commands::execution;
use crate::commands::look::Stands;
use crate::glyphs::Glyphs;
use crate::output::{BOLD, DIM, RED};
use crate::render::{Breaks, clean, shorten};
use crate::table::{Table, count};
use crate::when::{local, took};
use crate::words::word;

/// What to call a batch: its title, or else what it does: the beginning of its instruction, or where that is.
pub(super) fn title(job: &JobRecord) -> String {
    let title = job.title.as_deref().filter(|title| !title.trim().is_empty());
    let first = |text: &'_ str| text.trim().lines().next().map(str::to_owned);
    match title {
        Some(title) => shorten(title),
        None => shorten(&job.instruction_preview.as_deref().and_then(first).unwrap_or(job.instruction_ref.clone())),
    }
}

/// `3 of 10 items: 2 completed, 1 failed, 4 running`.
pub(super) fn counts(counts: &JobCounts) -> String {
    let ended = ended(counts);
    let kinds = [
        (counts.completed, "completed"),
        (counts.reported, "reported"),
        (counts.failed, "failed"),
        (counts.running, "running"),
        (counts.pending, "pending"),
    ];
    let kinds: Vec<String> =
        kinds.iter().filter(|(number, _)| *number > 0).map(|(number, kind)| format!("{number} {kind}")).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(": {}", kinds.join(", ")) };
    format!("{ended} of {} ended{kinds}", count(counts.total, "item"))
}

/// How many items have ended.
pub(super) fn ended(counts: &JobCounts) -> u64 {
    counts.ended()
}

pub(super) fn failure(error: &Failure) -> String {
    let message = if error.message.is_empty() { String::new() } else { format!(": {}", error.message) };
    shorten(&format!("{}{message}", error.category))
}

/// One line each, in columns.
pub(super) fn rows(jobs: &[JobRecord], glyphs: Glyphs) -> Vec<String> {
    let mut table = Table::default();
    for job in jobs {
        let progress = format!("{}/{}", ended(&job.progress), job.progress.total);
        let failed = if job.progress.failed > 0 { format!("{} failed", job.progress.failed) } else { String::new() };
        table.row([job.job_id.to_string(), word(job.status), progress, failed, title(job)]);
    }
    let signs = jobs.iter().map(|job| job.status.look().sign(glyphs));
    table.lines().into_iter().zip(signs).map(|(line, sign)| format!("{sign} {line}")).collect()
}

/// The batch and items of it as lines.
pub(super) fn describe(job: &JobRecord, items: &[JobItem], zone: &TimeZone, glyphs: Glyphs) -> Vec<String> {
    let mut lines = vec![format!("{BOLD}{}{BOLD:#}  {DIM}{}{DIM:#}", title(job), job.job_id)];
    let mut say = |text: String| lines.push(format!("  {text}"));
    say(format!("{}, {}", job.status.shown(glyphs), counts(&job.progress)));
    say(format!("asked for by {} on {}", clean(&job.requested_by, Breaks::Shown), local(job.created_at, zone)));
    if let Some(who) = execution::describe(&job.execution) {
        say(format!("done by {}", clean(&who, Breaks::Shown)));
    }
    if let Some((from, to)) = job.started_at.zip(job.ended_at) {
        say(format!("took {}", took(to.duration_since(from))));
    }
    say(format!("{DIM}session{DIM:#} {}", job.session_id));
    job.task_id.iter().for_each(|id| say(format!("{DIM}task{DIM:#} {id}")));
    job.schedule_id.iter().for_each(|id| say(format!("{DIM}schedule{DIM:#} {id}")));
    if let Some(error) = &job.last_error {
        say(format!("{RED}last error{RED:#} {}", failure(error)));
    }
    if !items.is_empty() {
        say("items:".to_owned());
        self::items(items, glyphs).into_iter().for_each(|line| say(format!("  {line}")));
    }
    lines
}

fn items(items: &[JobItem], glyphs: Glyphs) -> Vec<String> {
    let mut table = Table::default();
    for item in items {
        let attempts = if item.attempt_count > 1 { count(item.attempt_count.into(), "attempt") } else { String::new() };
        let error = item.last_error.as_ref().map(failure).unwrap_or_default();
        table.row([item.job_item_id.to_string(), word(item.status), attempts, error, item.output_refs.join(" ")]);
    }
    let signs = items.iter().map(|item| item.status.look().sign(glyphs));
    table.lines().into_iter().zip(signs).map(|(line, sign)| format!("{sign} {line}")).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    pub(in super::super) fn job(status: &str, progress: serde_json::Value) -> JobRecord {
        let record = json!({
            "job_id": "job_1", "session_id": "sess_1", "title": "Links", "status": status, "requested_by": "agent://a",
            "instruction": "Check the links", "instruction_ref": "inline:1", "item_cursor": 0, "progress": progress,
            "created_at": "2026-11-15T10:00:00Z", "updated_at": "2026-11-15T10:00:00Z", "as_of_sequence": 5,
            "queue": "checks", "max_concurrency": 8, "max_item_attempts": 1,
        });
        serde_json::from_value(record).unwrap()
    }

    pub(in super::super) fn progress(pending: u64, running: u64, completed: u64, failed: u64) -> serde_json::Value {
        let total = pending + running + completed + failed;
        json!({ "total": total, "pending": pending, "running": running, "completed": completed, "failed": failed,
                "reported": 0 })
    }

    #[test]
    fn a_batch_without_a_title_is_called_by_what_it_does() {
        let mut job = job("running", progress(1, 0, 0, 0));
        job.title = Some(" ".into());
        job.instruction_preview = Some("\nCheck the links\nof every page".into());
        assert_eq!(title(&job), "Check the links");
        (job.title, job.instruction_preview, job.instruction_ref) = (None, None, "blob:1".into());
        assert_eq!(title(&job), "blob:1");
    }

    #[test]
    fn a_batch_is_told_with_its_items() {
        let item = json!({ "job_item_id": "item_2", "number": 2, "status": "failed", "attempt_count": 2, "retryable": true,
                           "last_error": { "category": "timeout", "message": "too\nslow" },
                           "updated_at": "2026-11-15T10:00:00Z" });
        let done = json!({ "job_item_id": "item_1", "number": 1, "status": "completed", "attempt_count": 1, "retryable": false,
                           "output_refs": ["blob:1"], "updated_at": "2026-11-15T10:00:00Z" });
        let items = [done, item].map(|item| serde_json::from_value(item).unwrap());
        let lines = describe(&job("running", progress(3, 1, 1, 1)), &items, &TimeZone::UTC, Glyphs::Ascii);
        let text = anstream::adapter::strip_str(&lines.join("\n")).to_string();
        let expected = "\
Links  job_1
  * running, 2 of 6 items ended: 1 completed, 1 failed, 1 running, 3 pending
  asked for by agent://a on 2026-11-15 10:00:00
  done by queue checks
  session sess_1
  items:
    + item_1  completed                                 blob:1
    x item_2  failed     2 attempts  timeout: too slow";
        assert_eq!(text, expected);
        let rows = rows(&[job("running", progress(3, 1, 1, 1))], Glyphs::Ascii);
        assert_eq!(anstream::adapter::strip_str(&rows[0]).to_string(), "* job_1  running  2/6  1 failed  Links");
    }
}
