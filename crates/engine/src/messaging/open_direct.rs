//! The first use of a direct channel: it is there from then on, with its two members and nobody else ever.

use std::borrow::Cow;

use factum_model::commands::ChannelResult;
use factum_model::events::{MessagingChannelCreated, MessagingMember};
use factum_model::messaging::{ChannelRole, ChannelVisibility};
use factum_model::value::Metadata;
use factum_model::{NewEvent, Refusal, Scope};

use super::access::{Operation, admit};
use super::apply::after;
use super::direct::{check_peer, direct_channel_id};
use super::state::ChannelState;
use super::view::channel_result;
use crate::access::check_principal;
use crate::context::{Context, Decision};

/// What `get`, `history`, `stream` and `presence` do first with a `peer`. Writes nothing where the channel is there.
pub fn open_direct(
    state: &ChannelState,
    peer: &str,
    context: &mut Context<'_>,
) -> Result<Decision<ChannelResult>, Refusal> {
    let mut events = Vec::new();
    let opened = opened(state, Some(peer), context, &mut events)?;
    admit(&opened, context.caller, Operation::Get)?;
    let output = channel_result(&opened, context.caller)?;
    Ok(Decision { events, output })
}

/// The state a command with a `peer` decides on: the one there is, or a new channel whose fact is put into `events`.
pub(super) fn opened<'a>(
    state: &'a ChannelState,
    peer: Option<&str>,
    context: &Context<'_>,
    events: &mut Vec<NewEvent>,
) -> Result<Cow<'a, ChannelState>, Refusal> {
    let Some(peer) = peer.filter(|_| state.shell.is_none()) else { return Ok(Cow::Borrowed(state)) };
    check_principal(context.caller)?;
    check_peer(peer, context.caller)?;
    let member = |principal: &str| MessagingMember { principal: principal.to_owned(), role: ChannelRole::Member };
    let fact = MessagingChannelCreated {
        channel_id: direct_channel_id(context.caller, peer),
        account_ref: context.account.to_owned(),
        direct: true,
        name: None,
        visibility: ChannelVisibility::Private,
        created_by: context.caller.to_owned(),
        members: vec![member(context.caller), member(peer)],
        metadata: Metadata::new(),
    };
    events.push(NewEvent::new(Scope::default(), fact));
    Ok(Cow::Owned(after(state, events, context.now)))
}
