//! What is remembered of a session between commands. Bounded: open things and counters, never history.
//!
//! The state is serialized as a snapshot, so a field that is added later needs a serde default; a snapshot that no longer
//! parses is thrown away and the events are folded again.

use std::collections::VecDeque;

use factum_model::Timestamp;
use factum_model::events::{ActionRequired, ActionType, QueueEntry, ThreadOrigin};
use factum_model::id::*;
use factum_model::read::{Diagnostics, Incident, Outcome};
use factum_model::value::{Effect, Metadata, Status, Usage};
use serde::{Deserialize, Serialize};

use super::delegations::Delegations;
use super::jobs::Jobs;
use super::resting::{Owner, Resting};
use super::subagents::Subagents;
use super::tasks::Tasks;
use super::tasks::inbound::Inbound;

/// How much of a message or a preview a thread keeps at hand.
pub(super) const KEPT_TEXT_CHARS_MAX: usize = 2_000;

/// How many incidents a thread keeps at hand; all of them are in the log.
pub(super) const INCIDENTS_KEPT_MAX: usize = 16;

/// A session as it stands at `sequence`. `shell` is absent before the first event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionState {
    pub sequence: u64,
    pub shell: Option<Shell>,
    /// In order of creation; the first is the main thread.
    pub threads: Vec<Thread>,
    /// Open ones only, in order of creation.
    pub actions: Vec<OpenAction>,
    pub turn_count: u64,
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "Tasks::is_empty")]
    pub tasks: Tasks,
    #[serde(default, skip_serializing_if = "Jobs::is_empty")]
    pub jobs: Jobs,
    #[serde(default, skip_serializing_if = "Subagents::is_empty")]
    pub subagents: Subagents,
    #[serde(default, skip_serializing_if = "Delegations::is_empty")]
    pub delegations: Delegations,
    #[serde(default, skip_serializing_if = "Inbound::is_empty")]
    pub inbound: Inbound,
    #[serde(default, skip_serializing_if = "Resting::is_empty")]
    pub resting: Resting,
}

/// What a session is, apart from its work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shell {
    pub account: String,
    pub session_id: SessionId,
    pub runtime_id: RuntimeId,
    pub title: Option<String>,
    pub agent: String,
    pub created_by: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub metadata: Metadata,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    pub thread_id: ThreadId,
    pub agent: String,
    pub title: Option<String>,
    pub parent_thread_id: Option<ThreadId>,
    pub origin: ThreadOrigin,
    /// What it was opened for; boxed, because most sessions have their main thread only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Box<Owner>>,
    pub active: Option<Box<ActiveTurn>>,
    pub queue: VecDeque<QueuedTurn>,
    pub last_outcome: Option<Box<Outcome>>,
    pub incidents: VecDeque<Incident>,
    pub diagnostics: Diagnostics,
    pub updated_at: Timestamp,
}

/// A turn that waits. Its input is in the log at `submitted_sequence`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueuedTurn {
    pub entry: QueueEntry,
    pub agent: String,
    pub submitted_sequence: u64,
    /// The remote channel that decides what it asks permission for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_through: Option<ChannelId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActiveTurn {
    pub turn_id: TurnId,
    pub agent: String,
    pub source: String,
    pub attempt: u32,
    pub submitted_at: Timestamp,
    pub submitted_sequence: u64,
    pub started_at: Timestamp,
    /// Of its first `turn.started`: between the submission and this there is nothing of its own. 0 where it is not known.
    #[serde(default)]
    pub started_sequence: u64,
    pub current_step_id: Option<StepId>,
    pub steps: u32,
    /// Model answers that are whole.
    pub rounds: u32,
    /// Tries of the round under way that did not give an answer.
    pub failed_tries: u32,
    pub model_request: Option<OpenModelRequest>,
    pub calls: Vec<OpenCall>,
    pub usage: Usage,
    /// The remote channel that decides what it asks permission for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_through: Option<ChannelId>,
}

/// A request whose outcome is not known yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenModelRequest {
    pub request_id: ModelRequestId,
    pub step_id: StepId,
}

