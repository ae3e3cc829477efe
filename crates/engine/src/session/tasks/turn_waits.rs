//! A task whose agent waits for a decision waits with it, and goes on when nothing is left to decide.

use std::collections::BTreeMap;

use factum_model::events::{ActionRequired, TaskResumed, TaskWaiting};
use factum_model::id::{ActionId, TurnId};
use factum_model::task::{Propagation, TaskStatus};
use factum_model::value::Status;
use factum_model::{Fact, NewEvent};

use super::draft::Draft;
use super::inbound;
use crate::context::Context;
use crate::session::state::{SessionState, waiting_status};

/// Called behind `events` that open or resolve actions of a turn: moves the task that the turn is done for.
pub(in super::super) fn actions_changed(
    state: &SessionState,
    turn_id: &TurnId,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    // Almost no turn is of a task.
    let (Some(_), Some(shell)) = (state.tasks.turns.get(turn_id), &state.shell) else { return };
    let mut draft = Draft::begin(state, &shell.session_id, &[], std::mem::take(events), context);
    // The same decision may have ended the turn, and with it the attempt.
    if let Some(task_id) = draft.tasks.turns.get(turn_id).cloned() {
        inbound::forward_permissions(&mut draft, &task_id, turn_id);
        let open = open_behind(state, turn_id, &draft.events);
        let status = draft.status(&task_id);
        let scope = draft.run_scope(&task_id);
        match waits_for(open.values().copied()) {
            Some((waiting, prompt)) if at_work(status) && status != waiting => {
                let reason = Some(prompt.to_owned());
                draft.push(scope, TaskWaiting { status: waiting, reason, resource: None, native_status: None });
            }
            None if at_work(status) && status != TaskStatus::Running => {
                let resumed_by = draft.context.caller.to_owned();
                let (reason, origin_task_id) = (None, None);
                let (status, propagation) = (TaskStatus::Running, Propagation::None);
                draft.push(scope, TaskResumed { status, resumed_by, reason, propagation, origin_task_id });
            }
            _ => {}
        }
    }
    *events = draft.events;
}

/// Only these follow the turn: a task that is paused or being cancelled stays so.
fn at_work(status: TaskStatus) -> bool {
    matches!(status, TaskStatus::Running | TaskStatus::WaitingInput | TaskStatus::WaitingPermission)
}

/// What a turn waits for, and the words it was asked in. A permission stands above a question: nothing else unlocks it.
fn waits_for<'a>(open: impl Iterator<Item = &'a ActionRequired>) -> Option<(TaskStatus, &'a str)> {
    let status = |required: &ActionRequired| match waiting_status(required.action_type) {
        Status::WaitingPermission => TaskStatus::WaitingPermission,
        _ => TaskStatus::WaitingInput,
    };
    let mut waits = open.map(|required| (status(required), required.prompt.as_str()));
    let first = waits.next()?;
    if first.0 == TaskStatus::WaitingPermission {
        return Some(first);
    }
    Some(waits.find(|(status, _)| *status == TaskStatus::WaitingPermission).unwrap_or(first))
}

/// The turn's open actions once `events` are recorded.
fn open_behind<'a>(
    state: &'a SessionState,
    turn_id: &'a TurnId,
    events: &'a [NewEvent],
) -> BTreeMap<ActionId, &'a ActionRequired> {
    let mut open: BTreeMap<ActionId, &ActionRequired> =
        state.actions_of(turn_id).map(|action| (action.action_id.clone(), &action.required)).collect();
    for event in events {
        let Some(action_id) = &event.scope.action_id else { continue };
        match &event.fact {
            Fact::ActionRequired(fact) if event.scope.turn_id.as_ref() == Some(turn_id) => {
                open.insert(action_id.clone(), fact);
            }
            Fact::ActionResolved(_) => drop(open.remove(action_id)),
            _ => {}
        }
    }
    open
}
