//! A child agent in words: what it is called, and all of it as lines.

use factum_model::subagent::{ModelPolicy, SubagentRecord};
use factum_model::value::Failure;
use jiff::tz::TimeZone;

use crate::commands::look::Stands;
use crate::glyphs::Glyphs;
use crate::output::{BOLD, DIM, RED};
use crate::render::{Breaks, clean, shorten};
use crate::table::Table;
use crate::when::local;
use crate::words::word;

/// What to call it: its nickname, or what it is there for, or which agent it is.
pub(super) fn name(one: &SubagentRecord) -> String {
    let named = [&one.nickname, &one.role].into_iter().flatten().find(|name| !name.trim().is_empty());
    shorten(named.unwrap_or(&one.agent))
}

/// What is worth knowing beside its name and status: the error it ended with, or else what it is there for.
pub(super) fn note(one: &SubagentRecord) -> String {
    let role = one.role.as_deref().map(shorten).filter(|role| *role != name(one));
    one.last_error.as_ref().map(failure).or(role).unwrap_or_default()
}

fn failure(error: &Failure) -> String {
    let message = if error.message.is_empty() { String::new() } else { format!(": {}", error.message) };
    shorten(&format!("{}{message}", error.category))
}

/// One line each, in columns.
pub(super) fn rows(subagents: &[SubagentRecord], glyphs: Glyphs) -> Vec<String> {
    let mut table = Table::default();
    for one in subagents {
        table.row([one.subagent_id.to_string(), word(one.status), name(one), note(one)]);
    }
    let signs = subagents.iter().map(|one| one.status.look().sign(glyphs));
    table.lines().into_iter().zip(signs).map(|(line, sign)| format!("{sign} {line}")).collect()
}

/// The child as lines.
pub(super) fn describe(one: &SubagentRecord, zone: &TimeZone, glyphs: Glyphs) -> Vec<String> {
    let mut lines = vec![format!("{BOLD}{}{BOLD:#}  {DIM}{}{DIM:#}", name(one), one.subagent_id)];
    let mut say = |text: String| lines.push(format!("  {text}"));
    let until = one.close_at.map(|at| format!(" (what runs may settle until {})", local(at, zone)));
    say(format!("{}{}", one.status.shown(glyphs), until.unwrap_or_default()));
    let role = one.role.iter().map(|role| format!(", as {}", clean(role, Breaks::Shown)));
    say(format!("agent {}{}", clean(&one.agent, Breaks::Shown), role.collect::<String>()));
    say(format!("isolation {}, permission mode {}", word(one.isolation), word(one.permission_mode)));
    if let Some(policy) = &one.model_policy {
        say(format!("model {}", model(policy)));
    }
    let ended = one.ended_at.map(|at| format!(", closed on {}", local(at, zone)));
    say(format!("spawned on {}{}", local(one.spawned_at, zone), ended.unwrap_or_default()));
    if let Some(error) = &one.last_error {
        say(format!("{RED}last error{RED:#} {}", failure(error)));
    }
    for (what, id) in ids(one) {
        say(format!("{DIM}{what}{DIM:#} {}", clean(&id, Breaks::Shown)));
    }
    lines
}

fn model(policy: &ModelPolicy) -> String {
    let names = [&policy.provider, &policy.model].into_iter().flatten();
    let names: String = names.map(|name| format!(" {}", clean(name, Breaks::Shown))).collect();
    format!("{}{names}", word(policy.choice))
}

/// Everything it is tied to.
fn ids(one: &SubagentRecord) -> Vec<(&'static str, String)> {
    let ids = [
        ("session", Some(one.parent_session_id.to_string())),
        ("thread", Some(one.thread_id.to_string())),
        ("task", one.task_id.as_ref().map(ToString::to_string)),
        ("parent thread", Some(one.parent_thread_id.to_string())),
        ("parent turn", one.parent_turn_id.as_ref().map(ToString::to_string)),
        ("parent task", one.parent_task_id.as_ref().map(ToString::to_string)),
        ("parent", one.parent_subagent_id.as_ref().map(ToString::to_string)),
        ("last message", one.last_message_ref.clone()),
    ];
    ids.into_iter().filter_map(|(what, id)| Some((what, id?))).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A child agent that stands somewhere.
    pub(in super::super) fn subagent(id: &str, status: &str, more: &Value) -> SubagentRecord {
        let mut record = json!({
            "subagent_id": id, "parent_session_id": "sess_1", "parent_thread_id": "thr_1", "thread_id": "thr_2",
            "agent": "demo", "isolation": "thread", "permission_mode": "default", "depth": 1, "status": status,
            "spawned_at": "2026-11-15T10:00:00Z", "updated_at": "2026-11-15T10:00:00Z",
        });
        record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(record).unwrap()
    }

    fn plain(lines: &[String]) -> String {
        anstream::adapter::strip_str(&lines.join("\n")).to_string()
    }

    #[test]
    fn a_child_is_told_with_everything_that_matters() {
        let more = json!({
            "role": "reader", "nickname": "Ada\u{1b}", "parent_subagent_id": "sub_0", "task_id": "task_1",
            "model_policy": { "choice": "fixed", "model": "small" }, "close_at": "2026-11-15T10:00:05Z",
            "last_error": { "category": "timeout", "message": "too\nslow" },
        });
        let expected = "\
Ada\\u{1b}  sub_1
  - closing (what runs may settle until 2026-11-15 10:00:05)
  agent demo, as reader
  isolation thread, permission mode default
  model fixed small
  spawned on 2026-11-15 10:00:00
  last error timeout: too slow
  session sess_1
  thread thr_2
  task task_1
  parent thread thr_1
  parent sub_0";
        assert_eq!(plain(&describe(&subagent("sub_1", "closing", &more), &TimeZone::UTC, Glyphs::Ascii)), expected);
    }

    #[test]
    fn a_line_has_what_is_known() {
        let both = [
            subagent("sub_1", "idle", &json!({})),
            subagent("sub_10", "waiting_input", &json!({ "role": "reader", "nickname": "Ada" })),
        ];
        let expected = "o sub_1   idle           demo\n~ sub_10  waiting_input  Ada   reader";
        assert_eq!(plain(&rows(&both, Glyphs::Ascii)), expected);
    }
}
