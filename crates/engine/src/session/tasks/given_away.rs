//! Work that an agent gives to a peer in the middle of a turn: a task whose id follows from the tool call's, so that a call
//! that runs again after a crash finds it.
//!
//! It is made only while its call runs, and called back in the very commit that ends the turn. So whenever the runtime
//! stops, no peer works for a turn that is over without there being a fact that says it has to be told.

use factum_model::commands::CreateTask;
use factum_model::events::EdgeChange;
use factum_model::id::{TaskId, ToolCallId};
use factum_model::report::Runner;
use factum_model::task::*;
use factum_model::{NewEvent, Refusal};
use serde_json::json;

use super::cancel_task::cancel;
use super::create_task::create_task;
use super::draft::Draft;
use super::link_tasks::add_edge;
use super::state::{Order, Task};
use crate::context::{Context, Decision};
use crate::session::lookup::require_session;
use crate::session::report::{require_call, running};
use crate::session::state::{ActiveTurn, CallState, SessionState};

/// What such a task is called; whoever follows the turn knows it by that.
pub(super) const KIND: &str = "delegation";

/// What a tool call asks of a peer.
#[derive(Clone, Copy, Debug)]
pub struct GivenAway<'a> {
    pub tool_call_id: &'a ToolCallId,
    pub peer: &'a str,
    pub message: &'a str,
}

/// The task that a tool call gives away. There is none where the call's id is too long to be a part of another.
pub fn task_of_call(tool_call_id: &ToolCallId) -> Option<TaskId> {
    format!("task_of_{tool_call_id}").parse().ok()
}

/// Makes the task of a call that runs, or finds it. A turn that is over gives nothing away any more. `recalled` is the row
/// of the task, if there is one.
pub fn give_away(
    state: &SessionState,
    runner: &Runner,
    work: GivenAway<'_>,
    recalled: &[TaskRow],
    context: &mut Context<'_>,
) -> Result<Decision<TaskId>, Refusal> {
    let shell = require_session(state)?;
    let (_, turn) = running(state, runner)?;
    require_call(turn, work.tool_call_id, CallState::Running)?;
    let unusable = || Refusal::invalid("the tool call has no id that a task can have");
    let task_id = task_of_call(work.tool_call_id).ok_or_else(unusable)?;
    let known = state.tasks.get(&task_id).map(|task| &task.row);
    let known = known.or_else(|| recalled.iter().find(|row| row.task_id == task_id));
    if known.is_some_and(|row| row.session_id == shell.session_id && row.turn_id.as_ref() == Some(&turn.turn_id)) {
        return Ok(Decision { events: Vec::new(), output: task_id });
    }
    let params = json!({
        "session_id": shell.session_id,
        "thread_id": runner.thread_id,
        "turn_id": runner.turn_id,
        "task_id": task_id,
        "objective": work.message,
        "task_kind": KIND,
        "status": TaskStatus::Queued,
        "peer": work.peer,
        "auto_complete": true,
    });
    let command: CreateTask = serde_json::from_value(params).map_err(|error| Refusal::invalid(error.to_string()))?;
    let made = create_task(state, &shell.session_id, &shell.agent, recalled, &command, context)?;
    let mut draft = Draft::begin(state, &shell.session_id, &[], made.events, context);
    // It is no child of the task that the turn is done for: what becomes of it is the call's business, and a call may fail.
    if let Some(source) = state.tasks.owner_of(&turn.turn_id).and_then(|owner| owner.task_id) {
        let (to, kind) = (source.as_str(), Relationship::SourceTask);
        add_edge(&mut draft, &task_id, to, kind, EdgeStatus::Active, None, EdgeChange::Added);
    }
    Ok(Decision { events: draft.events, output: task_id })
}

/// Calls back what the open calls of a turn gave away. The turn ends in the same commit.
pub(in super::super) fn call_back(
    state: &SessionState,
    turn: &ActiveTurn,
    ended_by: &str,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    let given: Vec<TaskId> = turn
        .calls
        .iter()
        .filter_map(|call| task_of_call(&call.tool_call_id))
        .filter(|task_id| state.tasks.get(task_id).is_some_and(|task| task.row.turn_id.as_ref() == Some(&turn.turn_id)))
        .collect();
    // Almost no turn gives anything away.
    let (false, Some(shell)) = (given.is_empty(), &state.shell) else { return };
    let mut draft = Draft::begin(state, &shell.session_id, &[], std::mem::take(events), context);
    for task_id in given {
        if draft.tasks.get(&task_id).is_some_and(may_be_called_back) {
            let order = Order {
                origin: task_id.clone(),
                by: ended_by.to_owned(),
                reason: Some("the turn that gave it away is over".to_owned()),
                propagation: Propagation::Descendants,
                unbegun: false,
            };
            cancel(&mut draft, &task_id, &order, false);
        }
    }
    // What follows from this is on the agenda, and whoever ends the turn may be in the middle of working that off.
    *events = draft.events;
}

/// One that is lost stays so: a person has to look where it is.
fn may_be_called_back(task: &Task) -> bool {
    task.is_open() && !matches!(task.row.status, TaskStatus::Cancelling | TaskStatus::Lost)
}
