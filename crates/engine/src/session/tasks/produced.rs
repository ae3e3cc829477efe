//! What an agent keeps while it does a task is the task's: the artifact names it, and the graph has an edge to it.

use factum_model::events::{ArtifactChange, EdgeChange};
use factum_model::id::TurnId;
use factum_model::task::{EdgeStatus, Relationship, TaskRow};
use factum_model::{Fact, NewEvent};

use super::draft::Draft;
use super::fields::check_artifacts;
use super::link_tasks::add_edge;
use crate::context::Context;
use crate::session::state::SessionState;

/// Called behind `events` of a turn, which may have artifacts among them.
pub(in super::super) fn artifacts_produced(
    state: &SessionState,
    turn_id: &TurnId,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    // Most answers leave nothing behind.
    if !events.iter().any(|event| matches!(event.fact, Fact::ArtifactChanged(_))) {
        return;
    }
    // Almost no turn is of a task.
    let (Some(task_id), Some(shell)) = (state.tasks.turns.get(turn_id).cloned(), &state.shell) else { return };
    let mut produced = Vec::new();
    let mut row = state.tasks.get(&task_id).map(|task| task.row.clone());
    for event in events.iter_mut() {
        if let (Fact::ArtifactChanged(fact), Some(artifact_id)) = (&event.fact, &event.scope.artifact_id) {
            // One that the task has no room for is the turn's alone.
            if row.as_mut().is_some_and(|row| !takes(row, artifact_id.as_str(), fact.name.as_deref(), context)) {
                continue;
            }
            if fact.change == ArtifactChange::Created {
                produced.push(artifact_id.clone());
            }
            event.scope.task_id = Some(task_id.clone());
        }
    }
    if produced.is_empty() {
        return;
    }
    let mut draft = Draft::begin(state, &shell.session_id, &[], std::mem::take(events), context);
    let edges = draft.tasks.get(&task_id).map_or(0, |task| task.row.edges as usize);
    let room = draft.context.limits.task_edges_max.saturating_sub(edges);
    for artifact_id in produced.iter().take(room) {
        let (to, kind) = (artifact_id.as_str(), Relationship::ProducedArtifact);
        add_edge(&mut draft, &task_id, to, kind, EdgeStatus::Active, None, EdgeChange::Added);
    }
    *events = draft.events;
}

/// Whether a task has room for another artifact; it is noted there.
fn takes(row: &mut TaskRow, artifact_id: &str, name: Option<&str>, context: &Context<'_>) -> bool {
    let fits = check_artifacts(row, [artifact_id].into_iter().chain(name), context.limits).is_ok();
    if fits {
        row.artifacts.push(artifact_id.to_owned());
        row.artifact_names.extend(name.map(str::to_owned));
    }
    fits
}