/// A tool call whose outcome is not known yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenCall {
    pub tool_call_id: ToolCallId,
    pub step_id: StepId,
    pub tool_name: String,
    pub effect: Effect,
    pub arguments_digest: String,
    pub state: CallState,
    pub attempt: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// Somebody has to decide or answer first.
    Waiting,
    /// May run, and has not begun.
    Ready,
    /// Began; whether it ended is not known.
    Running,
}

/// A decision somebody is waiting for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenAction {
    pub action_id: ActionId,
    pub thread_id: ThreadId,
    pub turn_id: Option<TurnId>,
    pub step_id: Option<StepId>,
    pub tool_call_id: Option<ToolCallId>,
    pub required: ActionRequired,
    pub required_at: Timestamp,
    pub sequence: u64,
    /// The remote channel that alone may decide it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_through: Option<ChannelId>,
}

impl SessionState {
    pub fn thread(&self, thread_id: &ThreadId) -> Option<&Thread> {
        self.threads.iter().find(|thread| thread.thread_id == *thread_id)
    }

    pub(super) fn thread_mut(&mut self, thread_id: &ThreadId) -> Option<&mut Thread> {
        self.threads.iter_mut().find(|thread| thread.thread_id == *thread_id)
    }

    pub fn action(&self, action_id: &ActionId) -> Option<&OpenAction> {
        self.actions.iter().find(|action| action.action_id == *action_id)
    }

    /// The open actions of one turn.
    pub fn actions_of<'a>(&'a self, turn_id: &'a TurnId) -> impl Iterator<Item = &'a OpenAction> {
        self.actions.iter().filter(move |action| action.turn_id.as_ref() == Some(turn_id))
    }

    /// Whether something follows from facts that is not done yet.
    pub fn has_agenda(&self) -> bool {
        self.tasks.unfinished()
    }

    /// Whether something has to be carried on after a restart.
    pub fn unfinished(&self) -> bool {
        self.threads.iter().any(|thread| thread.active.is_some() || !thread.queue.is_empty())
            || self.tasks.unfinished()
            || self.jobs.unfinished()
            || !self.delegations.is_empty()
    }
}

impl Thread {
    /// What the thread is doing. Without an active turn it is what the last one came to, and `idle` before the first.
    pub fn status(&self, state: &SessionState) -> Status {
        match &self.active {
            Some(turn) => turn.status(state),
            None if !self.queue.is_empty() => Status::Queued,
            None => self.last_outcome.as_ref().map_or(Status::Idle, |outcome| outcome.status),
        }
    }

    /// Whether it has this turn at hand: the one at work, one that waits, or the last that ended.
    pub(super) fn remembers(&self, turn_id: &TurnId) -> bool {
        self.active.as_ref().is_some_and(|turn| turn.turn_id == *turn_id)
            || self.queue.iter().any(|turn| turn.entry.turn_id == *turn_id)
            || self.last_outcome.as_ref().is_some_and(|outcome| outcome.turn_id == *turn_id)
    }

    pub fn queue_entries(&self) -> Vec<QueueEntry> {
        self.queue.iter().map(|turn| turn.entry.clone()).collect()
    }
}

impl ActiveTurn {
    /// A turn waits only when nothing else of it can go on.
    pub fn status(&self, state: &SessionState) -> Status {
        let working = self.model_request.is_some() || self.calls.iter().any(|call| call.state != CallState::Waiting);
        if working {
            return Status::Running;
        }
        let mut waits = state.actions_of(&self.turn_id).map(|action| waiting_status(action.required.action_type));
        match waits.next() {
            None => Status::Running,
            Some(first) => {
                waits.fold(first, |worst, next| if next == Status::WaitingPermission { next } else { worst })
            }
        }
    }

    pub fn call(&self, tool_call_id: &ToolCallId) -> Option<&OpenCall> {
        self.calls.iter().find(|call| call.tool_call_id == *tool_call_id)
    }
}

/// What an open action makes its turn wait for.
pub(super) fn waiting_status(action_type: ActionType) -> Status {
    if action_type.is_permission() { Status::WaitingPermission } else { Status::WaitingInput }
}
