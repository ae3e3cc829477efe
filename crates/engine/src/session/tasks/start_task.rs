//! `start_task`: the first attempt of a task begins, with a worker, an agent or whoever it is assigned to.

use factum_model::commands::{StartTask, StartTaskResult};
use factum_model::events::{
    DelegateKind, EdgeChange, TaskAccepted, TaskAttemptStarted, TaskDelegated, TaskQueued, TaskStarted, ThreadOrigin,
};
use factum_model::id::{AttemptId, ChannelId, RunId, TaskId, ThreadId};
use factum_model::task::*;
use factum_model::value::Part;
use factum_model::{Fact, NewEvent, Refusal};
use serde_json::json;

use super::create_task::open_blockers;
use super::draft::Draft;
use super::fields::{check_name, check_refs};
use super::graph::cancelled_above;
use super::link_tasks::{add_edge, room};
use super::moves::may_move;
use super::state::Task;
use crate::context::{Context, Decision, check};
use crate::session::delegations::{link, peer_named};
use crate::session::state::SessionState;
use crate::session::thread_start::{self, Input};
use crate::session::waiting::gave;

pub fn start_task(
    state: &SessionState,
    recalled: &[TaskRow],
    command: &StartTask,
    context: &mut Context<'_>,
) -> Result<Decision<StartTaskResult>, Refusal> {
    check_name("worker", command.worker.as_deref(), context.limits)?;
    check_refs("input_refs", &command.input_refs, context.limits)?;
    let mut draft = Draft::of(state, recalled, context)?;
    let task = draft.require(&command.task_id)?;
    if !task.blockers.is_empty() {
        return Err(Refusal::precondition("the task waits for others and starts by itself when they are complete")
            .with("status", task.row.status.as_str())
            .with("blockers", json!(open_blockers(&draft, &command.task_id))));
    }
    let startable = matches!(
        task.row.status,
        TaskStatus::Draft
            | TaskStatus::Accepted
            | TaskStatus::Blocked
            | TaskStatus::WaitingInput
            | TaskStatus::WaitingPermission
            | TaskStatus::WaitingResource
    );
    if !startable || task.row.attempt.is_some() {
        return Err(refuse_move(&task, "running", "start_task begins the first attempt; retry_task begins another"));
    }
    check_worker(&task, command.worker.as_deref())?;
    let how = Start { worker: command.worker.clone(), input_refs: command.input_refs.clone(), ..Start::default() };
    let (run_id, attempt_id) = start(&mut draft, &command.task_id, how)?;
    Ok(draft.finish(|draft| StartTaskResult {
        task_id: command.task_id.clone(),
        run_id,
        attempt_id,
        status: draft.status(&command.task_id),
        sequence: draft.sequence(),
    }))
}

/// Refuses to name somebody where the task says itself who does it.
pub(super) fn check_worker(task: &Task, worker: Option<&str>) -> Result<(), Refusal> {
    let Some(worker) = worker else { return Ok(()) };
    let agent = task.row.execution.agent.as_ref().filter(|agent| worker != format!("agent:{agent}"));
    let others = if task.row.execution.queue.is_some() { Some("the workers of its queue") } else { None };
    let Some(others) = others.or(agent.map(|_| "its agent")) else { return Ok(()) };
    Err(Refusal::invalid(format!("the task is done by {others}; leave worker out, or make it another task"))
        .with("worker", worker))
}

/// The refusal of a move that the table does not have, or that this command does not make.
pub(super) fn refuse_move(task: &Task, to: &str, advice: &str) -> Refusal {
    let status = task.row.status.as_str();
    Refusal::precondition(format!("a task that is {status} does not become {to} this way; {advice}"))
        .with("status", status)
        .with("task_id", task.row.task_id.as_str())
}

/// Refuses what the table of moves does not have.
pub(super) fn require_move(task: &Task, to: TaskStatus) -> Result<(), Refusal> {
    if may_move(task.row.status, to) {
        return Ok(());
    }
    Err(refuse_move(task, to.as_str(), "docs/reference/moves.md has the table of what may follow what"))
}

/// How an attempt begins.
pub(super) struct Start {
    pub(super) worker: Option<String>,
    pub(super) input_refs: Vec<String>,
    pub(super) cause: AttemptCause,
    /// An agent does it in this thread, instead of one of its own.
    pub(super) thread: Option<ThreadId>,
    /// What its agent is asked, instead of what the task says.
    pub(super) input: Option<Vec<Part>>,
}

impl Default for Start {
    fn default() -> Self {
        Self { worker: None, input_refs: Vec::new(), cause: AttemptCause::First, thread: None, input: None }
    }
}

