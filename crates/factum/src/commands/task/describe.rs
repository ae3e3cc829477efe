//! A task in words: its title, how far it is, who does it, and all of it as lines.

use factum_model::task::{Acceptance, Attempt, Edge, EdgeStatus, Progress, Relationship, TaskRecord};
use factum_model::value::Failure;
use jiff::tz::TimeZone;

use crate::commands::execution;
use crate::commands::look::Stands;
use crate::glyphs::Glyphs;
use crate::output::{BOLD, DIM, RED};
use crate::render::{Breaks, clean, shorten};
use crate::table::count;
use crate::when::{local, took};
use crate::words::word;

/// What to call a task: its title, or else what it is about.
pub(super) fn title(task: &TaskRecord) -> String {
    name(task.title.as_deref(), &task.objective)
}

/// The same of the two alone.
pub(super) fn name(title: Option<&str>, objective: &str) -> String {
    let title = title.filter(|title| !title.trim().is_empty());
    shorten(title.unwrap_or_else(|| objective.trim().lines().next().unwrap_or_default()))
}

/// How far it is, in a few words: `40% collecting numbers`.
pub(super) fn how_far(progress: Option<&Progress>) -> String {
    let Some(progress) = progress else { return String::new() };
    let percent = progress.percent.map(|percent| format!("{percent}%"));
    let step = progress.current_step.as_deref().or(progress.summary.as_deref()).map(shorten);
    let doing = step.or_else(|| progress.phase.map(word));
    percent.into_iter().chain(doing).collect::<Vec<_>>().join(" ")
}

/// Who does it, where anybody is named.
pub(super) fn who(task: &TaskRecord) -> Option<String> {
    execution::describe(&task.execution).or_else(|| task.assignee.clone())
}

/// A failure in words.
pub(super) fn failure(error: &Failure) -> String {
    let advice = error.advice.iter().map(|advice| format!(" ({advice})"));
    let message = if error.message.is_empty() { String::new() } else { format!(": {}", error.message) };
    shorten(&format!("{}{message}{}", error.category, advice.collect::<String>()))
}

/// The task as lines.
pub(super) fn describe(task: &TaskRecord, zone: &TimeZone, glyphs: Glyphs) -> Vec<String> {
    let mut lines = vec![format!("{BOLD}{}{BOLD:#}  {DIM}{}{DIM:#}", title(task), task.task_id)];
    let mut say = |text: String| lines.push(format!("  {text}"));
    let reason = task.status_reason.iter().map(|reason| format!(" ({})", clean(reason, Breaks::Shown)));
    let (priority, visibility) = (word(task.priority), word(task.visibility));
    say(format!("{}{}, {priority}, {visibility}", task.status.shown(glyphs), reason.collect::<String>()));
    if task.title.is_some() {
        say(clean(&task.objective, Breaks::Shown));
    }
    say(format!("asked for by {} on {}", clean(&task.requested_by, Breaks::Shown), local(task.created_at, zone)));
    for people in
        [who(task).map(|who| format!("done by {who}")), task.owner.as_ref().map(|who| format!("owned by {who}"))]
    {
        people.into_iter().for_each(|text| say(clean(&text, Breaks::Shown)));
    }
    say(format!("{DIM}session{DIM:#} {}", task.session_id));
    for (kind, id) in [("parent", &task.parent_task_id), ("root", &Some(task.root_task_id.clone()))] {
        id.iter().filter(|id| **id != task.task_id).for_each(|id| say(format!("{DIM}{kind}{DIM:#} {id}")));
    }
    task.progress.iter().flat_map(progress).for_each(&mut say);
    if let Some(error) = &task.last_error {
        say(format!("{RED}last error{RED:#} {}", failure(error)));
    }
    attempts(task, zone, glyphs).into_iter().for_each(&mut say);
    task.acceptance.iter().flat_map(|acceptance| needs(acceptance, glyphs)).for_each(&mut say);
    for (what, refs) in [("artifact", &task.artifacts), ("evidence", &task.evidence_refs)] {
        refs.iter().for_each(|text| say(format!("{DIM}{what}{DIM:#} {}", clean(text, Breaks::Shown))));
    }
    edges(task).into_iter().for_each(&mut say);
    lines
}

