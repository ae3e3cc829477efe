//! The turn of an agent that does a task waited in its thread's queue, and starts: the attempt runs from here on.

use factum_model::NewEvent;
use factum_model::events::TaskStarted;
use factum_model::id::TurnId;
use factum_model::task::*;

use super::draft::Draft;
use crate::context::Context;
use crate::session::state::SessionState;

pub(in super::super) fn turn_started(
    state: &SessionState,
    turn_id: &TurnId,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    // Almost no turn is of a task.
    let (Some(task_id), Some(shell)) = (state.tasks.turns.get(turn_id), &state.shell) else { return };
    let mut draft = Draft::begin(state, &shell.session_id, &[], std::mem::take(events), context);
    let waited = draft.tasks.get(task_id).filter(|task| {
        let open = task.open_run().filter(|attempt| attempt.turn_id.as_ref() == Some(turn_id));
        open.is_some_and(|attempt| attempt.status == AttemptStatus::Queued)
    });
    if let Some(task) = waited {
        // One that was put aside or blocked meanwhile stays so, and its turn is not held up by that.
        let status = match task.row.status {
            TaskStatus::Queued => TaskStatus::Running,
            other => other,
        };
        let (started_by, attempt_count) = ("runtime://queue".to_owned(), task.attempt_count());
        let fact = TaskStarted { status, started_by, attempt_count, native_status: None };
        draft.push(draft.run_scope(task_id), fact);
    }
    *events = draft.events;
}
