//! The permission bridge of tasks that a peer gave to us: what our agent may do is asked across the peer's channel, and the
//! answer, whichever side gives it, is a fact of its own (seed 000, "Remote permission bridge"), never a message.

use factum_model::events::{ActionRequired, ChannelPermissionForwarded, ChannelPermissionReturned};
use factum_model::id::{TaskId, TurnId};
use factum_model::peer::{Direction, Side};
use factum_model::permission::{PermissionSubject, SubjectKind};
use factum_model::{Fact, NewEvent, Scope};

use super::links::Link;
use crate::session::crossing;
use crate::session::respond_action::Answer;
use crate::session::state::{OpenAction, SessionState, Shell};
use crate::session::tasks::draft::Draft;
use crate::session::verdict::Verdict;
use crate::session::waiting::{asking_turn, asks_in};

/// Says of every permission that the draft asks for that the peer is asked too.
pub(in crate::session::tasks) fn forward_permissions(draft: &mut Draft<'_, '_>, task_id: &TaskId, turn_id: &TurnId) {
    let Some(link) = draft.state.inbound.open.get(task_id) else { return };
    let shell = draft.state.shell.as_ref();
    let asked = |event: &NewEvent| match &event.fact {
        Fact::ActionRequired(required) if asks_in(draft.state, turn_id, event) => {
            required.action_type.is_permission().then(|| {
                let (prompt, expires_at) = (required.prompt.clone(), required.timeout_at);
                let by = shell.map(requesting).unwrap_or_default();
                let requested = crossing::requested(subject(required), by, prompt, expires_at);
                let scope = scope(&event.scope, link);
                let local = Scope { channel_id: None, ..scope.clone() };
                [NewEvent::new(local, requested), NewEvent::new(scope, forwarded(required, shell))]
            })
        }
        _ => None,
    };
    let forwarded: Vec<NewEvent> = draft.events.iter().filter_map(asked).flatten().collect();
    for event in forwarded {
        draft.push_event(event);
    }
}

fn scope(of: &Scope, link: &Link) -> Scope {
    // The run is of whoever asks, and that may be a peer's.
    Scope { run_id: None, attempt_id: None, ..of.clone() }.task_id(&link.task_id).channel_id(&link.channel_id)
}

fn forwarded(required: &ActionRequired, shell: Option<&Shell>) -> ChannelPermissionForwarded {
    ChannelPermissionForwarded {
        direction: Direction::Outbound,
        requesting_peer: shell.map(requesting).unwrap_or_default(),
        subject: subject(required),
        prompt: Some(required.prompt.clone()),
        channel_scoped: false,
        expires_at: required.timeout_at,
    }
}

/// For the peer, the one who asks is this runtime's agent.
pub(crate) fn requesting(shell: &Shell) -> String {
    format!("agent://{}", shell.agent)
}

/// What a permission is about.
pub(crate) fn subject(required: &ActionRequired) -> PermissionSubject {
    PermissionSubject {
        kind: SubjectKind::Tool,
        name: required.tool_name.clone().unwrap_or_default(),
        summary: Some(required.prompt.clone()),
        arguments_digest: required.arguments_digest.clone(),
    }
}

/// Says to the peer's channel what somebody here, or the time, decided of a permission that the peer was asked for.
pub(in crate::session) fn decided_here(
    state: &SessionState,
    shell: &Shell,
    action: &OpenAction,
    answer: &Answer<'_>,
    verdict: Verdict,
) -> Vec<NewEvent> {
    let Some(turn_id) = asking_turn(state, action).filter(|_| is_permission(action)) else { return Vec::new() };
    let link = state.inbound.open.values().find(|link| link.turn_id.as_ref() == Some(turn_id));
    link.map(|link| permission_returned(shell, link, action, answer, verdict, Side::Local)).unwrap_or_default()
}

pub(super) fn is_permission(action: &OpenAction) -> bool {
    action.required.action_type.is_permission()
}

/// The decision, and on which side of the peer's channel it was made.
pub(super) fn permission_returned(
    shell: &Shell,
    link: &Link,
    action: &OpenAction,
    answer: &Answer<'_>,
    verdict: Verdict,
    decided_on: Side,
) -> Vec<NewEvent> {
    let mut scope = Scope::default().thread_id(&action.thread_id).action_id(&action.action_id);
    scope.session_id = Some(shell.session_id.clone());
    scope.turn_id.clone_from(&action.turn_id);
    scope.step_id.clone_from(&action.step_id);
    scope.tool_call_id.clone_from(&action.tool_call_id);
    let fact = ChannelPermissionReturned {
        direction: if decided_on == Side::Remote { Direction::Inbound } else { Direction::Outbound },
        requesting_peer: requesting(shell),
        subject: subject(&action.required),
        decision: crossing::decided(verdict, answer.source),
        decided_by: answer.by.to_owned(),
        decided_on,
        source: answer.source,
        channel_scoped: false,
    };
    let scope = scope.task_id(&link.task_id);
    let resolved = crossing::resolved(subject(&action.required), &action.action_id, verdict, answer);
    let resolved = resolved.map(|resolved| NewEvent::new(scope.clone(), resolved));
    let returned = NewEvent::new(scope.channel_id(&link.channel_id), fact);
    resolved.into_iter().chain([returned]).collect()
}
