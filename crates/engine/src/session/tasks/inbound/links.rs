//! What is remembered of the tasks that peers gave to us, while they are open: who asked, under which ids, where it stands.

use std::sync::Arc;

use factum_model::events::ChannelPeerTaskLinked;
use factum_model::id::{ChannelId, TaskId, ThreadId, TurnId};
use factum_model::peer::{DeliveryMechanism, Direction};
use factum_model::task::TaskStatus;
use factum_model::value::Part;
use factum_model::{Event, Fact, Timestamp};
use imbl::OrdMap;
use serde::{Deserialize, Serialize};

use crate::session::tasks::Tasks;

/// The open tasks of peers in a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inbound {
    /// Shared, because a map makes room for many entries at once, and there is rarely more than one.
    pub(super) open: OrdMap<TaskId, Arc<Link>>,
    /// Those that the last event ended.
    #[serde(skip)]
    pub(super) ended: Ended,
}

/// Not a part of the state: two that differ in it only are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Ended(pub(super) Vec<Arc<Link>>);

impl PartialEq for Ended {
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
    pub status: TaskStatus,
    pub status_at: Timestamp,
    pub first_sequence: u64,
    /// The sequence of the last change of its status.
    pub status_sequence: u64,
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
    if !inbound.ended.0.is_empty() {
        inbound.ended.0.clear();
    }
    let Some(task_id) = &event.scope.task_id else { return };
    if let Fact::ChannelPeerTaskLinked(fact) = &event.fact {
        link(inbound, task_id, event, fact);
    }
    if let (Fact::TaskCreated(fact), Some(link)) = (&event.fact, inbound.open.get(task_id)) {
        let agent = fact.execution.agent.as_deref().map(Arc::from);
        inbound.open.insert(task_id.clone(), Link { agent, ..Link::clone(link) }.into());
    }
    note_overtaken(inbound, tasks, event);
    match (&event.fact, inbound.open.get_mut(task_id)) {
        (Fact::ChannelMessage(fact), Some(link)) if fact.direction == Direction::Inbound => {
            Arc::make_mut(link).unheard.extend(fact.parts.iter().cloned());
        }
        (Fact::ChannelPeerTaskUpdated(fact), Some(link)) if event.scope.run_id.is_none() => {
            Arc::make_mut(link).told = Some(fact.peer_task.remote_status);
        }
        // Whatever begins a turn of the task gives its agent all of it.
        (Fact::TurnSubmitted(_), Some(link)) if !link.unheard.is_empty() => Arc::make_mut(link).unheard.clear(),
        _ => {}
    }
    let Some(link) = inbound.open.get(task_id) else { return };
    let Some(row) = tasks.get(task_id).map(|task| &task.row) else { return };
    let attempt = row.attempt.as_ref();
    let turn_id = attempt.and_then(|attempt| attempt.turn_id.as_ref());
    if link.status == row.status && link.turn_id.as_ref() == turn_id {
        return;
    }
    let mut link = Link::clone(link);
    link.turn_id = turn_id.cloned();
    link.thread_id = attempt.and_then(|attempt| attempt.thread_id.clone());
    if link.status != row.status {
        link.status = row.status;
        link.status_at = event.timestamp;
        link.status_sequence = event.sequence;
    }
    if link.status.is_terminal() || link.status == TaskStatus::Archived {
        inbound.open.remove(task_id);
        inbound.ended.0.push(link.into());
    } else {
        inbound.open.insert(task_id.clone(), link.into());
    }
}

/// Whether what the peer says next could be an answer to something that was decided without it.
fn note_overtaken(inbound: &mut Inbound, tasks: &Tasks, event: &Event) {
    let said_by_peer = event.refs.contains_key(super::PEER_MESSAGE);
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
        told: None,
        overtaken: false,
        unheard: Vec::new(),
    };
    inbound.open.insert(task_id.clone(), link.into());
}
