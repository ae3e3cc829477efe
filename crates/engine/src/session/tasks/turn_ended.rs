//! The turn of an agent that does a task ended, and with it the attempt.

use factum_model::NewEvent;
use factum_model::task::*;
use factum_model::value::{Failure, Status};

use super::draft::Draft;
use super::finish_attempt::{Leavings, attempt_completed, attempt_failed};
use crate::context::Context;
use crate::session::state::SessionState;
use crate::session::turn_end::TurnEnded;

pub(in super::super) fn turn_ended(
    state: &SessionState,
    ended: &TurnEnded<'_>,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    // Almost no turn is of a task.
    let (Some(_), Some(shell)) = (state.tasks.turns.get(ended.turn_id), &state.shell) else { return };
    let mut draft = Draft::begin(state, &shell.session_id, &[], std::mem::take(events), context);
    // Whoever ended the turn for the task's sake has ended the attempt already, and finishes that decision itself.
    let Some(task_id) = draft.tasks.turns.get(ended.turn_id).cloned() else {
        *events = draft.events;
        return;
    };
    let leavings = Leavings { usage: ended.usage.clone(), ..Leavings::default() };
    let status = match ended.status {
        Status::Completed => None,
        Status::Cancelled => Some(AttemptStatus::Cancelled),
        Status::TimedOut => Some(AttemptStatus::TimedOut),
        _ => Some(AttemptStatus::Failed),
    };
    match status {
        None => attempt_completed(&mut draft, &task_id, ended.preview.clone(), leavings),
        Some(status) => attempt_failed(&mut draft, &task_id, status, error(ended), leavings),
    }
    *events = draft.finish(|_| ()).events;
}

fn error(ended: &TurnEnded<'_>) -> Failure {
    ended.error.clone().unwrap_or_else(|| Failure {
        category: "turn_failed".to_owned(),
        message: "the agent's turn did not complete".to_owned(),
        retryable: true,
        advice: None,
    })
}
