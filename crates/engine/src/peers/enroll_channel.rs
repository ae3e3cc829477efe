//! `enroll_channel`: a peer becomes known, or comes back and says what it is now.

use std::collections::BTreeSet;

use factum_model::commands::{EnrollChannel, EnrollChannelResult};
use factum_model::events::ChannelConnected;
use factum_model::id::{ChannelId, SessionId};
use factum_model::peer::{ChannelIdentity, PeerRole, Transport};
use factum_model::{NewEvent, Refusal, Scope};

use super::state::PeerState;
use crate::access::check_principal;
use crate::context::{Context, Decision, check};
use crate::session::workers::check_name;

/// The queue of a worker that names none.
pub const DEFAULT_QUEUE: &str = "default";

/// The longest address of an agent card.
const CARD_CHARS_MAX: usize = 2_048;

/// The longest name of a protocol.
const PROTOCOL_CHARS_MAX: usize = 64;

/// The shell has made the id where none was given, so that it knows the stream, and looked whether the sessions exist.
/// `token_ref` names the token the peer gets; the one it had before is void.
pub fn enroll_channel(
    state: &PeerState,
    channel_id: &ChannelId,
    command: &EnrollChannel,
    token_ref: String,
    context: &mut Context<'_>,
) -> Result<Decision<EnrollChannelResult>, Refusal> {
    if state.peer.is_some() && state.of(context.caller).is_none() {
        return Err(Refusal::not_found());
    }
    check_principal(context.caller)?;
    let identity = ChannelIdentity { resume_token_ref: Some(token_ref), ..identity(command, context)? };
    let (capabilities, queues) = (identity.capabilities.clone(), identity.queues.clone());
    let followed = followed(state, command, context)?;
    let fact = ChannelConnected { identity, session_ids: command.session_ids.clone() };
    let events = vec![NewEvent::new(Scope::default().channel_id(channel_id), fact)];
    let sequence = context.sequence_after(state.sequence, &events);
    let output = EnrollChannelResult {
        channel_id: channel_id.clone(),
        capabilities,
        queues,
        session_ids: followed,
        // The shell's to add: what is recorded of the answer must not hold it.
        resume_token: None,
        heartbeat_ms: context.limits.channel_heartbeat_ms,
        sequence,
    };
    Ok(Decision { events, output })
}

/// What the channel follows then: what it followed before and what it asks for.
fn followed(state: &PeerState, command: &EnrollChannel, context: &Context<'_>) -> Result<Vec<SessionId>, Refusal> {
    let before = state.peer.iter().flat_map(|peer| peer.sessions.keys());
    let followed: BTreeSet<&SessionId> = before.chain(&command.session_ids).collect();
    check("channel_sessions", followed.len(), context.limits.channel_sessions_max)?;
    Ok(followed.into_iter().cloned().collect())
}

fn identity(command: &EnrollChannel, context: &Context<'_>) -> Result<ChannelIdentity, Refusal> {
    let limits = context.limits;
    check("capabilities", command.capabilities.len(), limits.capabilities_max)?;
    check("queues", command.queues.len(), limits.worker_queues_max)?;
    let protocol = command.native_protocol.as_deref().unwrap_or_default();
    check("native_protocol_chars", protocol.chars().count(), PROTOCOL_CHARS_MAX)?;
    let card = command.agent_card_ref.as_deref().unwrap_or_default();
    check("agent_card_ref_chars", card.chars().count(), CARD_CHARS_MAX)?;
    limits.check_metadata("metadata_bytes", &command.metadata)?;
    for capability in &command.capabilities {
        check_name(capability)?;
    }
    Ok(ChannelIdentity {
        // The shell knows what it came over and has put it there.
        transport: command.transport.unwrap_or(Transport::InProcess),
        peer_role: command.peer_role,
        account_ref: Some(context.account.to_owned()),
        capabilities: sorted(&command.capabilities),
        queues: queues(command)?,
        peer_ref: Some(context.caller.to_owned()),
        native_protocol: command.native_protocol.clone(),
        agent_card_ref: command.agent_card_ref.clone(),
        resume_token_ref: None,
        metadata: command.metadata.clone(),
    })
}

/// The queues a worker takes runs from, in its own order: it is served from each of them in turn.
fn queues(command: &EnrollChannel) -> Result<Vec<String>, Refusal> {
    if command.peer_role != PeerRole::Worker {
        return if command.queues.is_empty() {
            Ok(Vec::new())
        } else {
            Err(Refusal::invalid("only a worker takes runs from queues"))
        };
    }
    if command.queues.is_empty() {
        return Ok(vec![DEFAULT_QUEUE.to_owned()]);
    }
    let mut queues: Vec<String> = Vec::with_capacity(command.queues.len());
    for queue in &command.queues {
        check_name(queue)?;
        if !queues.contains(queue) {
            queues.push(queue.clone());
        }
    }
    Ok(queues)
}

fn sorted(names: &[String]) -> Vec<String> {
    let mut names = names.to_vec();
    names.sort();
    names.dedup();
    names
}