fn progress(progress: &Progress) -> Vec<String> {
    let phase = progress.phase.map(word).into_iter();
    let percent = progress.percent.iter().map(|percent| format!("{percent}%"));
    let step = progress.current_step.iter().map(|step| clean(step, Breaks::Shown));
    let counters = progress.counters.iter().map(|(name, number)| format!("{} {number}", clean(name, Breaks::Shown)));
    let words: Vec<String> = phase.chain(percent).chain(step).chain(counters).collect();
    let summary = progress.summary.iter().map(|summary| clean(summary, Breaks::Shown));
    let first = (!words.is_empty()).then(|| format!("{DIM}progress{DIM:#} {}", words.join(", ")));
    first.into_iter().chain(summary.map(|summary| format!("{DIM}so far{DIM:#} {summary}"))).collect()
}

fn attempts(task: &TaskRecord, zone: &TimeZone, glyphs: Glyphs) -> Vec<String> {
    if task.attempts.is_empty() {
        return Vec::new();
    }
    let head = format!("{}:", count(task.attempts.len() as u64, "attempt"));
    let lines = task.attempts.iter().map(|attempt| format!("  {}", self::attempt(attempt, zone, glyphs)));
    [head].into_iter().chain(lines).collect()
}

fn attempt(attempt: &Attempt, zone: &TimeZone, glyphs: Glyphs) -> String {
    let mut words = vec![format!("{}  {}", attempt.attempt_count, attempt.status.shown(glyphs))];
    words.extend(attempt.worker.iter().map(|worker| clean(worker, Breaks::Shown)));
    words.extend(attempt.started_at.map(|at| local(at, zone)));
    let span = attempt.started_at.zip(attempt.ended_at).map(|(from, to)| to.duration_since(from));
    words.extend(span.map(|span| format!("for {}", took(span))));
    words.extend(attempt.last_error.iter().map(failure));
    words.extend(attempt.completion_summary.iter().map(|summary| shorten(summary)));
    format!("{}  {DIM}{}{DIM:#}", words.join("  "), attempt.run_id)
}

fn needs(acceptance: &Acceptance, glyphs: Glyphs) -> Vec<String> {
    let criteria = acceptance.criteria.iter().map(|criterion| {
        let more = [&criterion.description, &criterion.note, &criterion.evidence_ref].into_iter().flatten();
        let more: String = more.map(|text| format!("  {}", clean(text, Breaks::Shown))).collect();
        format!("  {}  {}{more}", criterion.state.shown(glyphs), clean(&criterion.criterion_id, Breaks::Shown))
    });
    let artifacts = acceptance.required_artifacts.iter().map(|name| ("artifact", name));
    let required = artifacts.chain(acceptance.required_evidence.iter().map(|kind| ("evidence", kind)));
    let required = required.map(|(what, name)| format!("  {what} {}", clean(name, Breaks::Shown)));
    let lines: Vec<String> = criteria.chain(required).collect();
    if lines.is_empty() { lines } else { ["needs:".to_owned()].into_iter().chain(lines).collect() }
}

fn edges(task: &TaskRecord) -> Vec<String> {
    let shown = task.relationships.iter().filter(|edge| edge.status != EdgeStatus::Removed);
    let mut lines: Vec<String> = shown.map(|edge| format!("  {}", self::edge(edge, task))).collect();
    if lines.is_empty() {
        return lines;
    }
    lines.insert(0, format!("{}:", count(task.relationships_total, "edge")));
    let left = task.relationships_total.saturating_sub(task.relationships.len() as u64);
    lines.extend((left > 0).then(|| format!("  and {left} more")));
    lines
}

