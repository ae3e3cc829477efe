//! A task as its A2A client sees it: a fold of the session's facts, and what of each fact a stream shows.
//!
//! One fold gives both, so a stream and a snapshot cannot disagree. It starts with the fact that linked the task and takes
//! every later one; facts of other work in the session pass by. Content that is kept elsewhere is named, not read
//! ([`Piece::Output`]): whoever has the bytes puts them in ([`content`]).

mod artifacts;
pub mod content;
mod status;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use a2a::{Message, Part, PartContent, Role, TaskState};
use chrono::{DateTime, Utc};
use factum_model::events::{ArtifactChange, ChannelPeerTaskLinked};
use factum_model::id::{ActionId, TaskId, TurnId};
use factum_model::peer::Direction;
use factum_model::value::{OutputRef, Part as Input};
use factum_model::{Event, Fact, Timestamp};
use serde_json::Value;

use crate::parts::message_of;
use artifacts::Artifacts;

/// Where a fact refers to the message behind it (`engine` writes it).
const PEER_MESSAGE: &str = "peer_message";

/// The kind of task that a call of a turn gives to a peer (`engine` makes it).
const GIVEN_AWAY: &str = "delegation";

/// A task as its client sees it.
#[derive(Clone, Debug)]
pub struct TaskView {
    pub id: String,
    pub context_id: String,
    pub state: TaskState,
    pub status_message: Option<Message>,
    pub status_at: DateTime<Utc>,
    pub history: Vec<Message>,
    /// The last fact it reflects.
    pub sequence: u64,
    metadata: Option<HashMap<String, Value>>,
    artifacts: Artifacts,
    task_id: TaskId,
    turns: Vec<TurnId>,
    /// Tasks that its turns gave to peers: what those ask is asked here too.
    given: Vec<TaskId>,
    open: Vec<OpenAction>,
    /// Nobody asks for the task as it stands any more.
    changes_only: bool,
}

#[derive(Clone, Debug)]
struct OpenAction {
    action_id: ActionId,
    state: TaskState,
    message: Message,
}

/// What a stream shows of a fact.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    Status { state: TaskState, message: Option<Message>, at: DateTime<Utc> },
    Artifact { artifact_id: String, name: Option<String>, piece: Piece, append: bool, last: bool },
}

/// A piece of an artifact.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    Text(String),
    /// Kept elsewhere.
    Output(Box<OutputRef>),
}

impl TaskView {
    /// Begins with the fact that linked the task; `None` for any other fact.
    pub fn begin(event: &Event) -> Option<Self> {
        let Fact::ChannelPeerTaskLinked(fact) = &event.fact else { return None };
        let ChannelPeerTaskLinked { direction: Direction::Inbound, peer_task } = &**fact else { return None };
        Some(Self {
            id: peer_task.remote_task_id.clone()?,
            context_id: peer_task.remote_context_id.clone()?,
            state: TaskState::Submitted,
            status_message: None,
            status_at: time(event.timestamp),
            history: Vec::new(),
            sequence: event.sequence,
            metadata: None,
            artifacts: Artifacts::default(),
            task_id: event.scope.task_id.clone()?,
            turns: Vec::new(),
            given: Vec::new(),
            open: Vec::new(),
            changes_only: false,
        })
    }

    /// From here on only what changes is shown, to one who has the task as it stands: what was said is no longer needed, and a
    /// stream may be open for as long as a task is.
    pub fn show_changes_only(&mut self) {
        self.changes_only = true;
        self.history = Vec::new();
        self.metadata = None;
        self.artifacts.show_changes_only();
    }

    /// Nothing changes any more.
    pub fn is_over(&self) -> bool {
        self.state.is_terminal()
    }

    /// Nothing changes before its client says something.
    pub fn is_interrupted(&self) -> bool {
        matches!(self.state, TaskState::InputRequired | TaskState::AuthRequired)
    }

    /// Takes a fact in, and says what of it a stream shows.
    pub fn apply(&mut self, event: &Event) -> Vec<Shown> {
        self.sequence = self.sequence.max(event.sequence);
        if self.is_over() || !self.concerns(event) {
            return Vec::new();
        }
        if let (Fact::TaskCreated(_), Some(task_id)) = (&event.fact, &event.scope.task_id)
            && *task_id != self.task_id
        {
            self.given.push(task_id.clone());
            return Vec::new();
        }
        self.change(event)
    }

    fn concerns(&self, event: &Event) -> bool {
        let scope = &event.scope;
        let own_turn = || scope.turn_id.as_ref().is_some_and(|turn_id| self.turns.contains(turn_id));
        match (&event.fact, &scope.task_id) {
            (_, Some(task_id)) if *task_id == self.task_id => true,
            (Fact::TaskCreated(fact), Some(_)) => fact.task_kind.as_deref() == Some(GIVEN_AWAY) && own_turn(),
            (Fact::ActionRequired(_), Some(task_id)) => self.given.contains(task_id),
            (Fact::ActionResolved(_), _) => {
                let asked = self.open.iter().any(|open| Some(&open.action_id) == scope.action_id.as_ref());
                asked || (scope.task_id.is_none() && own_turn())
            }
            (_, Some(_)) => false,
            (_, None) => own_turn(),
        }
    }

