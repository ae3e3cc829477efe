//! What a peer says while its agent works: the agent hears it when the turn it is in has ended, as the input of the next one.
//!
//! Nothing is put into a turn that runs, because what it was asked is a fact already. A task with words its agent has not heard
//! does not complete: another attempt answers them first.

use factum_model::events::TaskRetrying;
use factum_model::id::TaskId;
use factum_model::task::{AttemptCause, TaskStatus};
use factum_model::value::Part;

use crate::session::tasks::draft::Draft;
use crate::session::tasks::finish_attempt::begin_again;
use crate::session::tasks::start_task::Start;

/// Begins another attempt where the last one ended well and its peer said more meanwhile. Says whether it did.
pub(in crate::session::tasks) fn follow_up(draft: &mut Draft<'_, '_>, task_id: &TaskId) -> bool {
    let unheard = draft.state.inbound.get(task_id).map(|link| link.unheard.clone()).unwrap_or_default();
    !unheard.is_empty() && answer_also(draft, task_id, unheard)
}

/// Gives `input` to the agent of a task that nobody works on now. Says whether it did.
pub(super) fn answer_also(draft: &mut Draft<'_, '_>, task_id: &TaskId, input: Vec<Part>) -> bool {
    let Some(task) = draft.tasks.get(task_id).filter(|task| task.open_run().is_none()) else { return false };
    if !matches!(task.row.status, TaskStatus::Running | TaskStatus::WaitingInput) {
        return false;
    }
    let Some(link) = draft.state.inbound.get(task_id) else { return false };
    let cause = AttemptCause::Rerun;
    let fact = TaskRetrying {
        status: TaskStatus::Retrying,
        cause,
        requested_by: link.principal.to_string(),
        reason: Some("its peer said more while the agent worked".to_owned()),
        attempt_count: task.attempt_count() + 1,
        previous_run_id: task.row.attempt.as_ref().map(|attempt| attempt.run_id.clone()),
        retry_at: None,
    };
    draft.push(draft.scope(task_id), fact);
    begin_again(draft, task_id, Start { cause, input: Some(input), ..Start::default() });
    true
}
