//! Whether a task may complete: what it needs, and what of that is missing (CONTRACT, "Completion").

use std::collections::BTreeSet;

use factum_model::Refusal;
use factum_model::events::TaskCompleted;
use factum_model::id::TaskId;
use factum_model::task::*;
use serde_json::{Value, json};

use super::state::{Task, Tasks};
use crate::session::state::{OpenAction, SessionState};
use crate::session::subagents;

/// How many children, child agents or jobs a refusal names.
const NAMED_MAX: usize = 20;

/// Why a task waits once its run is over and nobody has said yet that this completes it.
pub(super) const AWAITS_OWNER: &str = "the run completed; complete_task or retry_task decides";

/// What is still missing, each with its kind. `run_counts` is whether an attempt without an outcome is in the way.
pub(super) fn missing(state: &SessionState, tasks: &Tasks, task: &Task, run_counts: bool) -> Vec<Value> {
    let mut missing = Vec::new();
    if let Some(acceptance) = &task.row.acceptance {
        let made = |name: &String| task.row.artifacts.contains(name) || task.row.artifact_names.contains(name);
        for name in acceptance.required_artifacts.iter().filter(|name| !made(name)) {
            missing.push(json!({ "kind": "artifact", "name": name }));
        }
        let has = |kind: &String| {
            task.row.evidence_refs.iter().any(|evidence| {
                evidence == kind
                    || evidence.strip_prefix(kind.as_str()).is_some_and(|rest| rest.starts_with([':', '/']))
            })
        };
        for kind in acceptance.required_evidence.iter().filter(|kind| !has(kind)) {
            missing.push(json!({ "kind": "evidence", "name": kind }));
        }
        let open = |criterion: &&Criterion| !matches!(criterion.state, CriterionState::Met | CriterionState::Waived);
        for criterion in acceptance.criteria.iter().filter(open) {
            missing
                .push(json!({ "kind": "criterion", "criterion_id": criterion.criterion_id, "state": criterion.state }));
        }
    }
    // What is being cancelled does not wait for others any more.
    let blockers = task.blockers.keys().filter(|_| task.row.status != TaskStatus::Cancelling);
    for blocker in blockers.take(NAMED_MAX) {
        let status = tasks.get(blocker).map(|task| task.row.status);
        missing.push(json!({ "kind": "blocker", "task_id": blocker, "status": status }));
    }
    let children = tasks.children.get(&task.row.task_id);
    for child in children.into_iter().flatten().take(NAMED_MAX) {
        let status = tasks.get(child).map(|task| task.row.status);
        missing.push(json!({ "kind": "child", "task_id": child, "status": status }));
    }
    missing.extend(helpers_at_work(state, tasks, &task.row.task_id));
    let attempt = task.row.attempt.as_ref();
    let thread = attempt.and_then(|attempt| attempt.thread_id.as_ref());
    // What a peer asked is over with its run.
    let asked = task.open_run().and_then(|attempt| state.delegations.get(&attempt.run_id)?.action.as_ref());
    let concerns = |action: &&OpenAction| thread == Some(&action.thread_id) || asked == Some(&action.action_id);
    for action in state.actions.iter().filter(concerns) {
        missing.push(json!({ "kind": "action", "action_id": action.action_id, "prompt": action.required.prompt }));
    }
    if let Some(attempt) = task.open_run().filter(|_| run_counts) {
        missing.push(
            json!({ "kind": "run", "run_id": attempt.run_id, "status": attempt.status, "worker": attempt.worker }),
        );
    }
    missing
}

/// The child agents and jobs that work for the task.
fn helpers_at_work(state: &SessionState, tasks: &Tasks, task_id: &TaskId) -> Vec<Value> {
    let agents = tasks.helpers.agents_of(task_id).filter(|(_, agent)| agent.at_work).map(|(id, _)| {
        let status = subagents::subagent_record(state, id).map(|record| record.status);
        json!({ "kind": "subagent", "subagent_id": id, "status": status })
    });
    let jobs = tasks
        .helpers
        .jobs_of(task_id)
        .map(|(id, _)| json!({ "kind": "job", "job_id": id, "status": state.jobs.status(id) }));
    agents.take(NAMED_MAX).chain(jobs.take(NAMED_MAX)).collect()
}

/// Refuses while something is missing, and says what.
pub(super) fn require_nothing_missing(missing: Vec<Value>, task: &Task) -> Result<(), Refusal> {
    if missing.is_empty() {
        return Ok(());
    }
    Err(Refusal::precondition("the task cannot complete yet; `missing` lists what it needs")
        .with("status", task.row.status.as_str())
        .with("missing", missing))
}

/// Takes over how criteria came out; those not named stay as they are. Each is named once, and is one of the task's: what it
/// needs is said by its acceptance, not by whoever completes it.
pub(super) fn settle_criteria(acceptance: &mut Acceptance, outcomes: &[Criterion]) -> Result<(), Refusal> {
    let mut named = BTreeSet::new();
    for outcome in outcomes {
        let criterion_id = outcome.criterion_id.as_str();
        if !named.insert(criterion_id) {
            return Err(Refusal::invalid("a criterion is named twice").with("criterion_id", criterion_id));
        }
        let known = acceptance.criteria.iter_mut().find(|criterion| criterion.criterion_id == criterion_id);
        let criterion = known.ok_or_else(|| {
            Refusal::invalid("the task has no such criterion; update_task adds one").with("criterion_id", criterion_id)
        })?;
        criterion.state = outcome.state;
        criterion.evidence_ref = outcome.evidence_ref.clone().or(criterion.evidence_ref.take());
        criterion.note = outcome.note.clone().or(criterion.note.take());
    }
    Ok(())
}

/// Whether a task that waits for its owner may complete without asking.
pub(super) fn completes_by_itself(state: &SessionState, tasks: &Tasks, task: &Task) -> bool {
    task.row.status == TaskStatus::WaitingInput && is_enough(state, tasks, task)
}

/// Whether the owner said beforehand that this is enough: the run completed and nothing is missing.
pub(super) fn is_enough(state: &SessionState, tasks: &Tasks, task: &Task) -> bool {
    let done = task.row.attempt.as_ref().is_some_and(|attempt| attempt.status == AttemptStatus::Completed);
    task.row.execution.auto_complete && done && missing(state, tasks, task, true).is_empty()
}

/// The fact that completes a task with what is known of it.
pub(super) fn completion(tasks: &Tasks, task: &Task, by: &str) -> TaskCompleted {
    let attempt = task.row.attempt.as_ref();
    TaskCompleted {
        status: TaskStatus::Completed,
        completed_by: by.to_owned(),
        summary: attempt.and_then(|attempt| attempt.completion_summary.clone()),
        acceptance: task.row.acceptance.clone(),
        artifacts: Vec::new(),
        evidence_refs: Vec::new(),
        output_refs: attempt.map(|attempt| attempt.output_refs.clone()).unwrap_or_default(),
        delivery_state: delivery(tasks, &task.row),
        native_status: None,
    }
}

/// Whether the outcome reaches whoever asked: a parent that is open has it in its own log.
pub(super) fn delivery(tasks: &Tasks, row: &TaskRow) -> DeliveryState {
    match &row.parent_task_id {
        None => row.delivery_state,
        Some(parent) if tasks.get(parent).is_some_and(Task::is_open) => DeliveryState::Delivered,
        Some(_) => DeliveryState::ParentMissing,
    }
}
