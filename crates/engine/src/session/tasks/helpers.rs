//! Who works for a task beside its own runs: child agents that were spawned for it or linked to it, and jobs of it. The fold of that, and
//! the questions a decision asks of it.
//!
//! Helpers at work stand in a task's way as open children do: it does not complete while there are any, and one that ended
//! stays in the graph until they have settled. So the task of a helper is always in the state. A child agent that rests
//! stays its task's until the task ends; what it is asked to do later is nobody's but its own.

use factum_model::Fact;
use factum_model::Scope;
use factum_model::events::EdgeChange;
use factum_model::id::{JobId, SubagentId, TaskId, ThreadId};
use factum_model::subagent::SubagentState;
use factum_model::task::{Edge, EdgeStatus};
use imbl::OrdMap;
use serde::{Deserialize, Serialize};

use super::endings::retire_from;
use super::state::{Since, Task, Tasks};

/// The helpers of a session's tasks; bounded by `subagents_open_max` and `jobs_open_max`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Helpers {
    pub(super) agents: OrdMap<SubagentId, Agent>,
    pub(super) jobs: OrdMap<JobId, TaskJob>,
}

/// A child agent of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Agent {
    pub(super) task_id: TaskId,
    pub(super) thread_id: ThreadId,
    pub(super) at_work: bool,
    /// Its edge, while that is active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) edge: Option<Since>,
}

/// A job of a task that is not over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TaskJob {
    pub(super) task_id: TaskId,
    /// Somebody wants it to end already.
    pub(super) stopping: bool,
}

impl Helpers {
    pub(super) fn is_empty(&self) -> bool {
        self.agents.is_empty() && self.jobs.is_empty()
    }

    /// How many are at work for a task.
    pub(super) fn at_work(&self, task_id: &TaskId) -> usize {
        if self.is_empty() {
            return 0;
        }
        self.agents_of(task_id).filter(|(_, agent)| agent.at_work).count() + self.jobs_of(task_id).count()
    }

    pub(super) fn agents_of<'a>(&'a self, task_id: &'a TaskId) -> impl Iterator<Item = (&'a SubagentId, &'a Agent)> {
        self.agents.iter().filter(move |(_, agent)| agent.task_id == *task_id)
    }

    pub(super) fn jobs_of<'a>(&'a self, task_id: &'a TaskId) -> impl Iterator<Item = (&'a JobId, &'a TaskJob)> {
        self.jobs.iter().filter(move |(_, job)| job.task_id == *task_id)
    }

    /// A task ended: those that rest are not its any more.
    pub(super) fn task_ended(&mut self, task_id: &TaskId) {
        let resting: Vec<SubagentId> =
            self.agents_of(task_id).filter(|(_, agent)| !agent.at_work).map(|(id, _)| id.clone()).collect();
        for subagent_id in resting {
            self.agents.remove(&subagent_id);
        }
    }
}

/// Applies a fact that may be about a helper.
pub(super) fn apply(tasks: &mut Tasks, scope: &Scope, fact: &Fact) {
    match fact {
        Fact::SubagentSpawned(fact) => {
            let (Some(task_id), Some(subagent_id)) = (open_task(tasks, scope), scope.subagent_id.clone()) else {
                return;
            };
            let (thread_id, at_work) = (fact.child_thread_id.clone(), fact.status != SubagentState::Idle);
            tasks.helpers.agents.insert(subagent_id, Agent { task_id, thread_id, at_work, edge: None });
        }
        // Also of a turn that somebody submitted to the thread directly.
        Fact::TurnStarted(_) => works(tasks, scope),
        Fact::SubagentCompleted(_) | Fact::SubagentFailed(_) => rests(tasks, scope),
        Fact::SubagentClosed(_) => {
            let Some(subagent_id) = &scope.subagent_id else { return };
            tasks.agenda.close.remove(subagent_id);
            release(tasks, subagent_id);
        }
        Fact::JobCreated(_) => begin_job(tasks, scope),
        Fact::JobItemRetrying(fact) if fact.reopened.is_some() => begin_job(tasks, scope),
        Fact::JobCancelRequested(_) => {
            let Some(job_id) = &scope.job_id else { return };
            tasks.agenda.stop.remove(job_id);
            if let Some(job) = tasks.helpers.jobs.get_mut(job_id) {
                job.stopping = true;
            }
        }
        Fact::JobCompleted(_) | Fact::JobFailed(_) | Fact::JobCancelled(_) => {
            let Some(job_id) = &scope.job_id else { return };
            tasks.agenda.stop.remove(job_id);
            if let Some(job) = tasks.helpers.jobs.remove(job_id) {
                retire_from(tasks, &job.task_id);
            }
        }
        _ => {}
    }
}

