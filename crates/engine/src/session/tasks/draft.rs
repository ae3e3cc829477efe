//! A decision about tasks while it is being made: facts are applied to a copy as they are decided, so that what follows
//! from a fact is decided on what it changed.
//!
//! The copy shares what does not change with the state, which is left alone; the shell applies the same facts to it once
//! they are numbered.

use factum_model::events::{TaskCancelled, TaskCompleted, TaskRecalled};
use factum_model::id::{SessionId, TaskId};
use factum_model::task::*;
use factum_model::{Fact, NewEvent, Refusal, Scope};

use super::apply::apply_fact;
use super::reconcile;
use super::state::{Task, Tasks, is_open};
use super::weight::{REACH_BYTES_MAX, Weight};
use crate::context::{Context, Decision};
use crate::session::state::SessionState;

pub(super) struct Draft<'a, 'c> {
    pub(super) state: &'a SessionState,
    pub(super) session_id: SessionId,
    pub(super) tasks: Tasks,
    pub(super) context: &'a mut Context<'c>,
    pub(super) events: Vec<NewEvent>,
    /// Rows of tasks that the command names and that may have left the state.
    recalled: &'a [TaskRow],
    /// Tasks that ended; what is above them may be able to end too.
    ended: Vec<TaskId>,
    weight: Weight,
}

impl<'a, 'c> Draft<'a, 'c> {
    /// Begins behind facts that are decided already.
    pub(super) fn begin(
        state: &'a SessionState,
        session_id: &SessionId,
        recalled: &'a [TaskRow],
        events: Vec<NewEvent>,
        context: &'a mut Context<'c>,
    ) -> Self {
        let mut tasks = state.tasks.clone();
        for (event, sequence) in events.iter().zip(state.sequence + context.prelude + 1..) {
            apply_fact(&mut tasks, &event.scope, &event.fact, context.now, sequence);
        }
        Self {
            state,
            session_id: session_id.clone(),
            tasks,
            context,
            events,
            recalled,
            ended: Vec::new(),
            weight: Weight::up_to(REACH_BYTES_MAX),
        }
    }

    /// Decides about a session that exists.
    pub(super) fn of(
        state: &'a SessionState,
        recalled: &'a [TaskRow],
        context: &'a mut Context<'c>,
    ) -> Result<Self, Refusal> {
        let shell = crate::session::require_session(state)?;
        Ok(Self::begin(state, &shell.session_id, recalled, Vec::new(), context))
    }

    /// The envelope ids of a task's facts.
    pub(super) fn scope(&self, task_id: &TaskId) -> Scope {
        Scope::default().session_id(&self.session_id).task_id(task_id)
    }

    /// The envelope ids of its current run's facts.
    pub(super) fn run_scope(&self, task_id: &TaskId) -> Scope {
        let scope = self.scope(task_id);
        let attempt = self.tasks.get(task_id).and_then(|task| task.row.attempt.as_ref());
        let Some(attempt) = attempt else { return scope };
        let mut scope = scope.run_id(&attempt.run_id).attempt_id(&attempt.attempt_id);
        scope.thread_id.clone_from(&attempt.thread_id);
        scope.turn_id.clone_from(&attempt.turn_id);
        scope
    }

    /// Decides a fact.
    pub(super) fn push(&mut self, scope: Scope, fact: impl Into<Fact>) {
        self.push_event(NewEvent::new(scope, fact));
    }

    /// Decides a fact that has its references with it.
    pub(super) fn push_event(&mut self, event: NewEvent) {
        let sequence = self.sequence() + 1;
        apply_fact(&mut self.tasks, &event.scope, &event.fact, self.context.now, sequence);
        self.events.push(event);
    }

    /// Takes in facts that were decided elsewhere and stand behind the first `known`.
    pub(super) fn catch_up(&mut self, known: usize) {
        let first = self.state.sequence + self.context.prelude + known as u64 + 1;
        for (event, sequence) in self.events[known..].iter().zip(first..) {
            apply_fact(&mut self.tasks, &event.scope, &event.fact, self.context.now, sequence);
        }
    }

    /// The sequence of the last fact so far.
    pub(super) fn sequence(&self) -> u64 {
        self.context.sequence_after(self.state.sequence, &self.events)
    }

