//! `channels/publish`: one message, numbered behind the last. The hot path: nothing is copied or measured twice that need
//! not be, and only a message with a key is digested.
//!
//! Looking up is the shell's: whether the key was used before, and which thread a reply belongs to.

use factum_model::commands::{PublishMessage, PublishMessageResult};
use factum_model::events::MessagePublished;
use factum_model::id::MessageId;
use factum_model::messaging::{MessageEvent, MessageEventKind};
use factum_model::{NewEvent, Refusal, Scope};
use serde_json::json;

use super::access::{Operation, admit};
use super::content::{check_content, check_key, check_size};
use super::digest::{content_digest, is_digest_of};
use super::index::MessageKeyRow;
use super::open_direct::opened;
use super::state::ChannelState;
use crate::context::{Context, Decision, Limits};

/// What the shell found of the messages that a command names: the thread of each, or itself where it is in none. `None` where
/// no message is named, or there is no such one in this channel.
#[derive(Clone, Debug, Default)]
pub struct Threads {
    pub of_reply_to_id: Option<MessageId>,
    pub of_thread_id: Option<MessageId>,
}

pub fn publish_message(
    state: &ChannelState,
    command: PublishMessage,
    threads: Threads,
    context: &mut Context<'_>,
) -> Result<Decision<PublishMessageResult>, Refusal> {
    let mut events = Vec::with_capacity(1);
    let state = opened(state, command.peer.as_deref(), context, &mut events)?;
    let shell = admit(&state, context.caller, Operation::Publish)?;
    check_content(&command, context.limits)?;
    check_key(command.idempotency_key.as_deref(), context.limits)?;
    let thread_id = thread_of(&command, threads)?;
    let digest = command.idempotency_key.is_some().then(|| content_digest(&command, thread_id.as_ref()));
    let event = MessageEvent {
        id: context.message_id(),
        channel_id: shell.channel_id.clone(),
        // Seed 002 §6: a sequence is never skipped and never used again.
        sequence: state.message_count + 1,
        timestamp: context.now.as_millisecond(),
        author: context.caller.to_owned(),
        parts: command.parts,
        artifact_refs: command.artifact_refs.unwrap_or_default(),
        task_refs: command.task_refs.unwrap_or_default(),
        metadata: command.metadata.unwrap_or_default(),
        idempotency_key: command.idempotency_key,
        reply_to_id: command.reply_to_id,
        thread_id,
        kind: MessageEventKind::MessageEvent,
    };
    events.push(NewEvent::new(Scope::default(), published(&event, digest)));
    Ok(Decision { events, output: PublishMessageResult { event } })
}

/// What a key that was used before means: the sequence of the message there is, or a conflict where it says something else
/// (seed 002 §6). Whether the caller may publish at all is asked first, by `allow`.
pub fn repeated(
    row: &MessageKeyRow,
    command: &PublishMessage,
    threads: Threads,
    limits: &Limits,
) -> Result<u64, Refusal> {
    check_size(command, limits)?;
    let thread = thread_of(command, threads)?;
    if is_digest_of(&row.digest, command, thread.as_ref()) {
        return Ok(row.sequence);
    }
    let message = "this idempotency key was used for another message of yours in this channel; use a new key";
    Err(Refusal::conflict(message).with("sequence", row.sequence))
}

fn published(event: &MessageEvent, digest: Option<String>) -> MessagePublished {
    MessagePublished {
        channel_id: event.channel_id.clone(),
        message_id: event.id.clone(),
        sequence: event.sequence,
        author: event.author.clone(),
        parts: event.parts.clone(),
        artifact_refs: event.artifact_refs.clone(),
        task_refs: event.task_refs.clone(),
        metadata: event.metadata.clone(),
        idempotency_key: event.idempotency_key.clone(),
        digest,
        reply_to_id: event.reply_to_id.clone(),
        thread_id: event.thread_id.clone(),
    }
}

/// A reply is in the thread of what it answers. A thread that is named besides, by any of its messages, has to be that one.
fn thread_of(command: &PublishMessage, threads: Threads) -> Result<Option<MessageId>, Refusal> {
    let Threads { of_reply_to_id, of_thread_id } = threads;
    let pairs = [("replyToId", &command.reply_to_id, &of_reply_to_id), ("threadId", &command.thread_id, &of_thread_id)];
    for (field, named, found) in pairs {
        if let (Some(named), None) = (named, found) {
            let message = format!("{field} names no message of this channel");
            return Err(Refusal::invalid(message).with(field, named.as_str()));
        }
    }
    match (of_reply_to_id, of_thread_id) {
        (Some(answered), Some(named)) if answered != named => {
            let message = "the message that replyToId names is in another thread; leave threadId out";
            Err(Refusal::invalid(message).with("threadId", json!(named)).with("thread", json!(answered)))
        }
        (answered, named) => Ok(answered.or(named)),
    }
}
