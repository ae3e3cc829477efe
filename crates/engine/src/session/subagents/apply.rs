//! The fold of child agents. Total: a fact that does not fit changes nothing.

use factum_model::events::{ModelCompleted, SubagentSpawned, SubagentStatus};
use factum_model::permission::PermissionMode;
use factum_model::subagent::{SubagentRecord, SubagentState};
use factum_model::{Event, Fact};

use super::super::state::KEPT_TEXT_CHARS_MAX;
use super::super::text::clip;
use super::state::{Closing, Subagent, Subagents};

/// Applies one event.
pub(in super::super) fn apply(subagents: &mut Subagents, event: &Event) {
    match &event.fact {
        Fact::SubagentSpawned(fact) => spawn(subagents, event, fact),
        Fact::SubagentStatus(fact) => change(subagents, event, |one| status(one, fact)),
        Fact::SubagentInput(_) => change(subagents, event, |_| {}),
        Fact::SubagentCompleted(fact) => change(subagents, event, |one| {
            one.record.status = fact.status;
            one.record.last_error = None;
            one.record.ended_at = Some(event.timestamp);
        }),
        Fact::SubagentFailed(fact) => change(subagents, event, |one| {
            one.record.status = fact.status;
            let message = clip(&fact.error.message, KEPT_TEXT_CHARS_MAX);
            one.record.last_error = Some(factum_model::value::Failure { message, ..fact.error.clone() });
            one.record.ended_at = Some(event.timestamp);
        }),
        Fact::SubagentClosed(_) => close(subagents, event),
        // A turn may also be submitted to the thread directly.
        Fact::TurnStarted(_) => in_thread(subagents, event, |one| {
            one.record.status = SubagentState::Running;
            one.record.ended_at = None;
        }),
        Fact::ModelCompleted(fact) => in_thread(subagents, event, |one| said(one, event, fact)),
        _ => {}
    }
}

fn close(subagents: &mut Subagents, event: &Event) {
    let id = event.scope.subagent_id.as_ref();
    subagents.open.retain(|one| Some(one.id()) != id);
}

fn spawn(subagents: &mut Subagents, event: &Event, fact: &SubagentSpawned) {
    let scope = &event.scope;
    let (Some(subagent_id), Some(session_id), Some(parent_thread_id)) =
        (scope.subagent_id.clone(), scope.session_id.clone(), scope.thread_id.clone())
    else {
        return;
    };
    subagents.spawned += 1;
    subagents.open.push(Subagent {
        record: SubagentRecord {
            subagent_id,
            parent_session_id: session_id,
            parent_thread_id,
            parent_turn_id: scope.turn_id.clone(),
            parent_task_id: scope.task_id.clone(),
            parent_subagent_id: fact.parent_subagent_id.clone(),
            thread_id: fact.child_thread_id.clone(),
            task_id: fact.child_task_id.clone(),
            agent: fact.agent.clone(),
            role: fact.role.clone(),
            nickname: fact.nickname.clone(),
            isolation: fact.isolation,
            model_policy: fact.model_policy.clone(),
            permission_mode: fact.permission_mode.unwrap_or(PermissionMode::Default),
            depth: fact.depth,
            status: fact.status,
            last_message_ref: None,
            last_error: None,
            close_at: None,
            spawned_at: event.timestamp,
            updated_at: event.timestamp,
            ended_at: None,
        },
        closing: None,
    });
}

/// `closing` is kept apart from the status, which goes on to say what its work came to.
fn status(one: &mut Subagent, fact: &SubagentStatus) {
    match fact.close_at.filter(|_| fact.status == SubagentState::Closing) {
        Some(at) => {
            one.record.close_at = Some(at);
            let by = fact.changed_by.clone().unwrap_or_default();
            let reason = fact.detail.as_deref().map(|detail| clip(detail, KEPT_TEXT_CHARS_MAX));
            one.closing = Some(Closing { at, by, reason });
        }
        None => one.record.status = fact.status,
    }
}

/// The last thing a child said: the blob where it was large, the event that holds it otherwise.
fn said(one: &mut Subagent, event: &Event, fact: &ModelCompleted) {
    if let Some(text) = &fact.text_ref {
        one.record.last_message_ref = Some(text.r#ref.clone());
    } else if fact.text.is_some() {
        one.record.last_message_ref = Some(format!("event:{}", event.event_id));
    }
}

fn change(subagents: &mut Subagents, event: &Event, change: impl FnOnce(&mut Subagent)) {
    if let Some(one) = event.scope.subagent_id.as_ref().and_then(|id| subagents.get_mut(id)) {
        change(one);
        one.record.updated_at = event.timestamp;
    }
}

fn in_thread(subagents: &mut Subagents, event: &Event, change: impl FnOnce(&mut Subagent)) {
    if let Some(one) = event.scope.thread_id.as_ref().and_then(|id| subagents.in_thread_mut(id)) {
        change(one);
        one.record.updated_at = event.timestamp;
    }
}
