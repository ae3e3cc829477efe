//! A child agent whose turn waits for somebody says so, and says when it goes on: its parent has nothing else to see it by.

use factum_model::events::SubagentStatus;
use factum_model::id::TurnId;
use factum_model::subagent::SubagentState;
use factum_model::value::Status;
use factum_model::{Fact, NewEvent};

use super::super::lookup::active_turn;
use super::super::state::SessionState;
use super::super::waiting::waits_most_for;

pub(in super::super) fn actions_changed(
    state: &SessionState,
    turn_id: &TurnId,
    caller: &str,
    events: &mut Vec<NewEvent>,
) {
    let of_child = active_turn(state, turn_id).and_then(|(thread, _)| state.subagents.in_thread(&thread.thread_id));
    let ends = |event: &NewEvent| {
        let over = matches!(event.fact, Fact::TurnCompleted(_) | Fact::TurnFailed(_));
        over && event.scope.turn_id.as_ref() == Some(turn_id)
    };
    // A turn that the same decision ends has its own fact for that.
    let Some(one) = of_child.filter(|_| !events.iter().any(ends)) else { return };
    let (status, detail) = match waits_most_for(state, turn_id, events) {
        Some((Status::WaitingPermission, prompt)) => (SubagentState::WaitingPermission, Some(prompt)),
        Some((_, prompt)) => (SubagentState::WaitingInput, Some(prompt)),
        None => (SubagentState::Running, None),
    };
    if one.record.status != status {
        let last_message_ref = one.record.last_message_ref.clone();
        let changed_by = Some(caller.to_owned());
        let fact = SubagentStatus { status, detail, last_message_ref, close_at: None, changed_by };
        events.push(NewEvent::new(one.scope().turn_id(turn_id), fact));
    }
}
