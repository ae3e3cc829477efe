//! Whether a task is one of the session, for whatever else names one: a job, a child agent.

use factum_model::Refusal;
use factum_model::id::TaskId;
use factum_model::task::TaskRow;

use crate::session::state::SessionState;

/// Refuses a task that this session does not have. `recalled` are the rows of the tasks that are named: one that ended may
/// have left the state, and a row of another session's task is as good as none.
pub(in super::super) fn require_known(
    state: &SessionState,
    recalled: &[TaskRow],
    task_id: Option<&TaskId>,
) -> Result<(), Refusal> {
    let Some(task_id) = task_id else { return Ok(()) };
    let here = state.shell.as_ref().map(|shell| &shell.session_id);
    let recalls = |row: &TaskRow| row.task_id == *task_id && Some(&row.session_id) == here;
    if state.tasks.get(task_id).is_some() || recalled.iter().any(recalls) {
        return Ok(());
    }
    Err(Refusal::not_found())
}
