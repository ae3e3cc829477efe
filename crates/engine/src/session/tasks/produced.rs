//! What an agent keeps while it does a task is the task's: the artifact names it, and the graph has an edge to it.

use factum_model::events::{ArtifactChange, EdgeChange};
use factum_model::id::TurnId;
use factum_model::task::{EdgeStatus, Relationship};
use factum_model::{Fact, NewEvent};

use super::draft::Draft;
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
    // Almost no turn is of a task.
    let (Some(task_id), Some(shell)) = (state.tasks.turns.get(turn_id).cloned(), &state.shell) else { return };
    let mut produced = Vec::new();
    for event in events.iter_mut() {
        if let (Fact::ArtifactChanged(fact), Some(artifact_id)) = (&event.fact, &event.scope.artifact_id) {
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
