//! Child agents in a world: short names for what is done to them and how it is looked at.

use factum_model::id::{SubagentId, ThreadId, TurnId};
use factum_model::report::{Report, Runner, ToolDraft, TurnReport};
use factum_model::subagent::{SubagentRecord, SubagentState};
use factum_model::{Event, Refusal};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::super::story::story;
use super::super::world::*;
use crate::session::subagents::{self, SubagentRow, Within, keys};
use crate::session::{Timer, TimerKind, decide_report, fire_timer, keys as session_keys, left_thread_key};
use crate::{Context, Decision, IndexChange};

pub(in crate::session::tests) fn spawn(world: &mut World, id: &str, parent: Option<&str>) -> Vec<String> {
    spawn_with(world, json!({ "subagent_id": id, "parent_subagent_id": parent, "input": hello() }))
}

pub(super) fn spawn_with(world: &mut World, mut params: Value) -> Vec<String> {
    params["session_id"] = json!("s1");
    // As the shell does: a parent or an id is looked up before anything is decided.
    let named = params["parent_subagent_id"].as_str().map(str::to_owned);
    if named.is_some_and(|parent| row(world, &parent).is_none()) {
        return refused(&Refusal::not_found());
    }
    let rows = world.task_rows(&params);
    let command = parse(params);
    told(world, |state, context| subagents::spawn_subagent(state, None, &rows, &command, context))
}

pub(super) fn send(world: &mut World, id: &str) -> Vec<String> {
    send_parts(world, id, hello())
}

pub(super) fn send_parts(world: &mut World, id: &str, input: Value) -> Vec<String> {
    let command = parse(json!({ "subagent_id": id, "input": input }));
    told(world, |state, context| subagents::send_subagent_input(state, &command, context))
}

pub(super) fn resume(world: &mut World, id: &str, input: Option<Value>) -> Vec<String> {
    let command = parse(json!({ "subagent_id": id, "input": input }));
    told(world, |state, context| subagents::resume_subagent(state, &command, context))
}

pub(in crate::session::tests) fn close(world: &mut World, id: &str, grace_ms: Option<u64>) -> Vec<String> {
    let command = parse(json!({ "subagent_id": id, "grace_ms": grace_ms, "reason": "enough" }));
    let row = row(world, id).expect("a row of a child agent");
    told(world, |state, context| subagents::close_subagent(state, &row, &command, context))
}

/// Submits a turn to its thread as anybody may.
pub(super) fn submit_to(world: &mut World, id: &str) -> Vec<String> {
    let thread_id = row(world, id).expect("a row of a child agent").thread_id;
    // As the shell does: a thread that has left is not opened again.
    if world.index.contains_key(&left_thread_key(ACCOUNT, &super::super::world::id("s1"), &thread_id)) {
        return refused(&Refusal::not_found());
    }
    without_ids(world.submit_told(json!({ "thread_id": thread_id })))
}

/// Ends the turn that its thread works on.
pub(super) fn finish(world: &mut World, id: &str, well: bool) -> Vec<String> {
    let error = failure("model_error");
    let outcome = if well { completed() } else { TurnReport::Failed { error } };
    report(world, id, Report::TurnFinished { outcome })
}

/// Lets the model of its turn ask for these calls.
pub(super) fn answer(world: &mut World, id: &str, calls: Vec<ToolDraft>) -> Vec<String> {
    report(world, id, model_requested());
    let request = active(world, id).and_then(|turn| turn.model_request.clone()).expect("a model request is open");
    let (request_id, step_id) = (request.request_id, request.step_id);
    report(world, id, Report::ModelCompleted { request_id, step_id, answer: model_answer(calls) })
}

fn report(world: &mut World, id: &str, report: Report) -> Vec<String> {
    let thread_id = row(world, id).expect("a row of a child agent").thread_id;
    let Some((turn_id, attempt)) = active(world, id).map(|turn| (turn.turn_id.clone(), turn.attempt)) else {
        return vec!["nothing runs".to_owned()];
    };
    let runner = Runner { thread_id, turn_id, attempt };
    told(world, |state, context| decide_report(state, &runner, report, context))
}

