//! `channels/markRead`: how far a member has read. A cursor moves forward only, and never past the last message.

use factum_model::commands::{MarkChannelRead, MarkChannelReadResult};
use factum_model::events::MessagingReadMarked;
use factum_model::{NewEvent, Refusal, Scope};

use super::access::{Operation, admit};
use super::open_direct::opened;
use super::state::ChannelState;
use crate::context::{Context, Decision};

pub fn mark_read(
    state: &ChannelState,
    command: &MarkChannelRead,
    context: &mut Context<'_>,
) -> Result<Decision<MarkChannelReadResult>, Refusal> {
    let mut events = Vec::new();
    let state = opened(state, command.peer.as_deref(), context, &mut events)?;
    let shell = admit(&state, context.caller, Operation::MarkRead)?;
    let member = state.members.get(context.caller);
    let current = member.map_or(0, |member| member.read_sequence);
    // What has not been said yet cannot have been read.
    let wanted = command.sequence.min(state.message_count);
    if wanted > current {
        let fact = MessagingReadMarked {
            channel_id: shell.channel_id.clone(),
            principal: context.caller.to_owned(),
            sequence: wanted,
        };
        events.push(NewEvent::new(Scope::default(), fact));
    }
    let read_cursor = state.read_cursor(member, wanted.max(current));
    let output = MarkChannelReadResult { channel_id: shell.channel_id.clone(), read_cursor };
    Ok(Decision { events, output })
}
