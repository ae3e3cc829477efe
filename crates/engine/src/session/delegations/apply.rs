//! The fold of delegations. Total, like all of `apply`.

use factum_model::events::*;
use factum_model::peer::{ChannelMessageKind, Direction, PeerRecovery};
use factum_model::task::{AttemptStatus, TaskStatus};
use factum_model::{Event, Fact};
use serde_json::Value;

use super::begin::{ANSWER_REF, DECIDER_REF, MESSAGE_REF};
use super::observe::{PEER_ARTIFACT_REF, content_key, peer_of_ref};
use super::questions::{ANSWER_UNKNOWN, QUESTION, REMOTE_ACTION};
use super::state::{Delegation, Delegations, KnownArtifact, PendingAnswer, is_final};
use crate::session::tasks::Tasks;
use crate::session::verdict::answer_text;

pub(in super::super) fn apply(delegations: &mut Delegations, tasks: &Tasks, event: &Event) {
    if let Fact::ChannelPeerTaskLinked(fact) = &event.fact {
        return link(delegations, tasks, event, fact);
    }
    // Most sessions have given nothing away.
    if delegations.open.is_empty() {
        return;
    }
    match &event.fact {
        Fact::ChannelPeerTaskUpdated(fact) => update(delegations, event, fact),
        Fact::ArtifactChanged(fact) => take_in(delegations, event, fact),
        Fact::ActionRequired(fact) => asked(delegations, event, fact),
        Fact::ActionResolved(fact) => resolved(delegations, event, fact),
        Fact::ChannelMessage(fact) if fact.direction == Direction::Outbound => said(delegations, event, fact),
        Fact::TaskCancelRequested(fact) if fact.status == TaskStatus::Cancelling => {
            let task_id = event.scope.task_id.as_ref();
            for delegation in delegations.open.values_mut().filter(|one| Some(&one.task_id) == task_id) {
                delegation.cancel = true;
            }
        }
        Fact::TaskAttemptCompleted(_) => ended(delegations, event, AttemptStatus::Completed),
        Fact::TaskAttemptFailed(fact) => ended(delegations, event, fact.status),
        _ => {}
    }
}

fn link(delegations: &mut Delegations, tasks: &Tasks, event: &Event, fact: &ChannelPeerTaskLinked) {
    let scope = &event.scope;
    let (Direction::Outbound, Some(task_id), Some(run_id), Some(attempt_id)) =
        (fact.direction, &scope.task_id, &scope.run_id, &scope.attempt_id)
    else {
        return;
    };
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let Some(message_id) = text(event.refs.get(MESSAGE_REF)) else { return };
    let Some(peer) = fact.peer_task.remote_agent_ref.as_deref().and_then(peer_of_ref) else { return };
    let delegation = Delegation {
        task_id: task_id.clone(),
        run_id: run_id.clone(),
        attempt_id: attempt_id.clone(),
        peer: peer.to_owned(),
        message_id,
        text: tasks.objective(task_id).unwrap_or_default().to_owned(),
        peer_task: fact.peer_task.clone(),
        generation: 0,
        artifacts: Default::default(),
        action: None,
        asked: None,
        asked_type: None,
        remote_action_id: None,
        answered_at: None,
        answer: None,
        doubted: false,
        decided_through: text(event.refs.get(DECIDER_REF)).and_then(|decider| decider.parse().ok()),
        cancel: false,
        over: false,
        linked_at: event.timestamp,
    };
    delegations.open.insert(run_id.clone(), delegation);
}

fn of_run<'a>(delegations: &'a mut Delegations, event: &Event) -> Option<&'a mut Delegation> {
    delegations.open.get_mut(event.scope.run_id.as_ref()?)
}