    fn change(&mut self, event: &Event) -> Vec<Shown> {
        let at = event.timestamp;
        match &event.fact {
            Fact::TaskCreated(fact) => {
                self.metadata = crate::parts::metadata(&fact.metadata);
                Vec::new()
            }
            Fact::TurnSubmitted(fact) => {
                // A retry gives its agent the same input again.
                if self.turns.is_empty() {
                    self.said(event, &fact.input);
                }
                self.turns.extend(event.scope.turn_id.clone());
                Vec::new()
            }
            Fact::TaskStarted(_) => self.status(TaskState::Working, None, at),
            Fact::RunStatus(fact) => status::of_run(self, event, fact),
            Fact::TaskLost(fact) => {
                let message = self.agent_says(&fact.reason, event);
                self.status(TaskState::Working, Some(message), at)
            }
            Fact::ModelDelta(fact) => self.artifacts.delta(event, &fact.text),
            Fact::ModelFailed(fact) if fact.will_retry => {
                self.artifacts.cut_off(event);
                Vec::new()
            }
            Fact::ModelFailed(_) => self.artifacts.settled(),
            Fact::ModelCompleted(fact) => self.artifacts.answered(event, fact),
            Fact::ArtifactChanged(fact) if fact.change == ArtifactChange::Deleted => {
                self.artifacts.remove(event);
                Vec::new()
            }
            Fact::ArtifactChanged(fact) => self.artifacts.changed(event, fact),
            Fact::ActionRequired(fact) => status::of_action(self, event, fact),
            Fact::ActionResolved(fact) => {
                // The question becomes a part of the conversation first, then its answer.
                let shown = status::resolved(self, event);
                if let Some(beside) = event.refs.get(PEER_MESSAGE) {
                    let answer = status::answer_parts(fact.payload.as_ref(), &fact.decision);
                    self.say(event, &answer, Some(beside));
                }
                shown
            }
            Fact::ChannelMessage(fact) if fact.direction == Direction::Inbound => {
                // What the agent said before it stands before it.
                self.is_past();
                self.said(event, &fact.parts);
                Vec::new()
            }
            Fact::TaskCompleted(_) => self.ends(TaskState::Completed, None, at),
            Fact::TaskCancelled(fact) => {
                let message = fact.reason.as_deref().map(|reason| self.agent_says(reason, event));
                self.ends(TaskState::Canceled, message, at)
            }
            Fact::TaskFailed(fact) => {
                let message = self.agent_says(&fact.error.message, event);
                let state = if fact.error.is_rejection() { TaskState::Rejected } else { TaskState::Failed };
                self.ends(state, Some(message), at)
            }
            Fact::TaskTimedOut(fact) => {
                let message = self.agent_says(&fact.error.message, event);
                self.ends(TaskState::Failed, Some(message), at)
            }
            _ => Vec::new(),
        }
    }

    /// The last status. Nothing replaces text any more that was taken back, so that comes first.
    fn ends(&mut self, state: TaskState, message: Option<Message>, at: Timestamp) -> Vec<Shown> {
        let mut shown = self.artifacts.settled();
        shown.extend(self.status(state, message, at));
        shown
    }

    /// A new status; the message of the one before becomes a part of the conversation.
    fn status(&mut self, state: TaskState, message: Option<Message>, at: Timestamp) -> Vec<Shown> {
        let at = time(at);
        self.is_past();
        self.state = state.clone();
        self.status_message.clone_from(&message);
        self.status_at = at;
        vec![Shown::Status { state, message, at }]
    }

    /// The message of the status is over: it becomes a part of the conversation, where it says anything.
    fn is_past(&mut self) {
        let says = |message: &Message| {
            message.parts.iter().any(|part| part.as_text().is_none_or(|text| !text.trim().is_empty()))
        };
        let said = self.status_message.take().filter(says);
        self.history.extend(said.filter(|_| !self.changes_only));
    }

    fn said(&mut self, event: &Event, input: &[Input]) {
        let beside = event.refs.get(PEER_MESSAGE).cloned();
        self.say(event, input, beside.as_ref());
    }

    fn say(&mut self, event: &Event, input: &[Input], beside: Option<&Value>) {
        if self.changes_only {
            return;
        }
        let id = || event.event_id.as_str().to_owned();
        let message = message_of(&self.id, &self.context_id, input, beside, id);
        self.history.push(message);
    }

    /// Words of the agent's side. Their id is the fact's, so that they have the same one whenever they are read.
    fn agent_says(&self, text: &str, event: &Event) -> Message {
        self.agent_message(vec![Part::text(text)], event.event_id.as_str())
    }

    fn agent_message(&self, parts: Vec<Part>, id: &str) -> Message {
        Message {
            message_id: id.to_owned(),
            context_id: Some(self.context_id.clone()),
            task_id: Some(self.id.clone()),
            role: Role::Agent,
            parts,
            metadata: None,
            extensions: None,
            reference_task_ids: None,
        }
    }

    /// The whole text of its answers, for a client that gets a message instead of a task.
    pub fn answer_text(&self) -> String {
        self.artifacts.text()
    }
}

/// The last `length` messages, all of them where it is absent.
pub fn last_messages(history: &[Message], length: Option<i32>) -> &[Message] {
    let keep = length.map_or(history.len(), |length| usize::try_from(length).unwrap_or(0));
    &history[history.len().saturating_sub(keep)..]
}

/// What time it was, in the words of the protocol's types.
pub fn time(at: Timestamp) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(at.as_millisecond()).unwrap_or_default()
}

/// A part that is a text.
pub(crate) fn text_part(text: &str, media_type: Option<&str>) -> Part {
    Part {
        content: PartContent::Text(text.to_owned()),
        filename: None,
        media_type: media_type.map(str::to_owned),
        metadata: None,
    }
}