/// From the task's own end, where it is a task edge.
fn edge(edge: &Edge, task: &TaskRecord) -> String {
    let turned = edge.relationship.inverse().filter(|_| edge.to == task.task_id.as_str());
    let (relationship, other) = match turned {
        Some(relationship) => (relationship, edge.from.as_str()),
        None => (edge.relationship, edge.to.as_str()),
    };
    let satisfied = if edge.status == EdgeStatus::Satisfied { "  satisfied" } else { "" };
    let reason = edge.reason.iter().map(|reason| format!("  {DIM}{}{DIM:#}", clean(reason, Breaks::Shown)));
    // "blocks" reads on by itself; what "parent" stands in front of would read as the parent.
    let of = if matches!(relationship, Relationship::Parent | Relationship::Child) { " of" } else { "" };
    format!("{}{of} {}{satisfied}{}", word(relationship), clean(other, Breaks::Shown), reason.collect::<String>())
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A task that stands somewhere.
    pub(in super::super) fn task(id: &str, status: &str) -> TaskRecord {
        task_with(id, status, json!({}))
    }

    pub(in super::super) fn task_with(id: &str, status: &str, more: Value) -> TaskRecord {
        let mut record = json!({
            "task_id": id, "root_task_id": "task_1", "session_id": "sess_1", "objective": format!("Task {id}"),
            "visibility": "foreground", "status": status, "priority": "normal", "requested_by": "agent://a",
            "assignee": "agent://a", "attempts": [], "relationships": [], "relationships_total": 0, "artifacts": [],
            "evidence_refs": [], "delivery_state": "pending", "created_at": "2026-11-15T10:00:00Z",
            "updated_at": "2026-11-15T10:00:00Z", "as_of_sequence": 1,
        });
        record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(record).unwrap()
    }

    #[test]
    fn a_task_is_told_with_everything_that_matters() {
        let task = task_with(
            "task_2",
            "running",
            json!({
                "title": "The report", "parent_task_id": "task_1", "owner": "agent://boss", "queue": "research",
                "required_capabilities": ["web"], "status_reason": "again",
                "progress": { "phase": "working", "percent": 40, "current_step": "counting", "counters": { "pages": 3 } },
                "last_error": { "category": "timeout", "message": "too slow" },
                "attempts": [
                    { "run_id": "run_1", "attempt_id": "att_1", "attempt_count": 1, "cause": "first", "status": "failed",
                      "worker": "w1", "started_at": "2026-11-15T10:00:00Z", "ended_at": "2026-11-15T10:01:01Z",
                      "last_error": { "category": "timeout", "message": "too slow" } },
                    { "run_id": "run_2", "attempt_id": "att_2", "attempt_count": 2, "cause": "retry", "status": "running" },
                ],
                "acceptance": { "criteria": [{ "criterion_id": "tests", "state": "met", "evidence_ref": "evd_1" }],
                                "required_artifacts": ["report.pdf"] },
                "relationships": [
                    { "from": "task_3", "to": "task_2", "relationship": "blocks", "status": "satisfied",
                      "created_at": "2026-11-15T10:00:00Z", "updated_at": "2026-11-15T10:00:00Z" },
                    { "from": "task_1", "to": "task_2", "relationship": "parent", "status": "active",
                      "created_at": "2026-11-15T10:00:00Z", "updated_at": "2026-11-15T10:00:00Z" },
                    { "from": "task_2", "to": "task_4", "relationship": "parent", "status": "active",
                      "created_at": "2026-11-15T10:00:00Z", "updated_at": "2026-11-15T10:00:00Z" },
                ],
                "relationships_total": 5,
            }),
        );
        let lines = describe(&task, &TimeZone::UTC, Glyphs::Ascii);
        let text = anstream::adapter::strip_str(&lines.join("\n")).to_string();
        let expected = "\
The report  task_2
  * running (again), normal, foreground
  Task task_2
  asked for by agent://a on 2026-11-15 10:00:00
  done by queue research (web)
  owned by agent://boss
  session sess_1
  parent task_1
  root task_1
  progress working, 40%, counting, pages 3
  last error timeout: too slow
  2 attempts:
    1  x failed  w1  2026-11-15 10:00:00  for 1m 1s  timeout: too slow  run_1
    2  * running  run_2
  needs:
    + met  tests  evd_1
    artifact report.pdf
  5 edges:
    blocked_by task_3  satisfied
    child of task_1
    parent of task_4
    and 2 more";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_terminal_is_never_told_what_to_do() {
        let evil = "\u{1b}[2J\u{202e}";
        let task = task_with(
            "task_2",
            "failed",
            json!({
                "title": evil, "objective": evil, "owner": evil, "assignee": evil, "status_reason": evil,
                "artifacts": [evil], "evidence_refs": [evil], "requested_by": evil,
                "progress": { "current_step": evil, "summary": evil, "counters": { evil: 1 } },
                "last_error": { "category": evil, "message": evil, "advice": evil },
                "acceptance": { "criteria": [{ "criterion_id": evil, "note": evil }], "required_artifacts": [evil] },
            }),
        );
        let lines = describe(&task, &TimeZone::UTC, Glyphs::Unicode).join("\n");
        let text = anstream::adapter::strip_str(&lines).to_string();
        // What strips styles would take an escape of a stranger away too, so the raw text is looked at.
        assert!(!lines.contains("\u{1b}[2J") && !text.contains('\u{202e}'), "{lines:?}");
        assert!(how_far(task.progress.as_ref()).contains("\\u{1b}"));
    }
}
