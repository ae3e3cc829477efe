//! Where a client wants to be told of a task that it has not sent yet (seed 004, "Setting Task Notifications"). A client that
//! chooses the ids of its tasks may say that first: it waits in the client's channel, and the task that begins under the id takes
//! it along. The task's own id is chosen here already, so that what is sealed for it opens there.

use factum_model::events::{PushConfigDeleted, PushConfigSet};
use factum_model::id::TaskId;
use factum_model::{NewEvent, Refusal, Scope};
use serde::{Deserialize, Serialize};

use super::state::{Peer, PeerState};
use crate::context::{Context, Decision};
use crate::session::push::{NewPushConfig, PushConfig};

/// How many of a client's tasks may be awaited. The oldest gives way to a new one.
pub(super) const PUSH_AHEAD_MAX: usize = 256;

/// A configuration whose task is not there yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PushAhead {
    /// The id the client will send the task under.
    pub remote_task_id: String,
    /// The agent it will be sent to.
    pub agent: String,
    /// The id the task will have here.
    pub task_id: TaskId,
    pub config: PushConfig,
}

impl Peer {
    /// What waits for a task of this id with this agent.
    pub fn push_ahead(&self, remote_task_id: &str, agent: &str) -> Option<&PushAhead> {
        self.push_ahead.iter().find(|ahead| ahead.remote_task_id == remote_task_id && ahead.agent == agent)
    }
}

/// Sets it, or sets it anew. `task_id` is the one it has already, or one that nothing has.
pub fn set_push_ahead(
    state: &PeerState,
    (remote_task_id, agent): (&str, &str),
    task_id: &TaskId,
    new: &NewPushConfig<'_>,
    context: &mut Context<'_>,
) -> Result<Decision<PushConfig>, Refusal> {
    let peer = state.of(context.caller).ok_or_else(Refusal::not_found)?;
    let config = new.checked()?;
    let mut events = Vec::new();
    let known = peer.push_ahead(remote_task_id, agent).is_some();
    if let Some(oldest) = peer.push_ahead.first().filter(|_| !known && peer.push_ahead.len() >= PUSH_AHEAD_MAX) {
        events.push(dropped(peer, oldest, context.caller));
    }
    let fact = PushConfigSet {
        remote_task_id: Some(remote_task_id.to_owned()),
        agent: Some(agent.to_owned()),
        ..config.set(context.caller)
    };
    events.push(NewEvent::new(Scope::default().channel_id(&peer.channel_id).task_id(task_id), fact));
    Ok(Decision { events, output: config })
}

/// Forgets it: the task is there. Nothing where that is known.
pub fn take_push_ahead(
    state: &PeerState,
    task_id: &TaskId,
    context: &mut Context<'_>,
) -> Result<Decision<()>, Refusal> {
    let peer = state.of(context.caller).ok_or_else(Refusal::not_found)?;
    let taken = peer.push_ahead.iter().find(|ahead| ahead.task_id == *task_id);
    let events = taken.map(|ahead| dropped(peer, ahead, context.caller)).into_iter().collect();
    Ok(Decision { events, output: () })
}

fn dropped(peer: &Peer, ahead: &PushAhead, by: &str) -> NewEvent {
    let scope = Scope::default().channel_id(&peer.channel_id).task_id(&ahead.task_id);
    NewEvent::new(scope, PushConfigDeleted { config_id: ahead.config.config_id.clone(), deleted_by: by.to_owned() })
}

/// Applies that one was set.
pub(super) fn set(peer: &mut Peer, scope: &Scope, fact: &PushConfigSet) {
    let (Some(task_id), Some(remote_task_id), Some(agent)) = (&scope.task_id, &fact.remote_task_id, &fact.agent) else {
        return;
    };
    let config = PushConfig {
        config_id: fact.config_id.clone(),
        native_protocol: fact.native_protocol.clone(),
        url: fact.url.clone(),
        scheme: fact.scheme.clone(),
        sealed_secrets: fact.sealed_secrets.clone(),
    };
    let (remote_task_id, agent, task_id) = (remote_task_id.clone(), agent.clone(), task_id.clone());
    let ahead = PushAhead { remote_task_id, agent, task_id, config };
    match peer.push_ahead.iter_mut().find(|known| known.task_id == ahead.task_id) {
        Some(known) => *known = ahead,
        None => peer.push_ahead.push(ahead),
    }
}

/// Applies that one is not waited with any more.
pub(super) fn drop(peer: &mut Peer, scope: &Scope) {
    peer.push_ahead.retain(|ahead| Some(&ahead.task_id) != scope.task_id.as_ref());
}