/// The edge of a child agent changed. One that was not spawned for the task is its from here on: the fact names its thread.
pub(super) fn apply_edge(tasks: &mut Tasks, scope: &Scope, edge: &Edge, change: EdgeChange) {
    let Ok(subagent_id) = edge.to.parse::<SubagentId>() else { return };
    let linked = scope.thread_id.clone().filter(|_| change == EdgeChange::Added && tasks.is_open(&edge.from));
    if let Some(thread_id) = linked.filter(|_| !tasks.helpers.agents.contains_key(&subagent_id)) {
        let (task_id, at_work) = (edge.from.clone(), edge.status == EdgeStatus::Active);
        tasks.helpers.agents.insert(subagent_id.clone(), Agent { task_id, thread_id, at_work, edge: None });
    }
    let Some(agent) = tasks.helpers.agents.get_mut(&subagent_id).filter(|agent| agent.task_id == edge.from) else {
        return;
    };
    match change {
        EdgeChange::Added | EdgeChange::Updated if edge.status == EdgeStatus::Active => {
            agent.edge = Some(Since { at: edge.created_at, reason: edge.reason.clone() });
        }
        // Whoever takes the edge away says that it is not the task's any more.
        EdgeChange::Removed => release(tasks, &subagent_id),
        _ => agent.edge = None,
    }
}

/// Nothing new begins below a task that ended, except in logs of older versions.
fn open_task(tasks: &Tasks, scope: &Scope) -> Option<TaskId> {
    scope.task_id.clone().filter(|task_id| tasks.get(task_id).is_some_and(Task::is_open))
}

fn begin_job(tasks: &mut Tasks, scope: &Scope) {
    if let (Some(task_id), Some(job_id)) = (open_task(tasks, scope), scope.job_id.clone()) {
        tasks.helpers.jobs.insert(job_id, TaskJob { task_id, stopping: false });
    }
}

fn works(tasks: &mut Tasks, scope: &Scope) {
    let agents = &mut tasks.helpers.agents;
    // Almost no turn is of a helper.
    let of = agents.iter().find(|(_, agent)| Some(&agent.thread_id) == scope.thread_id.as_ref());
    let Some(subagent_id) = of.map(|(subagent_id, _)| subagent_id.clone()) else { return };
    if let Some(agent) = agents.get_mut(&subagent_id) {
        agent.at_work = true;
        // A task that was about to settle waits for it.
        tasks.agenda.settle.remove(&agent.task_id);
    }
}

fn rests(tasks: &mut Tasks, scope: &Scope) {
    let Some(subagent_id) = &scope.subagent_id else { return };
    let Some(agent) = tasks.helpers.agents.get_mut(subagent_id) else { return };
    agent.at_work = false;
    let task_id = agent.task_id.clone();
    if !tasks.is_open(&task_id) {
        release(tasks, subagent_id);
    }
}

fn release(tasks: &mut Tasks, subagent_id: &SubagentId) {
    if let Some(agent) = tasks.helpers.agents.remove(subagent_id) {
        retire_from(tasks, &agent.task_id);
    }
}
