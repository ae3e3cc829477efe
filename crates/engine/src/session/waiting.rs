//! What a turn waits for, and whom that concerns: the task it is done for waits with it, and so does the child agent whose
//! turn it is.

use std::collections::BTreeMap;

use factum_model::events::ActionRequired;
use factum_model::id::{ActionId, TurnId};
use factum_model::value::Status;
use factum_model::{Fact, NewEvent};

use super::state::{SessionState, waiting_status};
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

/// What a turn waits for once `events` are recorded, and the words it was asked in. A permission stands above a question:
/// nothing else unlocks it.
pub(super) fn waits_for(state: &SessionState, turn_id: &TurnId, events: &[NewEvent]) -> Option<(Status, String)> {
    let open = open_behind(state, turn_id, events);
    let mut waits = open.values().map(|required| (waiting_status(required.action_type), required.prompt.as_str()));
    let first = waits.next()?;
    let permission = |wait: &(Status, &str)| wait.0 == Status::WaitingPermission;
    let (status, prompt) = if permission(&first) { first } else { waits.find(permission).unwrap_or(first) };
    Some((status, prompt.to_owned()))
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