pub(super) fn active<'a>(world: &'a World, id: &str) -> Option<&'a crate::session::ActiveTurn> {
    let thread_id = row(world, id)?.thread_id;
    world.state.thread(&thread_id)?.active.as_deref()
}

/// Fires every timer of a close that is due.
pub(super) fn fire(world: &mut World) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(timer) = timers(world).into_iter().find(|timer| timer.due <= world.now) {
        let lines = told(world, |state, context| fire_timer(state, &timer, context));
        assert!(!lines.is_empty(), "a timer has a row only as long as it would change something");
        all.extend(lines);
    }
    all
}

/// The timers of closes, soonest first.
pub(super) fn timers(world: &World) -> Vec<Timer> {
    let all = world.index.keys().filter_map(|key| session_keys::read_timer(key));
    all.filter(|timer| timer.kind == TimerKind::SubagentClose).collect()
}

pub(super) fn row(world: &World, id: &str) -> Option<SubagentRow> {
    let row = world.index.get(&keys::subagent(ACCOUNT, &id_of(id)))?;
    Some(serde_json::from_slice(row).expect("a row"))
}

/// As `list_subagents` shows it: from the state while it is open, from its row afterwards.
pub(in crate::session::tests) fn record(world: &World, id: &str) -> SubagentRecord {
    let open = subagents::subagent_record(&world.state, &id_of(id));
    let closed = row(world, id).and_then(|row| row.record);
    assert!(open.is_some() != closed.is_some(), "{id} is open or closed, not both and not neither");
    open.or(closed).expect("a record")
}

pub(super) fn status(world: &World, id: &str) -> SubagentState {
    record(world, id).status
}

pub(super) fn list(world: &World, within: &Within, descendants: bool) -> Vec<SubagentId> {
    let prefix = keys::within(ACCOUNT, &id("s1"), within, descendants);
    let rows = world.index.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix));
    rows.map(|(_, value)| serde_json::from_slice(value).expect("an id")).collect()
}

pub(super) fn told<T>(
    world: &mut World,
    decide: impl FnOnce(&crate::session::SessionState, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
) -> Vec<String> {
    match world.decide(decide) {
        Ok(done) => {
            unwritten_twice(&done.changes);
            without_ids(story(&done.events))
        }
        Err(refusal) => refused(&refusal),
    }
}

/// A commit is the unit: no key is put or deleted twice in one.
fn unwritten_twice(changes: &[IndexChange]) {
    let mut keys: Vec<_> = changes
        .iter()
        .map(|change| match change {
            IndexChange::Put { key, .. } | IndexChange::Delete { key } => key,
        })
        .collect();
    let count = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), count, "a key was written twice in one commit");
}

/// Turns of child agents have counted ids, which tell nothing here.
pub(super) fn without_ids(lines: Vec<String>) -> Vec<String> {
    let told = |line: String| {
        let counted = |word: &&str| word.starts_with("turn_") || word.starts_with("[turn_");
        line.split(' ').filter(|word| !counted(word) && *word != "[]").collect::<Vec<_>>().join(" ")
    };
    lines.into_iter().map(told).collect()
}

pub(super) fn id_of(text: &str) -> SubagentId {
    id(text)
}

pub(super) fn hello() -> Value {
    json!([{ "type": "text", "text": "hello" }])
}

pub(super) fn parse<T: DeserializeOwned>(params: Value) -> T {
    serde_json::from_value(params).expect("params of the command")
}

/// The facts of the newest commit.
pub(super) fn last_commit(world: &World) -> Vec<Event> {
    let commit = world.log.last().expect("a commit");
    commit.iter().map(|bytes| Event::decode(bytes).expect("events decode")).collect()
}

pub(super) fn main_thread(world: &World) -> ThreadId {
    world.main().thread_id.clone()
}

pub(super) fn turn_id(text: &str) -> TurnId {
    id(text)
}
