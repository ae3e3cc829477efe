//! `channels/history`: pages of a channel's messages, forward or backward, all or by author or thread.

use std::collections::BTreeSet;

use factum_engine::messaging::{ChannelState, Operation, allow};
use factum_model::Refusal;
use factum_model::commands::{HistoryDirection, ReadChannelHistory, ReadChannelHistoryResult};
use factum_model::id::{MessageId, MessagingChannelId};
use factum_model::messaging::MessageEvent;
use factum_store::ReadLimit;
use rustc_hash::FxHashSet;
use serde_json::json;

use super::messages::{Found, MESSAGES_BYTES_MAX};
use super::page_token::{Purpose, given, page_size};
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

/// How many messages one page looks through at most for those that were asked for. A page may so be shorter than asked, or
/// empty, and still have a next one.
const LOOK_MESSAGES_MAX: u64 = 2_000;
/// How many messages are read at a time where some are left out.
const STEP: usize = 200;

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
        // Behind the gate, like everything that may be wrong with the question: outsiders are told the same whatever they ask.
        self.check_authors(&command)?;
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
        let mut page = Page::of(&command);
        let next = match command.direction.unwrap_or_default() {
            HistoryDirection::Forward => {
                self.forward(caller, &channel_id, &command, messages, place, &mut page).await?
            }
            HistoryDirection::Backward => {
                self.backward(caller, &channel_id, &command, messages, place, &mut page).await?
            }
        };
        let next_page_token = next.map(|next| self.page_token(caller, &purpose, &next.to_be_bytes()));
        Ok(ReadChannelHistoryResult { events: page.events, next_page_token })
    }
}

impl Runtime {
    /// As many authors may be named as may be in a channel.
    fn check_authors(&self, command: &ReadChannelHistory) -> Result<(), Refusal> {
        let (named, max) = (authors(command).map_or(0, Vec::len), self.0.limits.channel_members_max);
        if named > max { Err(Refusal::limit("author_ids", named as u64, max as u64)) } else { Ok(()) }
    }

    /// Fills a page from `place` on, the first message to look at; gives where the next page begins.
    async fn forward(
        &self,
        caller: &Caller,
        channel_id: &MessagingChannelId,
        command: &ReadChannelHistory,
        messages: u64,
        place: Option<u64>,
        page: &mut Page<'_>,
    ) -> Result<Option<u64>, Refusal> {
        let mut next = match place {
            Some(place) => place,
            None => self.oldest(caller, channel_id, command, messages).await?,
        };
        let stop = next.saturating_add(LOOK_MESSAGES_MAX);
        while next <= messages && next < stop && !page.is_full() {
            let read = page.read(messages - next + 1);
            for found in self.messages(&caller.account, channel_id, next, read).await? {
                let sequence = found.message.sequence;
                if !page.take(found) {
                    return Ok(Some(next));
                }
                next = sequence + 1;
            }
        }
        Ok((next <= messages).then_some(next))
    }

    /// The same the other way, where `place` is the message behind the first one to look at.
    async fn backward(
        &self,
        caller: &Caller,
        channel_id: &MessagingChannelId,
        command: &ReadChannelHistory,
        messages: u64,
        place: Option<u64>,
        page: &mut Page<'_>,
    ) -> Result<Option<u64>, Refusal> {
        let oldest = self.oldest(caller, channel_id, command, messages).await?;
        let mut before = place.unwrap_or(messages + 1);
        let stop = before.saturating_sub(LOOK_MESSAGES_MAX);
        while before > oldest && before > stop && !page.is_full() {
            let read = page.read(before - oldest);
            for found in self.messages_before(&caller.account, channel_id, before, read).await? {
                let sequence = found.message.sequence;
                if !page.take(found) {
                    return Ok(Some(before));
                }
                before = sequence;
            }
        }
        Ok((before > oldest).then_some(before))
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

/// A page that is filled message by message.
struct Page<'a> {
    authors: Option<FxHashSet<&'a str>>,
    thread: Option<&'a MessageId>,
    size: usize,
    events: Vec<MessageEvent>,
    bytes: usize,
}

impl<'a> Page<'a> {
    fn of(command: &'a ReadChannelHistory) -> Self {
        Self {
            authors: authors(command).map(|authors| authors.iter().map(String::as_str).collect()),
            thread: command.thread_id.as_ref(),
            size: page_size(command.page_size),
            events: Vec::new(),
            bytes: 0,
        }
    }

    fn is_full(&self) -> bool {
        self.events.len() == self.size || self.bytes >= MESSAGES_BYTES_MAX
    }

    /// How much to read next of so many messages: as there is room for, where all are wanted; more where some are left out.
    fn read(&self, messages: u64) -> ReadLimit {
        let filtered = self.authors.is_some() || self.thread.is_some();
        let (records, bytes) = if filtered {
            (STEP, MESSAGES_BYTES_MAX)
        } else {
            (self.size - self.events.len(), MESSAGES_BYTES_MAX - self.bytes)
        };
        ReadLimit { records: records.min(usize::try_from(messages).unwrap_or(usize::MAX)), bytes }
    }

    /// Takes a message where it is wanted. False where it is and has no room; the first one always has.
    fn take(&mut self, found: Found) -> bool {
        if !self.wants(&found.message) {
            return true;
        }
        let fits = self.events.is_empty() || self.bytes + found.bytes <= MESSAGES_BYTES_MAX;
        if self.is_full() || !fits {
            return false;
        }
        self.bytes += found.bytes;
        self.events.push(found.message);
        true
    }

    fn wants(&self, message: &MessageEvent) -> bool {
        let by_author = self.authors.as_ref().is_none_or(|authors| authors.contains(message.author.as_str()));
        // A thread's first message belongs to it, though it does not say so itself.
        let in_thread = |thread| message.thread_id.as_ref() == Some(thread) || message.id == *thread;
        by_author && self.thread.is_none_or(in_thread)
    }
}

/// Whose messages are wanted. Nobody named is everybody, whether the list is absent or empty.
fn authors(command: &ReadChannelHistory) -> Option<&Vec<String>> {
    command.author_ids.as_ref().filter(|authors| !authors.is_empty())
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
