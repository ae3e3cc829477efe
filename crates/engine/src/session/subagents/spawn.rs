//! `spawn_subagent`: a child agent below a thread, with its own thread and its first turn.

use factum_model::commands::{SpawnSubagent, SpawnSubagentResult};
use factum_model::events::{DelegateKind, SubagentSpawned, ThreadOrigin};
use factum_model::id::{SubagentId, ThreadId};
use factum_model::subagent::SubagentState;
use factum_model::task::TaskRow;
use factum_model::{NewEvent, Refusal, Scope};

use super::super::lookup::{require_session, require_thread, thread_scope};
use super::super::state::{SessionState, Thread};
use super::super::tasks::{delegated, require_known, require_takes_helpers, spawned_edge};
use super::super::thread_start::{open_thread, submit};
use super::inherit::{Bounds, inherit};
use super::input::{closed, takes_input};
use super::state::Subagent;
use crate::context::{Context, Decision, check};

/// `agent` is the one the command names, and known; the parent's answers where it names none. The shell has found a named
/// parent in this session, so one that is not open is closed. `recalled` are the rows of the tasks that it names.
pub fn spawn_subagent(
    state: &SessionState,
    agent: Option<&str>,
    recalled: &[TaskRow],
    command: &SpawnSubagent,
    context: &mut Context<'_>,
) -> Result<Decision<SpawnSubagentResult>, Refusal> {
    let shell = require_session(state)?;
    let parent = Parent::find(state, command)?;
    // A child that works on a task is spawned for it, where no other is named.
    let for_task = command.parent_task_id.as_ref().or(command.task_id.as_ref());
    require_takes_helpers(state, recalled, for_task)?;
    require_known(state, recalled, command.task_id.as_ref())?;
    check_bounds(state, &parent, command, context)?;
    let bounds = inherit(parent.subagent, command)?;
    let subagent_id = command.subagent_id.clone().unwrap_or_else(|| context.subagent_id());
    if state.subagents.get(&subagent_id).is_some() {
        return Err(subagent_exists(&subagent_id));
    }
    let agent = agent.unwrap_or(&parent.thread.agent);
    let mut events = Vec::with_capacity(5);
    let scope = Scope::default().session_id(&shell.session_id).subagent_id(&subagent_id);
    let title = command.nickname.clone().or_else(|| command.role.clone());
    let below = Some(parent.thread.thread_id.clone());
    let thread_id = open_thread(state, &scope, agent, ThreadOrigin::Subagent, title, below, context, &mut events)?;
    let mut parent_scope = thread_scope(shell, &parent.thread.thread_id).subagent_id(&subagent_id);
    parent_scope.turn_id = command.parent_turn_id.clone();
    parent_scope.task_id = for_task.cloned();
    let fact = spawned(&parent, agent, &thread_id, bounds, command, context);
    let status = fact.status;
    events.push(NewEvent::new(parent_scope, fact));
    if let Some(task_id) = for_task {
        events.push(spawned_edge(state, &shell.session_id, task_id, &subagent_id, context)?);
        let by = context.caller.to_owned();
        let fact = delegated(DelegateKind::Subagent, subagent_id.as_str().to_owned(), by);
        events.push(NewEvent::new(scope.clone().task_id(task_id), fact));
    }
    let input = command.input.clone();
    let turn_id = (!input.is_empty()).then(|| submit(state, &scope, &thread_id, agent, input, context, &mut events));
    Ok(Decision {
        output: SpawnSubagentResult {
            subagent_id,
            session_id: shell.session_id.clone(),
            thread_id,
            turn_id,
            task_id: command.task_id.clone(),
            status,
            sequence: context.sequence_after(state.sequence, &events),
        },
        events,
    })
}

/// An id that is in use, by an open child agent here or by any other the shell knows of.
pub fn subagent_exists(subagent_id: &SubagentId) -> Refusal {
    Refusal::conflict("a child agent with this id exists already").with("subagent_id", subagent_id.as_str())
}

/// Below what a child is spawned: a thread, which may be a child agent's own.
struct Parent<'a> {
    thread: &'a Thread,
    subagent: Option<&'a Subagent>,
}

impl<'a> Parent<'a> {
    fn find(state: &'a SessionState, command: &SpawnSubagent) -> Result<Self, Refusal> {
        let named = match &command.parent_subagent_id {
            Some(id) => Some(&state.subagents.get(id).ok_or_else(closed)?.record.thread_id),
            None => None,
        };
        if let (Some(own), Some(other)) = (named, &command.parent_thread_id)
            && own != other
        {
            return Err(Refusal::invalid("parent_thread_id is not the thread of parent_subagent_id"));
        }
        let thread = require_thread(state, named.or(command.parent_thread_id.as_ref()))?;
        takes_input(state, thread)?;
        if command.parent_turn_id.as_ref().is_some_and(|turn_id| !thread.remembers(turn_id)) {
            return Err(Refusal::not_found());
        }
        Ok(Self { thread, subagent: state.subagents.in_thread(&thread.thread_id) })
    }

    fn depth(&self) -> u32 {
        self.subagent.map_or(0, |parent| parent.record.depth) + 1
    }
}

fn check_bounds(
    state: &SessionState,
    parent: &Parent<'_>,
    command: &SpawnSubagent,
    context: &Context<'_>,
) -> Result<(), Refusal> {
    let limits = context.limits;
    check("subagent_depth", parent.depth() as usize, limits.subagent_depth_max as usize)?;
    check("subagents_open", state.subagents.open.len() + 1, limits.subagents_open_max)?;
    check("input_parts", command.input.len(), limits.input_parts_max)?;
    for name in [&command.role, &command.nickname] {
        limits.check_title(name.as_deref())?;
    }
    limits.check_metadata("metadata_bytes", &command.metadata)
}

fn spawned(
    parent: &Parent<'_>,
    agent: &str,
    thread_id: &ThreadId,
    bounds: Bounds,
    command: &SpawnSubagent,
    context: &Context<'_>,
) -> SubagentSpawned {
    SubagentSpawned {
        status: if command.input.is_empty() { SubagentState::Idle } else { SubagentState::Running },
        spawned_by: context.caller.to_owned(),
        agent: agent.to_owned(),
        child_thread_id: thread_id.clone(),
        parent_subagent_id: parent.subagent.map(|parent| parent.id().clone()),
        child_task_id: command.task_id.clone(),
        role: command.role.clone(),
        nickname: command.nickname.clone(),
        isolation: bounds.isolation,
        model_policy: Some(bounds.model_policy),
        permission_mode: Some(bounds.permission_mode),
        depth: parent.depth(),
        metadata: command.metadata.clone(),
    }
}
