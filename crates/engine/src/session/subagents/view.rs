//! Where a child agent stands, read from its thread: nothing is said to run that no turn runs.

use factum_model::id::SubagentId;
use factum_model::subagent::{SubagentRecord, SubagentState};
use factum_model::value::Status;

use super::super::state::SessionState;
use super::state::Subagent;

/// The record of an open child agent; `None` for a closed one, whose record is in its row.
pub fn subagent_record(state: &SessionState, id: &SubagentId) -> Option<SubagentRecord> {
    state.subagents.get(id).map(|one| record(state, one))
}

/// Whether its work is over, for now or for good.
pub fn is_at_rest(status: SubagentState) -> bool {
    use SubagentState::{Cancelled, Closed, Completed, Failed, Idle, Lost};
    matches!(status, Idle | Completed | Failed | Cancelled | Lost | Closed)
}

pub(super) fn record(state: &SessionState, one: &Subagent) -> SubagentRecord {
    let thread = state.thread(&one.record.thread_id);
    let updated_at = thread.map_or(one.record.updated_at, |thread| thread.updated_at.max(one.record.updated_at));
    SubagentRecord { status: status(state, one), updated_at, ..one.record.clone() }
}

/// Its status as readers see it.
pub(super) fn status(state: &SessionState, one: &Subagent) -> SubagentState {
    if one.closing.is_some() { SubagentState::Closing } else { work(state, one) }
}

/// What its work is at, whether or not it is being closed.
pub(super) fn work(state: &SessionState, one: &Subagent) -> SubagentState {
    let Some(thread) = state.thread(&one.record.thread_id) else { return SubagentState::Unknown };
    match &thread.active {
        Some(turn) => match turn.status(state) {
            Status::WaitingInput => SubagentState::WaitingInput,
            Status::WaitingPermission => SubagentState::WaitingPermission,
            _ => SubagentState::Running,
        },
        None if !thread.queue.is_empty() => SubagentState::Running,
        // Its turn ended without a word about it, which no decision does.
        None if one.record.status == SubagentState::Running => SubagentState::Unknown,
        None => one.record.status,
    }
}
