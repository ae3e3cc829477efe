//! `channels/removeMember`: somebody is no longer in the channel. The last owner stays (seed 002 §7).

use factum_model::commands::{ChannelResult, RemoveChannelMember};
use factum_model::events::MessagingMemberRemoved;
use factum_model::{NewEvent, Refusal, Scope};

use super::access::{Operation, admit};
use super::add_member::check_owner_remains;
use super::apply::after;
use super::state::ChannelState;
use super::view::channel_result;
use crate::context::{Context, Decision};

/// The answer is the channel as the caller last saw it: an owner who leaves may not look again.
pub fn remove_member(
    state: &ChannelState,
    command: &RemoveChannelMember,
    context: &mut Context<'_>,
) -> Result<Decision<ChannelResult>, Refusal> {
    let shell = admit(state, context.caller, Operation::RemoveMember)?;
    let principal = &command.principal_id;
    let Some(member) = state.members.get(principal) else {
        return Err(Refusal::invalid(format!("{principal:?} is not a member of this channel"))
            .with("principalId", principal.as_str()));
    };
    check_owner_remains(state, principal)?;
    let fact = MessagingMemberRemoved {
        channel_id: shell.channel_id.clone(),
        principal: principal.clone(),
        role: member.role,
        version: shell.version + 1,
        after_sequence: state.message_count,
        actor: context.caller.to_owned(),
    };
    let events = vec![NewEvent::new(Scope::default(), fact)];
    let output = channel_result(&after(state, &events, context.now), context.caller)?;
    Ok(Decision { events, output })
}
