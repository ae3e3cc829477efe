//! What a turn waits for, and whom that concerns: the task it is done for waits with it, and so does the child agent whose
//! turn it is. What a peer asks, to whom a call of the turn gave work, is asked in the turn too.

use factum_model::asked::asked_now;
use factum_model::events::ActionRequired;
use factum_model::id::{ActionId, TaskId, TurnId};
use factum_model::value::Status;
use factum_model::{Fact, NewEvent};

use super::lookup::active_turn;
use super::state::{ActiveTurn, OpenAction, OpenCall, SessionState, waiting_status};
use super::{subagents, tasks};
use crate::context::Context;

/// Called behind `events` that open or resolve actions of a turn.
pub(super) fn actions_changed(
    state: &SessionState,
    turn_id: &TurnId,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    tasks::actions_changed(state, turn_id, context, events);
    subagents::actions_changed(state, turn_id, context.caller, events);
}

/// What a turn waits for once `events` are recorded, and the words it was asked in: as its task says it, whose peer is shown that
/// and answers it.
pub(super) fn waits_for(state: &SessionState, turn_id: &TurnId, events: &[NewEvent]) -> Option<(Status, String)> {
    asked_now(open_behind(state, turn_id, events)).map(|(_, required)| wait(required))
}

/// The same for whoever has to know what is open rather than to answer it: a permission stands above a question, since nothing else
/// unlocks it.
pub(super) fn waits_most_for(state: &SessionState, turn_id: &TurnId, events: &[NewEvent]) -> Option<(Status, String)> {
    let open = open_behind(state, turn_id, events);
    let permission = open.iter().find(|(_, required)| required.action_type.is_permission());
    permission.or(open.first()).map(|(_, required)| wait(required))
}

fn wait(required: &ActionRequired) -> (Status, String) {
    (waiting_status(required.action_type), required.prompt.clone())
}

/// The turn that an open action is asked in.
pub(super) fn asking_turn<'a>(state: &'a SessionState, action: &'a OpenAction) -> Option<&'a TurnId> {
    let given = || giver(state, &state.delegations.of_action(&action.action_id)?.task_id);
    action.turn_id.as_ref().or_else(given)
}

/// The open actions that are asked in a turn, oldest first.
pub(crate) fn asked_in<'a>(state: &'a SessionState, turn_id: &'a TurnId) -> impl Iterator<Item = &'a OpenAction> {
    state.actions.iter().filter(move |action| asking_turn(state, action) == Some(turn_id))
}

/// Whether a fact that is about to be recorded asks something in a turn.
pub(super) fn asks_in(state: &SessionState, turn_id: &TurnId, event: &NewEvent) -> bool {
    let given = || giver(state, event.scope.task_id.as_ref()?);
    matches!(event.fact, Fact::ActionRequired(_)) && event.scope.turn_id.as_ref().or_else(given) == Some(turn_id)
}

/// The turn at work whose call gave a task to a peer.
pub(super) fn giver<'a>(state: &'a SessionState, task_id: &TaskId) -> Option<&'a TurnId> {
    gave(state, state.tasks.made_in(task_id)?, task_id).map(|turn| &turn.turn_id)
}

/// The turn, if it is at work and a call of it gave the task to a peer.
pub(super) fn gave<'a>(state: &'a SessionState, turn_id: &TurnId, task_id: &TaskId) -> Option<&'a ActiveTurn> {
    let (_, turn) = active_turn(state, turn_id)?;
    let gave = |call: &OpenCall| tasks::task_of_call(&call.tool_call_id).as_ref() == Some(task_id);
    turn.calls.iter().any(gave).then_some(turn)
}

/// The turn's open actions once `events` are recorded, oldest first.
fn open_behind<'a>(
    state: &'a SessionState,
    turn_id: &'a TurnId,
    events: &'a [NewEvent],
) -> Vec<(&'a ActionId, &'a ActionRequired)> {
    let mut open: Vec<(&ActionId, &ActionRequired)> =
        asked_in(state, turn_id).map(|action| (&action.action_id, &action.required)).collect();
    for event in events {
        let Some(action_id) = &event.scope.action_id else { continue };
        match &event.fact {
            Fact::ActionRequired(fact) if asks_in(state, turn_id, event) => open.push((action_id, fact)),
            Fact::ActionResolved(_) => open.retain(|(known, _)| *known != action_id),
            _ => {}
        }
    }
    open
}
