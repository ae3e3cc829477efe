//! How a task looks to the peer that gave it to us, as far as lists have to know: which of its protocol's few words it is shown in,
//! and since when.
//!
//! What the peer is shown of a task is a fold of its facts (`a2a::view`), and its list selects and orders by that, so the rows are
//! written from the same rules: our own status says more, and moves at other times. A test holds the two against each other.

use factum_model::asked::asked_now;
use factum_model::events::Phase;
use factum_model::id::ActionId;
use factum_model::peer::Direction;
use factum_model::task::TaskStatus;
use factum_model::{Event, Fact};
use serde::{Deserialize, Serialize};

use super::links::Link;

/// The words of a peer's protocol for how a task stands, of which each stands for several of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Submitted,
    Working,
    InputRequired,
    AuthRequired,
    Completed,
    Failed,
    Canceled,
}

/// Something that is open, in the order it was asked in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Asked {
    action_id: ActionId,
    permission: bool,
}

impl Word {
    /// Nothing where a status has no word.
    pub(crate) fn of(status: TaskStatus) -> Option<Self> {
        Some(match status {
            TaskStatus::Draft | TaskStatus::Accepted | TaskStatus::Queued | TaskStatus::Blocked => Self::Submitted,
            TaskStatus::WaitingInput => Self::InputRequired,
            TaskStatus::WaitingPermission => Self::AuthRequired,
            TaskStatus::Completed => Self::Completed,
            TaskStatus::Failed | TaskStatus::TimedOut => Self::Failed,
            TaskStatus::Cancelled => Self::Canceled,
            TaskStatus::Preparing
            | TaskStatus::Running
            | TaskStatus::WaitingResource
            | TaskStatus::Paused
            | TaskStatus::Retrying
            | TaskStatus::Cancelling
            | TaskStatus::Lost
            | TaskStatus::Stale
            | TaskStatus::Unknown => Self::Working,
            TaskStatus::Archived => return None,
        })
    }

    /// Our status, where the word stands for it too; otherwise the plainest of those it stands for. A task that waits for its
    /// owner waits for nothing that its peer could say, so to its peer it is at work.
    pub(super) fn with(self, status: TaskStatus) -> TaskStatus {
        if Self::of(status) == Some(self) {
            return status;
        }
        match self {
            Self::Submitted => TaskStatus::Queued,
            Self::Working => TaskStatus::Running,
            Self::InputRequired => TaskStatus::WaitingInput,
            Self::AuthRequired => TaskStatus::WaitingPermission,
            Self::Completed => TaskStatus::Completed,
            Self::Failed => TaskStatus::Failed,
            Self::Canceled => TaskStatus::Cancelled,
        }
    }
}

impl Link {
    /// What the peer is shown of its task from this fact on, if that is anything new. The same word may be: its time is.
    pub(super) fn takes(&mut self, event: &Event) -> Option<Word> {
        let shown = match &event.fact {
            Fact::TaskStarted(_) | Fact::TaskLost(_) => Word::Working,
            // While somebody is asked nothing runs, and that the runtime carried on is not the peer's concern.
            Fact::RunStatus(fact) if fact.phase == Phase::Recovering || self.is_interrupted() => return None,
            Fact::RunStatus(_) => Word::Working,
            Fact::ActionRequired(fact) => {
                let action_id = event.scope.action_id.clone()?;
                self.asked.push(Asked { action_id, permission: fact.action_type.is_permission() });
                return self.ask();
            }
            Fact::ActionResolved(_) => {
                let known = self.asked.len();
                self.asked.retain(|asked| Some(&asked.action_id) != event.scope.action_id.as_ref());
                return if self.asked.len() == known { None } else { self.ask() };
            }
            Fact::ChannelMessage(fact) if fact.direction == Direction::Inbound => {
                self.asking = None;
                return None;
            }
            Fact::TaskCompleted(_) => Word::Completed,
            Fact::TaskCancelled(_) => Word::Canceled,
            Fact::TaskFailed(_) | Fact::TaskTimedOut(_) => Word::Failed,
            _ => return None,
        };
        self.asking = None;
        Some(shown)
    }

    /// Shows the question that an answer which names none is for, unless it is shown already.
    fn ask(&mut self) -> Option<Word> {
        let asked = asked_now(&self.asked);
        let shown = match asked {
            Some(asked) if self.asking.as_ref() == Some(&asked.action_id) => return None,
            Some(asked) if asked.permission => Word::AuthRequired,
            Some(_) => Word::InputRequired,
            None => Word::Working,
        };
        self.asking = asked.map(|asked| asked.action_id.clone());
        Some(shown)
    }

    /// The status of ours that says most of a task that stands so, without saying anything else than its peer is shown.
    pub(super) fn nearest(&self, status: TaskStatus) -> TaskStatus {
        Word::of(self.status).map_or(status, |word| word.with(status))
    }

    pub(super) fn asks(&self, action_id: &ActionId) -> bool {
        self.asked.iter().any(|asked| asked.action_id == *action_id)
    }

    fn is_interrupted(&self) -> bool {
        matches!(Word::of(self.status), Some(Word::InputRequired | Word::AuthRequired))
    }
}
