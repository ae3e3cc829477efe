//! The permission bridge (seed 000): a question goes out, a decision comes back, and each records the five facts: who asked,
//! about what, who decided, by which source, and whether the channel alone may decide. Never a message.

use factum_model::events::{
    ActionRequired, ActionResolved, ActionType, ChannelPermissionForwarded, ChannelPermissionRefused,
    ChannelPermissionReturned,
};
use factum_model::id::ActionId;
use factum_model::peer::{Direction, Side};
use factum_model::permission::{PermissionSubject, Verdict};
use factum_model::{NewEvent, Refusal, Scope, Timestamp};

use super::state::PeerState;
use crate::context::{Context, Decision};
use crate::session::Asked;
use crate::session::text::clip;

/// The most characters of what is asked that a channel is told.
const PROMPT_CHARS_MAX: usize = 2_000;

/// Whether an action asks for permission. An open question to a person is something else: any answer will do, and anyone's.
pub fn asks_permission(action_type: ActionType) -> bool {
    matches!(action_type, ActionType::ToolPermission | ActionType::Authorization | ActionType::Review)
}

/// What a channel is asked to decide.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Of the action in its session.
    pub scope: Scope,
    pub requesting_peer: String,
    pub subject: PermissionSubject,
    pub prompt: String,
    /// The work came through this channel, so nobody else may decide.
    pub channel_scoped: bool,
    pub expires_at: Option<Timestamp>,
}

impl Question {
    /// The question that an open action puts: of an agent, or of a peer that does work for it.
    pub fn new(scope: Scope, agent: &str, required: &ActionRequired, channel_scoped: bool) -> Self {
        let Asked { by: requesting_peer, mut subject } = Asked::of(agent, scope.action_id.as_ref(), required);
        // The session has it whole. Here it stands in every snapshot, twice.
        let prompt = clip(&required.prompt, PROMPT_CHARS_MAX);
        subject.summary = subject.summary.map(|summary| clip(&summary, PROMPT_CHARS_MAX));
        Self { scope, requesting_peer, subject, prompt, channel_scoped, expires_at: required.timeout_at }
    }
}

/// Records that the channel is asked. Once for each action; beyond the bound the action stays in its session alone.
pub fn forward_permission(
    state: &PeerState,
    question: &Question,
    context: &Context<'_>,
) -> Result<Decision<u64>, Refusal> {
    let peer = state.peer.as_ref().ok_or_else(Refusal::not_found)?;
    let known = |action_id: &ActionId| peer.bridge.iter().any(|bridged| bridged.entry.action_id == *action_id);
    let open = peer.bridge.iter().filter(|bridged| bridged.entry.decision.is_none()).count();
    let wanted = !peer.closed
        && open < context.limits.channel_permissions_max
        && question.scope.action_id.as_ref().is_some_and(|action_id| !known(action_id));
    let mut events = Vec::new();
    if wanted {
        let fact = ChannelPermissionForwarded {
            direction: Direction::Outbound,
            requesting_peer: question.requesting_peer.clone(),
            subject: question.subject.clone(),
            prompt: Some(question.prompt.clone()),
            channel_scoped: question.channel_scoped,
            expires_at: question.expires_at,
        };
        events.push(NewEvent::new(question.scope.clone().channel_id(&peer.channel_id), fact));
    }
    let output = context.sequence_after(state.sequence, &events);
    Ok(Decision { events, output })
}

/// Records how a question that the channel was asked came out. `through_channel` where the decision came from there.
pub fn return_permission(
    state: &PeerState,
    action_id: &ActionId,
    resolved: &ActionResolved,
    through_channel: bool,
    context: &Context<'_>,
) -> Result<Decision<u64>, Refusal> {
    let peer = state.peer.as_ref().ok_or_else(Refusal::not_found)?;
    let mut events = Vec::new();
    if let Some(bridged) = peer.open_question(action_id) {
        let (direction, decided_on) =
            if through_channel { (Direction::Inbound, Side::Remote) } else { (Direction::Outbound, Side::Local) };
        let fact = ChannelPermissionReturned {
            direction,
            requesting_peer: bridged.entry.requesting_peer.clone(),
            subject: bridged.entry.subject.clone(),
            decision: if resolved.allowed { Verdict::Allow } else { Verdict::Deny },
            decided_by: resolved.resolved_by.clone(),
            decided_on,
            source: resolved.source,
            channel_scoped: bridged.entry.channel_scoped,
        };
        events.push(NewEvent::new(bridged.scope.clone(), fact));
    }
    let output = context.sequence_after(state.sequence, &events);
    Ok(Decision { events, output })
}

/// Records that somebody decided elsewhere what only this channel may decide. The question stays open.
pub fn refuse_permission(
    state: &PeerState,
    action_id: &ActionId,
    decision: &str,
    context: &Context<'_>,
) -> Result<Decision<u64>, Refusal> {
    let peer = state.peer.as_ref().ok_or_else(Refusal::not_found)?;
    let scope = match peer.open_question(action_id) {
        Some(bridged) => bridged.scope.clone(),
        None => Scope::default().channel_id(&peer.channel_id).action_id(action_id),
    };
    let fact = ChannelPermissionRefused {
        attempted_by: context.caller.to_owned(),
        attempted_decision: decision.chars().take(DECISION_CHARS_KEPT).collect(),
        reason: "the decision did not come through this channel".to_owned(),
    };
    let events = vec![NewEvent::new(scope, fact)];
    let output = context.sequence_after(state.sequence, &events);
    Ok(Decision { events, output })
}

/// How much of a refused decision is kept.
const DECISION_CHARS_KEPT: usize = 64;
