//! `channels/addMember`: somebody comes in, or a member gets another role.

use factum_model::commands::{AddChannelMember, ChannelResult};
use factum_model::events::{MessagingMemberAdded, MessagingMemberChanged};
use factum_model::messaging::ChannelRole;
use factum_model::{Fact, NewEvent, Refusal, Scope};

use super::access::{Operation, admit};
use super::apply::after;
use super::state::{ChannelState, Shell};
use super::view::channel_result;
use crate::access::check_principal;
use crate::context::{Context, Decision, check};

pub fn add_member(
    state: &ChannelState,
    command: &AddChannelMember,
    context: &mut Context<'_>,
) -> Result<Decision<ChannelResult>, Refusal> {
    let shell = admit(state, context.caller, Operation::AddMember)?;
    check_principal(&command.principal_id)?;
    let current = state.members.get(&command.principal_id).map(|member| member.role);
    // Whoever names no role does not take one away.
    let role = command.role.or(current).unwrap_or_default();
    let fact = match current {
        // Asking for what is there already is no change: a client that repeats itself does no harm.
        Some(current) if current == role => None,
        Some(current) => Some(change_role(state, shell, command, (current, role), context)?),
        None => Some(add(state, shell, command, role, context)?),
    };
    let events: Vec<_> = fact.into_iter().map(|fact| NewEvent::new(Scope::default(), fact)).collect();
    let output = channel_result(&after(state, &events, context.now), context.caller)?;
    Ok(Decision { events, output })
}

fn add(
    state: &ChannelState,
    shell: &Shell,
    command: &AddChannelMember,
    role: ChannelRole,
    context: &Context<'_>,
) -> Result<Fact, Refusal> {
    check("channel_members", state.members.len() + 1, context.limits.channel_members_max)?;
    let fact = MessagingMemberAdded {
        channel_id: shell.channel_id.clone(),
        principal: command.principal_id.clone(),
        role,
        version: shell.version + 1,
        after_sequence: state.message_count,
        actor: context.caller.to_owned(),
    };
    Ok(fact.into())
}

fn change_role(
    state: &ChannelState,
    shell: &Shell,
    command: &AddChannelMember,
    (previous_role, role): (ChannelRole, ChannelRole),
    context: &Context<'_>,
) -> Result<Fact, Refusal> {
    check_owner_remains(state, &command.principal_id)?;
    let fact = MessagingMemberChanged {
        channel_id: shell.channel_id.clone(),
        principal: command.principal_id.clone(),
        role,
        previous_role,
        version: shell.version + 1,
        after_sequence: state.message_count,
        actor: context.caller.to_owned(),
    };
    Ok(fact.into())
}

/// Refuses to make less of the last owner, or to take them out: nobody could manage the channel after that.
pub(super) fn check_owner_remains(state: &ChannelState, principal: &str) -> Result<(), Refusal> {
    if !state.is_last_owner(principal) {
        return Ok(());
    }
    Err(Refusal::conflict("this is the channel's last owner; make somebody else an owner first")
        .with("principalId", principal))
}
