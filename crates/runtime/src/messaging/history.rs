//! `channels/history`: pages of a channel's messages, forward or backward, all or by author or thread.

use std::collections::BTreeSet;

use factum_engine::messaging::{ChannelState, Operation, allow};
use factum_model::Refusal;
use factum_model::commands::{HistoryDirection, ReadChannelHistory, ReadChannelHistoryResult};
use factum_model::id::MessagingChannelId;
use factum_model::messaging::MessageEvent;
use serde_json::json;

use super::page_token::{Purpose, given, page_size};
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

/// How many messages one page looks through at most for those that were asked for. A page may so be shorter than asked, or
/// empty, and still have a next one.
const LOOK_MESSAGES_MAX: u64 = 2_000;
/// How many messages are read at a time.
const STEP: u64 = 200;

impl Handle<ReadChannelHistory> for Runtime {
    async fn handle(
        &self,
        caller: &Caller,
        mut command: ReadChannelHistory,
    ) -> Result<ReadChannelHistoryResult, Refusal> {
        if command.since_sequence.is_some() && command.since_timestamp.is_some() {
            return Err(Refusal::invalid("sinceSequence and sinceTimestamp exclude each other"));
        }
        let channel_id = self.target_to_read(caller, command.channel_id.as_ref(), command.peer.as_deref()).await?;
        let may = |state: &ChannelState| {
            allow(state, &caller.principal, Operation::History)?;
            Ok(state.message_count)
        };
        let (messages, _) = self.look(&caller.account, &channel_id, may).await?;
        let purpose = purpose(caller, &channel_id, &command);
        let token = given(command.page_token.as_deref());
        let place = token.map(|token| self.open_page_number(caller, &purpose, token)).transpose()?;
        if let Some(named) = &command.thread_id {
            // Any message names the thread it is in, as it does for publishing.
            let thread = self.thread_of(&caller.account, &channel_id, messages, named).await?;
            let nothing = ReadChannelHistoryResult { events: Vec::new(), next_page_token: None };
            let Some(thread) = thread else { return Ok(nothing) };
            command.thread_id = Some(thread);
        }
        let page = match command.direction.unwrap_or_default() {
            HistoryDirection::Forward => self.forward(caller, &channel_id, &command, messages, place).await?,
            HistoryDirection::Backward => self.backward(caller, &channel_id, &command, messages, place).await?,
        };
        let next_page_token = page.next.map(|next| self.page_token(caller, &purpose, &next.to_be_bytes()));
        Ok(ReadChannelHistoryResult { events: page.events, next_page_token })
    }
}

struct Page {
    events: Vec<MessageEvent>,
    /// Where the next page begins.
    next: Option<u64>,
}

impl Runtime {
    /// `place` is the first message to look at.
    async fn forward(
        &self,
        caller: &Caller,
        channel_id: &MessagingChannelId,
        command: &ReadChannelHistory,
        messages: u64,
        place: Option<u64>,
    ) -> Result<Page, Refusal> {
        let mut next = match place {
            Some(place) => place,
            None => self.oldest(caller, channel_id, command, messages).await?,
        };
        let (size, stop) = (page_size(command.page_size), next.saturating_add(LOOK_MESSAGES_MAX));
        let mut events = Vec::new();
        while next <= messages && next < stop {
            let wanted = (messages - next + 1).min(step(command, size - events.len()));
            for message in self.messages(&caller.account, channel_id, next, wanted as usize).await? {
                if message.sequence > messages || events.len() == size {
                    break;
                }
                next = message.sequence + 1;
                if is_wanted(&message, command) {
                    events.push(message);
                }
            }
            if events.len() == size {
                break;
            }
        }
        Ok(Page { events, next: (next <= messages).then_some(next) })
    }

    /// `place` is the message behind the first one to look at.
    async fn backward(
        &self,
        caller: &Caller,
        channel_id: &MessagingChannelId,
        command: &ReadChannelHistory,
        messages: u64,
        place: Option<u64>,
    ) -> Result<Page, Refusal> {
        let oldest = self.oldest(caller, channel_id, command, messages).await?;
        let mut before = place.unwrap_or(messages + 1);
        let (size, stop) = (page_size(command.page_size), before.saturating_sub(LOOK_MESSAGES_MAX));
        let mut events = Vec::new();
        while before > oldest && before > stop && events.len() < size {
            let first = before.saturating_sub(step(command, size - events.len())).max(oldest);
            let found = self.messages(&caller.account, channel_id, first, (before - first) as usize).await?;
            let end = before;
            for message in found.into_iter().rev().filter(|message| message.sequence < end) {
                if events.len() == size {
                    return Ok(Page { events, next: Some(before) });
                }
                before = message.sequence;
                if is_wanted(&message, command) {
                    events.push(message);
                }
            }
            before = before.min(first);
        }
        Ok(Page { events, next: (before > oldest).then_some(before) })
    }

    /// The oldest message that the command asks for, by number.
    async fn oldest(
        &self,
        caller: &Caller,
        channel_id: &MessagingChannelId,
        command: &ReadChannelHistory,
        messages: u64,
    ) -> Result<u64, Refusal> {
        match (command.since_sequence, command.since_timestamp) {
            (Some(sequence), _) => Ok(sequence.saturating_add(1)),
            (None, Some(millis)) => self.first_since(&caller.account, channel_id, messages, millis).await,
            (None, None) => Ok(1),
        }
    }
}

/// As many as are wanted, where all are; more at a time where some are left out.
fn step(command: &ReadChannelHistory, wanted: usize) -> u64 {
    let filtered = authors(command).is_some() || command.thread_id.is_some();
    if filtered { STEP } else { wanted as u64 }
}

/// Whose messages are wanted. Nobody named is everybody, whether the list is absent or empty.
fn authors(command: &ReadChannelHistory) -> Option<&Vec<String>> {
    command.author_ids.as_ref().filter(|authors| !authors.is_empty())
}

fn is_wanted(message: &MessageEvent, command: &ReadChannelHistory) -> bool {
    let by_author = authors(command).is_none_or(|authors| authors.contains(&message.author));
    // A thread's first message belongs to it, though it does not say so itself.
    let in_thread = |thread| message.thread_id.as_ref() == Some(thread) || message.id == *thread;
    by_author && command.thread_id.as_ref().is_none_or(in_thread)
}

fn purpose(caller: &Caller, channel_id: &MessagingChannelId, command: &ReadChannelHistory) -> Purpose {
    // The same people in another order, or twice, are the same question.
    let authors = authors(command).map(|authors| authors.iter().collect::<BTreeSet<_>>());
    let filters = json!([
        channel_id,
        command.since_sequence,
        command.since_timestamp,
        authors,
        command.thread_id,
        command.direction.unwrap_or_default(),
    ]);
    Purpose::new("channels/history", caller, &filters.to_string())
}