/// Begins an attempt. Where a queue is named it waits there for a worker; an agent gets a turn in a thread of its own, and
/// waits there too where others talk to it; a peer is linked before it is told; otherwise its assignee works on it from
/// here on.
pub(super) fn start(draft: &mut Draft<'_, '_>, task_id: &TaskId, how: Start) -> Result<(RunId, AttemptId), Refusal> {
    let task = draft.tasks.shared(task_id).ok_or_else(Refusal::not_found)?;
    refuse_cancelled_above(draft, &task)?;
    let attempt_count = task.attempt_count() + 1;
    check("task_attempts", attempt_count as usize, draft.context.limits.task_attempts_max)?;
    if task.row.status == TaskStatus::Draft {
        let accepted_by = draft.context.caller.to_owned();
        draft.push(draft.scope(task_id), TaskAccepted { status: TaskStatus::Accepted, accepted_by });
    }
    let (run_id, attempt_id) = (draft.context.run_id(), draft.context.attempt_id());
    let mut scope = draft.scope(task_id).run_id(&run_id).attempt_id(&attempt_id);
    let execution = &task.row.execution;
    let peer = peer_of(&task.row, execution, how.worker.as_deref());
    let busy = match &execution.agent {
        Some(agent) => begin_turn(draft, &task, agent, how.thread, how.input, &mut scope)? == Begun::Behind,
        None => false,
    };
    let queued = execution.queue.is_some() || busy;
    let worker = worker_of(&task.row, how.worker.as_deref());
    let cause = routed(how.cause, &task, how.worker.as_deref());
    let previous = task.row.attempt.as_ref();
    let input_refs = if how.input_refs.is_empty() { task.row.input_refs.clone() } else { how.input_refs };
    let fact = TaskAttemptStarted {
        status: if queued { AttemptStatus::Queued } else { AttemptStatus::Running },
        attempt_count,
        cause,
        previous_run_id: previous.map(|attempt| attempt.run_id.clone()),
        worker,
        input_refs,
        // Where the last one left off is where the next one may go on.
        checkpoint_refs: previous.map(|attempt| attempt.checkpoint_refs.clone()).unwrap_or_default(),
        retry_policy: task.row.retry_policy.clone(),
        execution: execution.clone(),
        priority: task.row.priority,
    };
    let assigned = new_thread(draft, &task, &scope).cloned();
    drop(task);
    draft.push(scope.clone(), fact);
    if let Some(thread_id) = assigned {
        let kind = Relationship::AssignedThread;
        add_edge(draft, task_id, thread_id.as_str(), kind, EdgeStatus::Active, None, EdgeChange::Added);
    }
    if queued {
        let reason = busy.then(|| BUSY.to_owned());
        let fact = TaskQueued { status: TaskStatus::Queued, reason, behind: Vec::new() };
        draft.push(scope, fact);
    } else {
        let started_by = draft.context.caller.to_owned();
        let fact = TaskStarted { status: TaskStatus::Running, started_by, attempt_count, native_status: None };
        draft.push(scope.clone(), fact);
        if let Some(peer) = peer {
            let by = draft.context.caller.to_owned();
            draft.push(scope.clone(), delegated(DelegateKind::Peer, format!("peer:{peer}"), by));
            let intent = link(scope, &peer, decider(draft, task_id), draft.context);
            draft.push_event(intent);
        }
    }
    Ok((run_id, attempt_id))
}

/// The channel that decides what a peer asks permission for in a run: the one of the turn whose call gave the task away, or the one
/// that the command comes through.
fn decider(draft: &Draft<'_, '_>, task_id: &TaskId) -> Option<ChannelId> {
    match draft.tasks.made_in(task_id).and_then(|turn_id| gave(draft.state, turn_id, task_id)) {
        Some(turn) => turn.decided_through.clone(),
        None => draft.context.decider(),
    }
}

/// No attempt begins below a task that is being cancelled, whoever asks for it.
pub(super) fn refuse_cancelled_above(draft: &Draft<'_, '_>, task: &Task) -> Result<(), Refusal> {
    let Some(cancelled) = cancelled_above(&draft.tasks, &task.row.task_id) else { return Ok(()) };
    Err(Refusal::precondition("nothing begins below a task that is being cancelled")
        .with("status", task.row.status.as_str())
        .with("cancelled_task_id", cancelled.as_str()))
}

/// That work for a task was handed on. A worker's claim says more.
pub(in super::super) fn delegated(delegate: DelegateKind, delegate_ref: String, delegated_by: String) -> TaskDelegated {
    TaskDelegated { delegated_by, delegate, delegate_ref, child_task_id: None, lease: None, reason: None }
}

