//! The entries of a script: which input each is for.

use serde_json::Value;

use super::invoke::{Calls, Invocation};
use super::problem::Reading;
use super::step::{Does, STEPS_MAX, Step, read_steps, size};
use super::table::Table;
use crate::next::MODEL_ROUNDS_MAX;

/// What is done about some inputs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub matcher: Matcher,
    pub reply: Reply,
    pub steps: Vec<Step>,
}

/// What a peer that sent the input gets to see of the turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Reply {
    /// A task to follow, ask about and cancel.
    #[default]
    Task,
    /// The answer as one message.
    Message,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Matcher {
    StartsWith(String),
    Equals(String),
    Contains(String),
    Any,
}

impl Matcher {
    /// What `{rest}` stands for, where the input matches: what is behind a beginning, else all of it.
    pub(super) fn rest<'i>(&self, input: &'i str) -> Option<&'i str> {
        let trimmed = input.trim_start();
        match self {
            Matcher::StartsWith(start) => trimmed.strip_prefix(start.as_str()).map(str::trim),
            Matcher::Equals(text) => (input.trim() == text.trim()).then_some(input),
            Matcher::Contains(text) => input.contains(text.as_str()).then_some(input),
            Matcher::Any => Some(input),
        }
    }
}

/// Reads all entries, and notes those that cannot be reached or finished.
pub(super) fn read_entries(reading: &Reading, list: Vec<Value>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut catch_all = None;
    for (at, value) in list.into_iter().enumerate() {
        let place = format!("entry {}", at + 1);
        reading.next_entry();
        if let Some(earlier) = catch_all {
            reading.problem(
                &place,
                format_args!("it is never reached, because entry {earlier} takes any input; put it before that one"),
            );
        }
        let Some(entry) = Table::new(reading, place, value).and_then(read_entry) else { continue };
        if entry.matcher == Matcher::Any {
            catch_all = catch_all.or(Some(at + 1));
        }
        entries.push(entry);
    }
    entries
}

fn read_entry(mut table: Table<'_>) -> Option<Entry> {
    let matcher = read_matcher(&mut table);
    let reply = table.word("reply", &[("task", Reply::Task), ("message", Reply::Message)]).unwrap_or_default();
    let steps = read_steps(&mut table);
    if let Some(what) = (reply == Reply::Message).then(|| needs_task(&steps)).flatten() {
        table.problem(format_args!(
            "reply = \"message\" sends one message, and {what} need a task; take one of them out"
        ));
    }
    let size = size(&steps);
    if size.steps > STEPS_MAX {
        table.problem(format_args!("{} steps with all repetitions; {STEPS_MAX} are allowed", size.steps));
    }
    if size.rounds >= MODEL_ROUNDS_MAX as u64 {
        let most = MODEL_ROUNDS_MAX - 1;
        table.problem(format_args!(
            "{} tool and ask steps with all repetitions; {most} are allowed in a turn",
            size.rounds
        ));
    }
    table.finish();
    Some(Entry { matcher: matcher?, reply, steps })
}

/// Something in these steps that a single message cannot carry.
fn needs_task(steps: &[Step]) -> Option<&'static str> {
    let waits = |invocation: &Invocation| match &invocation.calls {
        Calls::Ask { .. } => true,
        Calls::Tool(tool) => tool.approval.is_some(),
        Calls::Delegate { .. } => false,
    };
    let gives_away = |invocation: &Invocation| matches!(invocation.calls, Calls::Delegate { .. });
    steps.iter().find_map(|step| match &step.does {
        Does::Artifact { .. } => Some("artifacts"),
        Does::Call(invocations) if invocations.iter().any(waits) => Some("questions and approvals"),
        Does::Call(invocations) if invocations.iter().any(gives_away) => Some("delegations"),
        Does::Group(steps) | Does::Repeat { steps, .. } => needs_task(steps),
        _ => None,
    })
}

fn read_matcher(table: &mut Table<'_>) -> Option<Matcher> {
    let starts_with = table.text("starts_with").map(Matcher::StartsWith);
    let equals = table.text("equals").map(Matcher::Equals);
    let contains = table.text("contains").map(Matcher::Contains);
    let any = table.flag("any").filter(|any| *any).map(|_| Matcher::Any);
    let mut found: Vec<Matcher> = [starts_with, equals, contains, any].into_iter().flatten().collect();
    if found.len() != 1 {
        table.problem("which input is it for? Say one of starts_with, equals, contains or any = true");
        return None;
    }
    found.pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matching_leaves_the_rest() {
        let starts = Matcher::StartsWith("ask:".to_owned());
        assert_eq!(starts.rest("ask: why? "), Some("why?"));
        assert_eq!(starts.rest("  ask:why?"), Some("why?"));
        assert_eq!(starts.rest("asked"), None);
        assert_eq!(Matcher::Equals("ping".to_owned()).rest("ping\n"), Some("ping\n"));
        assert_eq!(Matcher::Contains("pin".to_owned()).rest("spinning"), Some("spinning"));
        assert_eq!(Matcher::Any.rest(""), Some(""));
    }
}
