//! Whom a turn is done for. The facts of a turn name the task, the item of a job or the child agent behind it, with its run,
//! so that whoever follows one of those sees everything that happens for it.
//!
//! The ids are put in once, behind a decision: what decides about turns does not know about tasks.

use factum_model::id::{ThreadId, TurnId};
use factum_model::{Fact, NewEvent, Scope};

use super::state::SessionState;

/// Completes the ids of facts about turns that `state` knows.
pub fn name_owners(state: &SessionState, events: &mut [NewEvent]) {
    if !state.tasks.has_turns() && state.jobs.is_empty() && state.subagents.is_empty() {
        return;
    }
    for event in events {
        if !is_named(&event.scope) && (is_of_turn(&event.scope, &event.fact) || is_artifact(&event.fact)) {
            name_owner(state, event);
        }
    }
}

/// Whether a fact is about a turn and says nothing of its own about a task, even where it names one.
pub(super) fn is_of_turn(scope: &Scope, fact: &Fact) -> bool {
    scope.turn_id.is_some()
        && matches!(
            fact,
            Fact::TurnSubmitted(_)
                | Fact::TurnStarted(_)
                | Fact::TurnCompleted(_)
                | Fact::TurnFailed(_)
                | Fact::QueueChanged(_)
                | Fact::RunStatus(_)
                | Fact::ModelRequested(_)
                | Fact::ModelDelta(_)
                | Fact::ModelCompleted(_)
                | Fact::ModelFailed(_)
                | Fact::ReasoningDelta(_)
                | Fact::ReasoningSummary(_)
                | Fact::ToolCatalogResolved(_)
                | Fact::ToolStarted(_)
                | Fact::ToolArgs(_)
                | Fact::ToolProgress(_)
                | Fact::ToolResult(_)
                | Fact::ToolFailed(_)
                | Fact::ActionRequired(_)
                | Fact::ActionResolved(_)
        )
}

fn is_artifact(fact: &Fact) -> bool {
    matches!(fact, Fact::ArtifactChanged(_))
}

fn is_named(scope: &Scope) -> bool {
    scope.task_id.is_some() || scope.job_id.is_some() || scope.subagent_id.is_some()
}

fn name_owner(state: &SessionState, event: &mut NewEvent) {
    let (Some(thread_id), Some(turn_id)) = (&event.scope.thread_id, &event.scope.turn_id) else { return };
    let Some(owner) = owner(state, thread_id, turn_id) else { return };
    let scope = &mut event.scope;
    // Which artifacts are a task's is decided where they are made, together with their edges.
    if !is_artifact(&event.fact) {
        scope.task_id = owner.task_id;
    }
    scope.run_id = owner.run_id;
    scope.attempt_id = owner.attempt_id;
    scope.job_id = owner.job_id;
    scope.job_item_id = owner.job_item_id;
    scope.subagent_id = owner.subagent_id;
}

fn owner(state: &SessionState, thread_id: &ThreadId, turn_id: &TurnId) -> Option<Scope> {
    let child = || state.subagents.in_thread(thread_id).map(|one| Scope::default().subagent_id(one.id()));
    state.tasks.owner_of(turn_id).or_else(|| state.jobs.owner_of(turn_id)).or_else(child)
}
