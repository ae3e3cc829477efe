//! What is remembered of the tasks that peers gave to us, while they are open: who asked, under which ids, where it stands.

use std::sync::Arc;

use factum_model::events::ChannelPeerTaskLinked;
use factum_model::id::{ActionId, ChannelId, TaskId, ThreadId, TurnId};
use factum_model::peer::{DeliveryMechanism, Direction};
use factum_model::task::{TaskRow, TaskStatus};
use factum_model::value::Part;
use factum_model::{Event, Fact, Scope, Timestamp};
use serde::{Deserialize, Serialize};

use super::shown::Asked;
use crate::few::FewMap;
use crate::session::tasks::Tasks;

/// The open tasks of peers in a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inbound {
    /// Shared, because a commit compares them with what they were before it.
    pub(super) open: FewMap<TaskId, Arc<Link>>,
    /// What the last event did to them.
    #[serde(skip)]
    pub(super) last: Last,
}

/// Not a part of the state: two that differ in it only are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Last {
    pub(super) ended: Vec<Arc<Link>>,
    /// Those whose peers are shown something else now.
    pub(super) changed: Option<TaskId>,
}

impl PartialEq for Last {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A task here and its ids there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    pub task_id: TaskId,
    pub channel_id: ChannelId,
    /// Who asked. For every other principal the task does not exist under its remote id.
    pub principal: Arc<str>,
    pub native_protocol: Arc<str>,
    pub remote_task_id: Arc<str>,
    pub remote_context_id: Arc<str>,
    /// Who does it, once the task is made.
    #[serde(default)]
    pub agent: Option<Arc<str>>,
    /// The thread and turn its agent does it in.
    pub thread_id: Option<ThreadId>,
    pub turn_id: Option<TurnId>,
    /// How its peer is shown it (`shown`), in the status of ours that says most of it.
    pub status: TaskStatus,
    /// Since when its peer is shown that.
    pub status_at: Timestamp,
    pub first_sequence: u64,
    /// The sequence of the last change of either.
    pub status_sequence: u64,
    /// What is open, oldest first. A snapshot without it knows too little of its links: the log is read instead.
    pub(super) asked: Vec<Asked>,
    /// What of it is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) asking: Option<ActionId>,
    /// How its peer is told of changes.
    #[serde(default = "polling")]
    pub delivery: DeliveryMechanism,
    /// What its channel was told last, once something was (`tell`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<TaskStatus>,
    /// Somebody else, or the time, decided something that its peer was asked, and the peer has said nothing since. What it says
    /// next may still be about that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overtaken: bool,
    /// What was said while its agent worked, and the agent has not heard.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unheard: Vec<Part>,
}

/// Of links that were recorded without it.
fn polling() -> DeliveryMechanism {
    DeliveryMechanism::Polling
}

impl Inbound {
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub fn get(&self, task_id: &TaskId) -> Option<&Link> {
        self.open.get(task_id).map(|link| &**link)
    }
}

/// Applies one event behind the fold of tasks, whose outcome it follows.
pub(in crate::session) fn apply(inbound: &mut Inbound, tasks: &Tasks, event: &Event) {
    if !inbound.last.ended.is_empty() || inbound.last.changed.is_some() {
        inbound.last = Last::default();
    }
    if let (Fact::ChannelPeerTaskLinked(fact), Some(task_id)) = (&event.fact, &event.scope.task_id) {
        link(inbound, task_id, event, fact);
    }
    if inbound.is_empty() {
        return;
    }
    note_overtaken(inbound, tasks, event);
    let Some(task_id) = concerned(inbound, tasks, event).cloned() else { return };
    let (Some(task), Some(link)) = (tasks.get(&task_id), inbound.open.get(&task_id)) else { return };
    // A map makes room where it is written to, and most facts of a task change nothing of this.
    if !says_something(&event.fact) && link.is_as(&task.row) {
        return;
    }
    let Some(link) = inbound.open.get_mut(&task_id).map(Arc::make_mut) else { return };
    link.hear(&event.fact, &event.scope);
    link.follow(&task.row, event);
    if link.status_sequence == event.sequence {
        inbound.last.changed = Some(task_id.clone());
    }
    if task.row.status.is_terminal() || task.row.status == TaskStatus::Archived {
        inbound.last.ended.extend(inbound.open.remove(&task_id));
    }
}

/// The open task that a fact is about: its own, one that a turn of it said, or a question of a peer to whom a turn of it gave work.
fn concerned<'a>(inbound: &'a Inbound, tasks: &'a Tasks, event: &'a Event) -> Option<&'a TaskId> {
    let scope = &event.scope;
    if let Some(task_id) = scope.task_id.as_ref().filter(|task_id| inbound.open.contains_key(*task_id)) {
        return Some(task_id);
    }
    let of_turn = |turn_id: &TurnId| tasks.turns.get(turn_id).filter(|task_id| inbound.open.contains_key(*task_id));
    match (&event.fact, &scope.task_id) {
        (Fact::ActionResolved(_), _) => {
            let action_id = scope.action_id.as_ref()?;
            inbound.open.values().find(|link| link.asks(action_id)).map(|link| &link.task_id)
        }
        (Fact::ActionRequired(_), Some(given)) => tasks.given_in(given).and_then(of_turn),
        (Fact::ActionRequired(_) | Fact::RunStatus(_), None) => scope.turn_id.as_ref().and_then(of_turn),
        _ => None,
    }
}

