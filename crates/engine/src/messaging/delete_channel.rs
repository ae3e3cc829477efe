//! `channels/delete`: the channel is gone for everybody. Its facts stay in the log, its id is never used again.

use factum_model::commands::{DeleteChannel, DeleteChannelResult};
use factum_model::events::MessagingChannelDeleted;
use factum_model::{NewEvent, Refusal, Scope};

use super::access::{Operation, admit};
use super::state::ChannelState;
use crate::context::{Context, Decision};

pub fn delete_channel(
    state: &ChannelState,
    _command: &DeleteChannel,
    context: &mut Context<'_>,
) -> Result<Decision<DeleteChannelResult>, Refusal> {
    let shell = admit(state, context.caller, Operation::Delete)?;
    let fact = MessagingChannelDeleted {
        channel_id: shell.channel_id.clone(),
        // Their rows in the index go with this fact, and only the fact is there when the index is made again.
        members: state.members.keys().cloned().collect(),
        version: shell.version + 1,
        after_sequence: state.message_count,
        actor: context.caller.to_owned(),
    };
    let output = DeleteChannelResult { channel_id: shell.channel_id.clone(), deleted: true };
    Ok(Decision { events: vec![NewEvent::new(Scope::default(), fact)], output })
}