fn update(delegations: &mut Delegations, event: &Event, fact: &ChannelPeerTaskUpdated) {
    let Some(delegation) = of_run(delegations, event) else { return };
    delegation.peer_task = fact.peer_task.clone();
    delegation.generation += 1;
    let cut_off = event.refs.get(ANSWER_REF).and_then(Value::as_str);
    if let Some(answer) = delegation.answer.as_mut().filter(|answer| Some(answer.action_id.as_str()) == cut_off) {
        answer.doubted = true;
    }
    if matches!(fact.peer_task.recovery, PeerRecovery::Running | PeerRecovery::Idle) {
        delegation.doubted = false;
        // It has taken the answer up: whatever it asks from now on, it asks anew.
        if delegation.answered_at.is_some() {
            (delegation.asked, delegation.answered_at) = (None, None);
        }
    }
    // The peer has it: nobody will send it again.
    if delegation.peer_task.remote_task_id.is_some() {
        delegation.text = String::new();
    }
    if is_final(fact.peer_task.recovery) {
        let run_id = delegation.run_id.clone();
        delegations.open.remove(&run_id);
    }
}

fn take_in(delegations: &mut Delegations, event: &Event, fact: &ArtifactChanged) {
    let Some(artifact_id) = event.scope.artifact_id.clone() else { return };
    let Some(remote) = event.refs.get(PEER_ARTIFACT_REF).and_then(Value::as_str) else { return };
    let content = fact.content.as_ref().map(content_key);
    let known = KnownArtifact { artifact_id, version: fact.version, content };
    if let Some(delegation) = of_run(delegations, event) {
        delegation.artifacts.insert(remote.to_owned(), known);
    }
}

fn asked(delegations: &mut Delegations, event: &Event, fact: &ActionRequired) {
    let Some(delegation) = of_run(delegations, event) else { return };
    delegation.action = event.scope.action_id.clone();
    let said = |name: &str| fact.scope.get(name).and_then(Value::as_str).map(str::to_owned);
    delegation.asked = Some(said(QUESTION).unwrap_or_default());
    delegation.asked_type = Some(fact.action_type);
    delegation.remote_action_id = said(REMOTE_ACTION);
    (delegation.answered_at, delegation.doubted) = (None, false);
}

/// The answer waits here until the peer has it. One that nobody gave is none.
fn resolved(delegations: &mut Delegations, event: &Event, fact: &ActionResolved) {
    let Some(action_id) = &event.scope.action_id else { return };
    let asked = |one: &&mut Delegation| one.action.as_ref() == Some(action_id);
    let Some(delegation) = delegations.open.values_mut().find(asked) else { return };
    delegation.action = None;
    if fact.source == ResolutionSource::Superseded {
        // The peer took it back: should it come again, it is asked anew.
        delegation.asked = None;
    } else {
        // A permission is given by its word alone, whatever else was said with it.
        let payload = fact.payload.as_ref().filter(|_| !fact.action_type.is_permission());
        delegation.answer = Some(PendingAnswer {
            action_id: action_id.clone(),
            decision: fact.decision.clone(),
            text: answer_text(&fact.decision, payload),
            remote_action_id: delegation.remote_action_id.clone(),
            doubted: false,
        });
    }
}

fn said(delegations: &mut Delegations, event: &Event, fact: &ChannelMessage) {
    let Some(delegation) = of_run(delegations, event) else { return };
    let carried = delegation.answer.as_ref().map(|answer| answer.action_id.as_str());
    if carried.is_some() && carried == fact.native_id.as_deref() {
        delegation.answer = None;
        delegation.doubted = fact.native_type.as_deref() == Some(ANSWER_UNKNOWN);
        // One that the peer did not take is asked for again.
        match fact.kind {
            ChannelMessageKind::Notice => delegation.asked = None,
            _ => delegation.answered_at = Some(event.timestamp),
        }
    }
}

/// The run is over here. A peer that is still at it has to hear of that, and so has one of which we do not know whether it
/// got the task: that is found out first. One that is done is only asked how it ended, so that both sides say the same.
fn ended(delegations: &mut Delegations, event: &Event, status: AttemptStatus) {
    let Some(delegation) = of_run(delegations, event) else { return };
    if status != AttemptStatus::Lost {
        delegation.over = true;
        delegation.cancel = true;
        delegation.answer = None;
    } else {
        let run_id = delegation.run_id.clone();
        delegations.open.remove(&run_id);
    }
}