/// Who does a run; nobody yet where workers claim it.
fn worker_of(row: &TaskRow, named: Option<&str>) -> Option<String> {
    match &row.execution {
        Execution { queue: Some(_), .. } => None,
        Execution { agent: Some(agent), .. } => Some(format!("agent:{agent}")),
        execution => {
            let peer = peer_of(row, execution, named).map(|peer| format!("peer:{peer}"));
            Some(peer.or_else(|| named.map(str::to_owned)).unwrap_or_else(|| responsible(row)))
        }
    }
}

/// Why an attempt begins: where it goes to somebody else than the one before, that is why. One that was lost stays so.
pub(super) fn routed(cause: AttemptCause, task: &Task, named: Option<&str>) -> AttemptCause {
    let before = task.row.attempt.as_ref().and_then(|attempt| attempt.worker.as_ref());
    let now = worker_of(&task.row, named);
    let elsewhere = before.zip(now.as_ref()).is_some_and(|(before, now)| before != now);
    match cause {
        AttemptCause::Retry | AttemptCause::Rerun if elsewhere => AttemptCause::RoutingChanged,
        cause => cause,
    }
}

/// The thread an agent does it in, where the task has no edge to that yet: it gets one for each thread. A task that has as many
/// edges as it may goes without.
fn new_thread<'s>(draft: &Draft<'_, '_>, before: &Task, scope: &'s factum_model::Scope) -> Option<&'s ThreadId> {
    let thread_id = scope.thread_id.as_ref().filter(|_| scope.turn_id.is_some())?;
    let known = before.row.attempt.as_ref().and_then(|attempt| attempt.thread_id.as_ref()) == Some(thread_id);
    (!known && room(draft, &before.row).is_ok()).then_some(thread_id)
}

/// The peer that does a run: the one the task names, or the one its worker or assignee is.
fn peer_of(row: &TaskRow, execution: &Execution, worker: Option<&str>) -> Option<String> {
    if execution.queue.is_some() || execution.agent.is_some() {
        return None;
    }
    let named = || peer_named(worker.or(row.assignee.as_deref())?);
    execution.peer.as_deref().or_else(named).map(str::to_owned)
}

/// Why an attempt of an agent waits.
const BUSY: &str = "its agent's thread is busy; it begins when the turns before it have ended";

/// Whether the turn of an attempt runs.
#[derive(Clone, Copy, PartialEq)]
enum Begun {
    AtOnce,
    /// In its thread's queue.
    Behind,
}

/// Who does a task that nobody else is named for.
fn responsible(row: &TaskRow) -> String {
    row.assignee.clone().or_else(|| row.owner.clone()).unwrap_or_else(|| row.requested_by.clone())
}

/// What a task says to its agent. What is long stands in the fact that gave it first, and is read from there.
fn what_it_says(row: &TaskRow) -> Input {
    Input { parts: vec![Part::Text { text: row.objective.clone() }], sequence: row.input_sequence }
}

fn begin_turn(
    draft: &mut Draft<'_, '_>,
    task: &Task,
    agent: &str,
    thread: Option<ThreadId>,
    input: Option<Vec<Part>>,
    scope: &mut factum_model::Scope,
) -> Result<Begun, Refusal> {
    let decided = draft.events.len();
    let known = task.row.attempt.as_ref().and_then(|attempt| attempt.thread_id.clone());
    let title = task.row.title.clone();
    let thread_id = match thread.or(known.filter(|thread_id| draft.state.thread(thread_id).is_some())) {
        Some(thread_id) => thread_id,
        None => {
            let parent = draft.state.threads.first().map(|thread| thread.thread_id.clone());
            let (state, events) = (draft.state, &mut draft.events);
            thread_start::open_thread(state, scope, agent, ThreadOrigin::Task, title, parent, draft.context, events)?
        }
    };
    let input = input.map_or_else(|| what_it_says(&task.row), Input::from);
    let (state, events) = (draft.state, &mut draft.events);
    let turn_id = thread_start::submit(state, scope, &thread_id, agent, input, draft.context, events);
    draft.catch_up(decided);
    let starts =
        |event: &NewEvent| matches!(event.fact, Fact::TurnStarted(_)) && event.scope.turn_id.as_ref() == Some(&turn_id);
    let begun = if draft.events[decided..].iter().any(starts) { Begun::AtOnce } else { Begun::Behind };
    scope.thread_id = Some(thread_id);
    scope.turn_id = Some(turn_id);
    Ok(begun)
}
