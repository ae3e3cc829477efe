//! From a message's number to its place in the log, and back to the message.
//!
//! A channel's stream holds messages and other facts in one order. The index knows how many other facts stand before a
//! message (`engine::messaging::keys::offset`), so any message is one look at the index and one read away, however long
//! the channel is. Times and ids need no index: times never run backwards in a channel, and an id holds the time it was
//! made at, so both are found by halving.

use std::sync::Arc;

use factum_engine::messaging::{keys, message_view};
use factum_model::id::{MessageId, MessagingChannelId};
use factum_model::messaging::MessageEvent;
use factum_model::{Event, Refusal};
use factum_store::{Direction, ReadLimit, Record, Scan};
use uuid::Uuid;

use crate::aggregate::Aggregate;
use crate::error::read_refusal;
use crate::runtime::Runtime;
use factum_engine::messaging::ChannelState;

/// How many records are read at a time.
const PAGE_RECORDS: usize = 256;
/// How many bytes of messages are read at a time, and given on one page: a client of gRPC takes 4 MiB where it is not told
/// otherwise, and there is more in an answer than messages. One that is larger comes alone.
pub(super) const MESSAGES_BYTES_MAX: usize = 3 << 20;

/// How much is looked through at a time for a message of which only the time is known.
const LOOK: ReadLimit = ReadLimit { records: PAGE_RECORDS, bytes: MESSAGES_BYTES_MAX };

/// A message as it was found.
pub(super) struct Found {
    pub(super) message: MessageEvent,
    /// Of its record, which has all that the message has, and more.
    pub(super) bytes: usize,
}

impl Runtime {
    /// Where message `sequence` stands in the channel's stream, or will stand when it is the next one.
    pub(super) async fn place_of(
        &self,
        account: &str,
        channel_id: &MessagingChannelId,
        sequence: u64,
    ) -> Result<u64, Refusal> {
        let scan = Scan {
            prefix: keys::offsets_of(account, channel_id).into(),
            after: Some(keys::offset(account, channel_id, sequence).into()),
            until: None,
            direction: Direction::Backward,
            limit: 1,
        };
        let rows = self.0.store.scan(scan).await.map_err(|error| read_refusal(&error))?;
        let others = rows.first().and_then(|(_, value)| keys::read_offset_value(value));
        others.map(|others| sequence + others).ok_or_else(|| Refusal::internal("a channel without an offset row"))
    }

    /// One message by its number.
    pub(super) async fn message(
        &self,
        account: &Arc<str>,
        channel_id: &MessagingChannelId,
        sequence: u64,
    ) -> Result<Option<MessageEvent>, Refusal> {
        let messages = self.messages(account, channel_id, sequence, ReadLimit::records(1)).await?;
        Ok(messages.into_iter().next().map(|found| found.message).filter(|message| message.sequence == sequence))
    }

    /// Messages from `first` on, as far as the limit goes, and always one where there is one.
    pub(super) async fn messages(
        &self,
        account: &Arc<str>,
        channel_id: &MessagingChannelId,
        first: u64,
        limit: ReadLimit,
    ) -> Result<Vec<Found>, Refusal> {
        self.found(account, channel_id, (first, Direction::Forward), limit).await
    }

    /// The same of those before `before`, the newest first.
    pub(super) async fn messages_before(
        &self,
        account: &Arc<str>,
        channel_id: &MessagingChannelId,
        before: u64,
        limit: ReadLimit,
    ) -> Result<Vec<Found>, Refusal> {
        self.found(account, channel_id, (before, Direction::Backward), limit).await
    }

    async fn found(
        &self,
        account: &Arc<str>,
        channel_id: &MessagingChannelId,
        (message, direction): (u64, Direction),
        limit: ReadLimit,
    ) -> Result<Vec<Found>, Refusal> {
        let stream = ChannelState::stream(account, channel_id);
        let mut place = self.place_of(account, channel_id, message).await?;
        let (mut all, mut bytes) = (Vec::with_capacity(limit.records.min(PAGE_RECORDS)), 0);
        while all.len() < limit.records && (all.is_empty() || bytes < limit.bytes) {
            let left = ReadLimit {
                records: (limit.records - all.len()).min(PAGE_RECORDS),
                bytes: limit.bytes.saturating_sub(bytes),
            };
            let records = match direction {
                Direction::Forward => self.0.store.read(&stream, place, left).await,
                Direction::Backward => self.0.store.read_back(&stream, place, left).await,
            };
            let records = records.map_err(|error| read_refusal(&error))?;
            let Some(last) = records.last() else { break };
            place = match direction {
                Direction::Forward => last.sequence + 1,
                Direction::Backward => last.sequence,
            };
            for record in &records {
                // Facts that are no messages are dropped as they come, and take up nothing.
                if let Some(message) = message_of(record)? {
                    bytes += record.bytes.len();
                    all.push(Found { message, bytes: record.bytes.len() });
                }
            }
        }
        Ok(all)
    }