/// Whether a fact of a task may change what is remembered of it, besides where the task stands.
fn says_something(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::TaskCreated(_)
            | Fact::TaskStarted(_)
            | Fact::TaskLost(_)
            | Fact::TaskCompleted(_)
            | Fact::TaskCancelled(_)
            | Fact::TaskFailed(_)
            | Fact::TaskTimedOut(_)
            | Fact::RunStatus(_)
            | Fact::ActionRequired(_)
            | Fact::ActionResolved(_)
            | Fact::ChannelMessage(_)
            | Fact::ChannelPeerTaskUpdated(_)
            | Fact::TurnSubmitted(_)
    )
}

impl Link {
    /// Whether it says of its task what the task's row says.
    fn is_as(&self, row: &TaskRow) -> bool {
        let turn_id = row.attempt.as_ref().and_then(|attempt| attempt.turn_id.as_ref());
        self.turn_id.as_ref() == turn_id && self.nearest(row.status) == self.status
    }

    /// What its peer, or its channel, was told or said.
    fn hear(&mut self, fact: &Fact, scope: &Scope) {
        match fact {
            Fact::TaskCreated(fact) => self.agent = fact.execution.agent.as_deref().map(Arc::from),
            Fact::ChannelMessage(fact) if fact.direction == Direction::Inbound => {
                self.unheard.extend(fact.parts.iter().cloned());
            }
            Fact::ChannelPeerTaskUpdated(fact) if scope.run_id.is_none() => {
                self.told = Some(fact.peer_task.remote_status);
            }
            // Whatever begins a turn of the task gives its agent all of it.
            Fact::TurnSubmitted(_) => self.unheard.clear(),
            _ => {}
        }
    }

    /// Where its task stands now, and what its peer is shown of that.
    fn follow(&mut self, row: &TaskRow, event: &Event) {
        let attempt = row.attempt.as_ref();
        self.turn_id = attempt.and_then(|attempt| attempt.turn_id.clone());
        self.thread_id = attempt.and_then(|attempt| attempt.thread_id.clone());
        let shown = self.takes(event);
        let status = shown.map_or_else(|| self.nearest(row.status), |word| word.with(row.status));
        if shown.is_some() {
            self.status_at = event.timestamp;
        }
        if shown.is_some() || status != self.status {
            self.status = status;
            self.status_sequence = event.sequence;
        }
    }
}

/// Whether what the peer says next could be an answer to something that was decided without it.
fn note_overtaken(inbound: &mut Inbound, tasks: &Tasks, event: &Event) {
    let said_by_peer = !event.refs.is_empty() && event.refs.contains_key(super::PEER_MESSAGE);
    if !said_by_peer && !matches!(event.fact, Fact::ActionResolved(_)) {
        return;
    }
    let Some(link) = asking_for(tasks, event).and_then(|task_id| inbound.open.get_mut(task_id)) else { return };
    if link.overtaken == said_by_peer {
        Arc::make_mut(link).overtaken = !said_by_peer;
    }
}

/// The task that a question is asked in: that of its turn, or of the turn whose call gave work to the peer that asks.
fn asking_for<'a>(tasks: &'a Tasks, event: &'a Event) -> Option<&'a TaskId> {
    let given = || tasks.made_in(event.scope.task_id.as_ref()?);
    tasks.turns.get(event.scope.turn_id.as_ref().or_else(given)?)
}

fn link(inbound: &mut Inbound, task_id: &TaskId, event: &Event, fact: &ChannelPeerTaskLinked) {
    let peer_task = &fact.peer_task;
    let (Direction::Inbound, Some(channel_id)) = (fact.direction, &event.scope.channel_id) else { return };
    let (Some(principal), Some(remote_task_id), Some(remote_context_id)) =
        (&peer_task.remote_agent_ref, &peer_task.remote_task_id, &peer_task.remote_context_id)
    else {
        return;
    };
    let link = Link {
        task_id: task_id.clone(),
        channel_id: channel_id.clone(),
        principal: principal.as_str().into(),
        native_protocol: peer_task.native_protocol.as_str().into(),
        remote_task_id: remote_task_id.as_str().into(),
        remote_context_id: remote_context_id.as_str().into(),
        agent: None,
        thread_id: None,
        turn_id: None,
        status: peer_task.remote_status,
        status_at: event.timestamp,
        first_sequence: event.sequence,
        status_sequence: event.sequence,
        delivery: peer_task.delivery_mechanism,
        asked: Vec::new(),
        asking: None,
        told: None,
        overtaken: false,
        unheard: Vec::new(),
    };
    inbound.open.insert(task_id.clone(), link.into());
    inbound.last.changed = Some(task_id.clone());
}
