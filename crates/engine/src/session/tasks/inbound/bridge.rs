//! The permission bridge of tasks that a peer gave to us: what our agent may do is asked across the peer's channel, and the
//! answer, whichever side gives it, is a fact of its own (seed 000, "Remote permission bridge"), never a message.

use factum_model::events::{ActionRequired, ChannelPermissionForwarded, ChannelPermissionReturned};
use factum_model::id::{TaskId, TurnId};
use factum_model::peer::{Direction, Side};
use factum_model::{Fact, NewEvent, Scope};

use super::links::Link;
use crate::session::crossing::{self, Asked, agent_of};
use crate::session::delegations::asking_peer;
use crate::session::respond_action::Answer;
use crate::session::state::{OpenAction, SessionState};
use crate::session::tasks::draft::Draft;
use crate::session::verdict::Verdict;
use crate::session::waiting::{asking_turn, asks_in};

/// Says of every permission that the draft asks for that the peer is asked too.
pub(in crate::session::tasks) fn forward_permissions(draft: &mut Draft<'_, '_>, task_id: &TaskId, turn_id: &TurnId) {
    let Some(link) = draft.state.inbound.open.get(task_id) else { return };
    let asked = |event: &NewEvent| match &event.fact {
        Fact::ActionRequired(required)
            if required.action_type.is_permission() && asks_in(draft.state, turn_id, event) =>
        {
            let agent = agent_of(draft.state, event.scope.thread_id.as_ref());
            let asked = Asked::of(agent, event.scope.action_id.as_ref(), required);
            // The channel of an action is the one that alone may decide it.
            let bound = event.scope.channel_id.is_some();
            let scope = scope(&event.scope, link);
            let local = Scope { channel_id: None, ..scope.clone() };
            // What a peer asks is a fact already, beside its question.
            let requested = asking_peer(required).is_none().then(|| crossing::requested(asked.clone(), required));
            let requested = requested.map(|requested| NewEvent::new(local, requested));
            Some(requested.into_iter().chain([NewEvent::new(scope, forwarded(required, asked, bound))]))
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

fn forwarded(required: &ActionRequired, asked: Asked, channel_scoped: bool) -> ChannelPermissionForwarded {
    ChannelPermissionForwarded {
        direction: Direction::Outbound,
        requesting_peer: asked.by,
        subject: asked.subject,
        prompt: Some(required.prompt.clone()),
        channel_scoped,
        expires_at: required.timeout_at,
    }
}

/// Says to the peer's channel what somebody here, or the time, decided of a permission that the peer was asked for.
pub(in crate::session) fn decided_here(
    state: &SessionState,
    action: &OpenAction,
    answer: &Answer<'_>,
    verdict: Verdict,
) -> Vec<NewEvent> {
    let Some(turn_id) = asking_turn(state, action).filter(|_| is_permission(action)) else { return Vec::new() };
    let link = state.inbound.open.values().find(|link| link.turn_id.as_ref() == Some(turn_id));
    link.map(|link| permission_returned(state, link, action, answer, verdict, Side::Local)).unwrap_or_default()
}

pub(super) fn is_permission(action: &OpenAction) -> bool {
    action.required.action_type.is_permission()
}

/// The decision, and on which side of the peer's channel it was made.
pub(super) fn permission_returned(
    state: &SessionState,
    link: &Link,
    action: &OpenAction,
    answer: &Answer<'_>,
    verdict: Verdict,
    decided_on: Side,
) -> Vec<NewEvent> {
    let mut scope = Scope::default().thread_id(&action.thread_id).action_id(&action.action_id);
    scope.session_id = state.shell.as_ref().map(|shell| shell.session_id.clone());
    scope.turn_id.clone_from(&action.turn_id);
    scope.step_id.clone_from(&action.step_id);
    scope.tool_call_id.clone_from(&action.tool_call_id);
    let asked = Asked::in_session(state, action);
    // What was decided of a peer's question is a fact already, with what goes back to that peer.
    let resolved = crossing::resolved(asked.subject.clone(), &action.action_id, verdict, answer);
    let resolved = resolved.filter(|_| asking_peer(&action.required).is_none());
    let fact = ChannelPermissionReturned {
        direction: if decided_on == Side::Remote { Direction::Inbound } else { Direction::Outbound },
        requesting_peer: asked.by,
        subject: asked.subject,
        decision: crossing::decided(verdict, answer.source),
        decided_by: answer.by.to_owned(),
        decided_on,
        source: answer.source,
        channel_scoped: action.decided_through.is_some(),
    };
    let scope = scope.task_id(&link.task_id);
    let resolved = resolved.map(|resolved| NewEvent::new(scope.clone(), resolved));
    let returned = NewEvent::new(scope.channel_id(&link.channel_id), fact);
    resolved.into_iter().chain([returned]).collect()
}
