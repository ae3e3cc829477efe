//! `channels/create`: a channel and its first members. The caller owns it.

use std::collections::BTreeSet;

use factum_model::commands::{ChannelResult, CreateChannel, NewChannelMember};
use factum_model::events::{MessagingChannelCreated, MessagingMember};
use factum_model::id::MessagingChannelId;
use factum_model::messaging::ChannelRole;
use factum_model::{NewEvent, Refusal, Scope};

use super::apply::after;
use super::state::ChannelState;
use super::view::channel_result;
use crate::access::check_principal;
use crate::context::{Context, Decision, Limits, check};

/// The shell has made the id, so that it knows the stream.
pub fn create_channel(
    state: &ChannelState,
    channel_id: &MessagingChannelId,
    command: &CreateChannel,
    context: &mut Context<'_>,
) -> Result<Decision<ChannelResult>, Refusal> {
    if state.shell.is_some() {
        return Err(
            Refusal::conflict("a channel with this id exists already, or did").with("channelId", channel_id.as_str())
        );
    }
    check_name(command.name.as_deref(), context.limits)?;
    let metadata = command.metadata.clone().unwrap_or_default();
    context.limits.check_metadata("metadata_bytes", &metadata)?;
    let members = first_members(command.members.as_deref().unwrap_or_default(), context)?;
    let fact = MessagingChannelCreated {
        channel_id: channel_id.clone(),
        account_ref: context.account.to_owned(),
        direct: false,
        name: command.name.clone(),
        visibility: command.visibility.unwrap_or_default(),
        created_by: context.caller.to_owned(),
        members,
        metadata,
    };
    let events = vec![NewEvent::new(Scope::default(), fact)];
    let output = channel_result(&after(state, &events, context.now), context.caller)?;
    Ok(Decision { events, output })
}

/// The caller as owner, then those who were named.
fn first_members(named: &[NewChannelMember], context: &Context<'_>) -> Result<Vec<MessagingMember>, Refusal> {
    // An early bound: the rest is work for each name.
    check("channel_members", named.len(), context.limits.channel_members_max)?;
    check_principal(context.caller)?;
    let mut members = vec![MessagingMember { principal: context.caller.to_owned(), role: ChannelRole::Owner }];
    let mut seen = BTreeSet::new();
    for NewChannelMember { principal_id, role } in named {
        check_principal(principal_id)?;
        if !seen.insert(principal_id.as_str()) {
            return Err(Refusal::invalid("members names a principal twice").with("principalId", principal_id.as_str()));
        }
        match role {
            _ if principal_id != context.caller => {
                members.push(MessagingMember { principal: principal_id.clone(), role: role.unwrap_or_default() });
            }
            None | Some(ChannelRole::Owner) => {}
            Some(_) => {
                return Err(Refusal::invalid("whoever creates a channel owns it; leave yourself out of members"));
            }
        }
    }
    check("channel_members", members.len(), context.limits.channel_members_max)?;
    Ok(members)
}

/// A name is optional; one that is there says something and is short.
pub(super) fn check_name(name: Option<&str>, limits: &Limits) -> Result<(), Refusal> {
    let Some(name) = name else { return Ok(()) };
    if name.trim().is_empty() {
        return Err(Refusal::invalid("a name has at least one character; leave it out for no name, or no change"));
    }
    check("channel_name_chars", name.chars().count(), limits.channel_name_chars_max)
}
