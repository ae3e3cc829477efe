//! The answer of commands that may reach further than the task they name.

use factum_model::commands::PropagatedTaskResult;
use factum_model::id::TaskId;

use super::draft::Draft;
use crate::context::Decision;

/// How many of the tasks it reached an answer names.
const NAMED_MAX: usize = 100;

/// Finishes the decision and says what this commit reached.
pub(super) fn answer(draft: Draft<'_, '_>, task_id: &TaskId) -> Decision<PropagatedTaskResult> {
    draft.finish(|draft| {
        let mut affected: Vec<TaskId> = Vec::new();
        for reached in draft.events.iter().filter_map(|event| event.scope.task_id.as_ref()) {
            // Facts about one task stand together.
            if reached != task_id && affected.last() != Some(reached) {
                affected.push(reached.clone());
            }
        }
        affected.sort();
        affected.dedup();
        let affected_total = affected.len() as u64;
        affected.truncate(NAMED_MAX);
        PropagatedTaskResult {
            task_id: task_id.clone(),
            status: draft.status(task_id),
            affected_task_ids: affected,
            affected_total,
            sequence: draft.sequence(),
        }
    })
}