    /// The first message of this time or later; one more than there are where there is none.
    pub(super) async fn first_since(
        &self,
        account: &Arc<str>,
        channel_id: &MessagingChannelId,
        messages: u64,
        millis: i64,
    ) -> Result<u64, Refusal> {
        let (mut low, mut high) = (1, messages + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            let message = self.message(account, channel_id, middle).await?;
            let message = message.ok_or_else(|| Refusal::internal("a message is not where the index says"))?;
            if message.timestamp < millis {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// The thread of a message, which is the message itself where it is in none; `None` where there is no such message.
    pub(super) async fn thread_of(
        &self,
        account: &Arc<str>,
        channel_id: &MessagingChannelId,
        messages: u64,
        message_id: &MessageId,
    ) -> Result<Option<MessageId>, Refusal> {
        let found = self.find_message(account, channel_id, messages, message_id).await?;
        Ok(found.map(|message| message.thread_id.unwrap_or(message.id)))
    }

    /// A message by its id, among the first `messages` of the channel.
    async fn find_message(
        &self,
        account: &Arc<str>,
        channel_id: &MessagingChannelId,
        messages: u64,
        message_id: &MessageId,
    ) -> Result<Option<MessageEvent>, Refusal> {
        // Only a hint where to look; what is found there is compared.
        let Some(millis) = millis_of(message_id) else { return Ok(None) };
        let first = self.first_since(account, channel_id, messages, millis).await?;
        if first > messages {
            return Ok(None);
        }
        let page = self.messages(account, channel_id, first, LOOK).await?;
        let Some(last) = page.last().map(|found| (found.message.sequence, found.message.timestamp)) else {
            return Ok(None);
        };
        match named(page, message_id) {
            None if last.0 < messages && last.1 == millis => {
                Box::pin(self.find_in_run(account, channel_id, (last.0 + 1, messages), millis, message_id)).await
            }
            found => Ok(found),
        }
    }

    /// The same where more messages than one page are of one and the same time, between two of them. A clock that was set back
    /// stands still in its channels until it has caught up, so there is no telling how many these are. What is answered is mostly
    /// among the newest; so they are looked through from there.
    async fn find_in_run(
        &self,
        account: &Arc<str>,
        channel_id: &MessagingChannelId,
        (first, messages): (u64, u64),
        millis: i64,
        message_id: &MessageId,
    ) -> Result<Option<MessageEvent>, Refusal> {
        let mut before = self.first_since(account, channel_id, messages, millis + 1).await?;
        while before > first {
            let page = self.messages_before(account, channel_id, before, LOOK).await?;
            let Some(oldest) = page.last().map(|found| found.message.sequence) else { break };
            let found = named(page, message_id);
            if found.is_some() {
                return Ok(found);
            }
            before = oldest;
        }
        Ok(None)
    }
}

fn named(page: Vec<Found>, message_id: &MessageId) -> Option<MessageEvent> {
    page.into_iter().map(|found| found.message).find(|message| message.id == *message_id)
}

/// The message of a record that is one.
pub(super) fn message_of(record: &Record) -> Result<Option<MessageEvent>, Refusal> {
    let event = Event::decode(&record.bytes)
        .map_err(|error| Refusal::internal(format!("event {} does not parse: {error}", record.sequence)))?;
    Ok(message_view(&event))
}

/// The time in a UUIDv7.
fn millis_of(message_id: &MessageId) -> Option<i64> {
    let (_, uuid) = message_id.as_str().split_once('_')?;
    let (seconds, nanos) = Uuid::parse_str(uuid).ok()?.get_timestamp()?.to_unix();
    i64::try_from(seconds).ok()?.checked_mul(1_000)?.checked_add(i64::from(nanos / 1_000_000))
}
