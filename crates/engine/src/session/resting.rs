//! Threads whose work is over. They do not count against `threads_max`, the last few of them stay as they are, and the
//! others leave the session; a row of the index then says what they came to.
//!
//! Only threads that the runtime opened for something leave, once that has ended and nothing is under way in them: the
//! main thread stays for ever. Where work comes back to a thread that is still here it goes on there; behind one that has
//! left, a new one is opened.

use std::collections::VecDeque;

use factum_model::events::{ThreadOrigin, ThreadStarted};
use factum_model::id::{JobId, SessionId, SubagentId, TaskId, ThreadId};
use factum_model::read::ThreadReadModel;
use factum_model::{Event, Fact, Scope};
use serde::{Deserialize, Serialize};

use super::index::put;
use super::read_model::thread_read_model;
use super::state::{SessionState, Shell, Thread};
use crate::key::{IndexChange, Key};

/// How many threads at rest stay with their session. Few in tests, so that they leave all the time.
const KEPT_MAX: usize = if cfg!(test) { 2 } else { 64 };

/// What the thread of this id came to, once it has left its session: a `ThreadReadModel`.
pub fn left_thread_key(account: &str, session_id: &SessionId, thread_id: &ThreadId) -> Vec<u8> {
    Key::table("thread_left").text(account).text(session_id.as_str()).text(thread_id.as_str()).into_bytes()
}

/// What the runtime opened a thread for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    Task(TaskId),
    Job(JobId),
    Subagent(SubagentId),
}

impl Owner {
    pub(super) fn of(scope: &Scope, fact: &ThreadStarted) -> Option<Owner> {
        match fact.origin {
            ThreadOrigin::Session | ThreadOrigin::Delegation => None,
            ThreadOrigin::Task => scope.task_id.clone().map(Owner::Task),
            ThreadOrigin::Job => scope.job_id.clone().map(Owner::Job),
            ThreadOrigin::Subagent => scope.subagent_id.clone().map(Owner::Subagent),
        }
    }

    fn is_named(&self, scope: &Scope) -> bool {
        match self {
            Owner::Task(id) => scope.task_id.as_ref() == Some(id),
            Owner::Job(id) => scope.job_id.as_ref() == Some(id),
            Owner::Subagent(id) => scope.subagent_id.as_ref() == Some(id),
        }
    }

    fn is_open(&self, state: &SessionState) -> bool {
        match self {
            Owner::Task(id) => state.tasks.is_open(id),
            Owner::Job(id) => state.jobs.is_open(id),
            Owner::Subagent(id) => state.subagents.is_open(id),
        }
    }
}

/// The threads of a session that are at rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resting {
    /// The last to come to rest at the end.
    threads: VecDeque<ThreadId>,
    /// What the last event pushed out of the session.
    #[serde(skip)]
    left: Left,
}

/// Not a part of the state: two that differ in it only are the same.
#[derive(Clone, Debug, Default)]
struct Left(Vec<ThreadReadModel>);

impl PartialEq for Left {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Resting {
    pub(super) fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.threads.len()
    }

    pub(super) fn contains(&self, thread_id: &ThreadId) -> bool {
        self.threads.contains(thread_id)
    }
}

/// Applies one event, behind everything else that it changes.
pub(super) fn apply(state: &mut SessionState, event: &Event) {
    state.resting.left.0.clear();
    // Most sessions have their main thread only, and most facts neither begin nor end anything.
    if state.threads.len() < 2 || !(begins_work(&event.fact) || ends_work(&event.fact)) {
        return;
    }
    let concerned = state.threads.iter().filter(|thread| concerns(&event.scope, thread));
    let (over, at_work): (Vec<_>, Vec<_>) = concerned.partition(|thread| is_over(state, thread));
    let [over, at_work] = [over, at_work].map(|threads| threads.into_iter().map(id_of).collect::<Vec<_>>());
    state.resting.threads.retain(|thread_id| !at_work.contains(thread_id));
    // One that rests already may leave because of the others: it does not come back then.
    let new: Vec<_> = over.into_iter().filter(|thread_id| !state.resting.contains(thread_id)).collect();
    new.into_iter().for_each(|thread_id| rest(state, thread_id));
}

fn id_of(thread: &Thread) -> ThreadId {
    thread.thread_id.clone()
}

/// In a thread, or of what threads are opened for; the second may be tried again after it ended.
fn begins_work(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::TurnSubmitted(_)
            | Fact::ActionRequired(_)
            | Fact::TaskAccepted(_)
            | Fact::TaskQueued(_)
            | Fact::TaskStarted(_)
            | Fact::TaskRetrying(_)
            | Fact::JobItemRetrying(_)
    )
}

fn ends_work(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::TurnCompleted(_)
            | Fact::TurnFailed(_)
            | Fact::QueueChanged(_)
            | Fact::ActionResolved(_)
            | Fact::TaskUpdated(_)
            | Fact::TaskCompleted(_)
            | Fact::TaskFailed(_)
            | Fact::TaskCancelled(_)
            | Fact::TaskTimedOut(_)
            | Fact::TaskLost(_)
            | Fact::TaskArchived(_)
            | Fact::JobCompleted(_)
            | Fact::JobFailed(_)
            | Fact::JobCancelled(_)
            | Fact::SubagentClosed(_)
    )
}

fn concerns(scope: &Scope, thread: &Thread) -> bool {
    let Some(owner) = thread.owner.as_deref() else { return false };
    scope.thread_id.as_ref() == Some(&thread.thread_id) || owner.is_named(scope)
}

fn is_over(state: &SessionState, thread: &Thread) -> bool {
    let idle = thread.active.is_none() && thread.queue.is_empty();
    let asks = || state.actions.iter().any(|action| action.thread_id == thread.thread_id);
    idle && thread.owner.as_deref().is_some_and(|owner| !owner.is_open(state)) && !asks()
}

fn rest(state: &mut SessionState, thread_id: ThreadId) {
    state.resting.threads.push_back(thread_id);
    while state.resting.threads.len() > KEPT_MAX {
        let Some(leaves) = state.resting.threads.pop_front() else { return };
        state.resting.left.0.extend(thread_read_model(state, Some(&leaves)));
        state.threads.retain(|thread| thread.thread_id != leaves);
    }
}

/// What a commit changes in the index.
#[derive(Default)]
pub(super) struct RowDiff(Vec<ThreadReadModel>);

impl RowDiff {
    /// An event was applied.
    pub(super) fn saw(&mut self, resting: &Resting) {
        if !resting.left.0.is_empty() {
            self.0.extend_from_slice(&resting.left.0);
        }
    }

    pub(super) fn end(self, shell: &Shell, changes: &mut Vec<IndexChange>) {
        for thread in self.0 {
            put(changes, left_thread_key(&shell.account, &shell.session_id, &thread.thread_id), &thread);
        }
    }
}