    /// The task, brought back where it had left.
    pub(super) fn require(&mut self, task_id: &TaskId) -> Result<Task, Refusal> {
        if self.tasks.get(task_id).is_none() {
            let row = self.left(task_id)?.clone();
            self.push(self.scope(task_id), TaskRecalled { record: row });
        }
        self.tasks.get(task_id).cloned().ok_or_else(Refusal::not_found)
    }

    /// The tasks at both ends of an edge. Bringing one back may push the other out, so they are asked for until both are
    /// there: those that came back last leave last.
    pub(super) fn require_both(&mut self, from: &TaskId, to: &TaskId) -> Result<(Task, Task), Refusal> {
        self.require(from)?;
        self.require(to)?;
        let from = self.require(from)?;
        Ok((from, self.require(to)?))
    }

    /// What is known of a task without bringing it back.
    pub(super) fn peek(&self, task_id: &TaskId) -> Result<&TaskRow, Refusal> {
        match self.tasks.get(task_id) {
            Some(task) => Ok(&task.row),
            None => self.left(task_id),
        }
    }

    fn left(&self, task_id: &TaskId) -> Result<&'a TaskRow, Refusal> {
        let row = self.recalled.iter().find(|row| row.task_id == *task_id && row.session_id == self.session_id);
        let row = row.ok_or_else(Refusal::not_found)?;
        if is_open(row.status) {
            // The row is older than the state: the task ended meanwhile.
            return Err(Refusal::unavailable("the task is just changing; try again").with("cause", "stale_row"));
        }
        Ok(row)
    }

    /// Where a task stands now.
    pub(super) fn status(&self, task_id: &TaskId) -> TaskStatus {
        self.tasks.get(task_id).map_or(TaskStatus::Unknown, |task| task.row.status)
    }

    /// Ends the task as cancelled.
    pub(super) fn cancelled(&mut self, task_id: &TaskId, by: &str, reason: Option<String>) {
        let fact = TaskCancelled { status: TaskStatus::Cancelled, cancelled_by: by.to_owned(), reason };
        self.push(self.scope(task_id), fact);
        self.over(task_id);
    }

    /// Ends the task as completed.
    pub(super) fn completed(&mut self, task_id: &TaskId, fact: TaskCompleted) {
        self.push(self.run_scope(task_id), fact);
        self.over(task_id);
    }

    /// A task ended: what is above it is looked at before the decision is.
    pub(super) fn over(&mut self, task_id: &TaskId) {
        super::inbound::tell_peer(self, task_id);
        self.ended.push(task_id.clone());
    }

    /// Whether the commit has as much as it may before anything else follows by itself.
    pub(super) fn is_full(&mut self) -> bool {
        self.weight.is_full(&self.tasks, &self.events)
    }

    /// Does what follows by itself, up to a bound; the rest stays on the agenda.
    pub(super) fn finish<T>(mut self, output: impl FnOnce(&Self) -> T) -> Decision<T> {
        super::agenda::work_off(&mut self);
        self.settle();
        let output = output(&self);
        Decision { events: self.events, output }
    }

    /// Ends what only waited for tasks below it.
    pub(super) fn settle(&mut self) {
        while let Some(task_id) = self.ended.pop() {
            let parent = self.tasks.get(&task_id).and_then(|task| task.row.parent_task_id.clone());
            if let Some(parent) = parent {
                self.settle_one(&parent);
            }
        }
    }

    /// Ends a task if it only waited for what is below it, and nothing there is open any more.
    pub(super) fn settle_one(&mut self, task_id: &TaskId) {
        let Some(task) = self.tasks.get(task_id) else { return };
        if self.tasks.open_below(task_id) > 0 {
            return;
        }
        if !task.is_open() {
            // It ended before what was below it did; what is above it waited for both.
            self.over(task_id);
        } else if task.only_settles() {
            let reason = task.row.status_reason.clone();
            // What there is no room for is on the agenda.
            if !self.is_full() {
                self.cancelled(task_id, "runtime://tasks", reason);
            }
        } else if reconcile::completes_by_itself(self.state, &self.tasks, task) {
            let fact = reconcile::completion(&self.tasks, task, "runtime://tasks");
            self.completed(task_id, fact);
        }
    }
}
