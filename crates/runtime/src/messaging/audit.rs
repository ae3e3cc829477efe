//! `channels/audit`: who did what in the account's channels (seed 002 §10). Not kept apart: the facts are the audit.

use factum_engine::messaging::{ChannelState, audit_view, partition_name};
use factum_model::commands::{AuditChannels, AuditChannelsResult};
use factum_model::id::MessagingChannelId;
use factum_model::messaging::ChannelAuditEntry;
use factum_model::{Event, Refusal};
use factum_store::ReadLimit;

use super::messages::MESSAGES_BYTES_MAX;
use super::page_token::{Purpose, given, page_size};
use crate::aggregate::Aggregate;
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::error::read_refusal;
use crate::feed::Place;
use crate::runtime::Runtime;

/// How many commits a page over all channels looks at, whoever's they are.
const LOOK_RECORDS_MAX: usize = 4_096;
/// How many bytes of records a page is made of. What it says of a record is about as much as the record says, where that lists
/// members, and less otherwise; so a page is about as large as one of messages at most.
const LOOK_BYTES_MAX: usize = MESSAGES_BYTES_MAX;

impl Handle<AuditChannels> for Runtime {
    async fn handle(&self, caller: &Caller, command: AuditChannels) -> Result<AuditChannelsResult, Refusal> {
        let channel = command.channel_id.as_ref();
        let purpose = Purpose::new("channels/audit", caller, channel.map_or("", MessagingChannelId::as_str));
        let token = given(command.page_token.as_deref());
        let size = page_size(command.page_size);
        let (entries, next) = match channel {
            Some(channel_id) => {
                let after = token.map(|token| self.open_page_number(caller, &purpose, token)).transpose()?;
                let (entries, next) = self.audit_of(caller, channel_id, after.unwrap_or(0), size).await?;
                (entries, next.map(|next| next.to_be_bytes().to_vec()))
            }
            None => {
                let place = token.map(|token| self.open_page_token(caller, &purpose, token)).transpose()?;
                let refuse = || Refusal::invalid("the page token is not valid here; start again without one");
                let place = place.map_or(Some(Place::START), |place| Place::from_bytes(&place)).ok_or_else(refuse)?;
                let (entries, next) = self.audit_all(caller, place, size).await?;
                (entries, next.map(Place::to_bytes))
            }
        };
        let next_page_token = next.map(|next| self.page_token(caller, &purpose, &next));
        Ok(AuditChannelsResult { entries, next_page_token })
    }
}

impl Runtime {
    /// One channel, also a deleted one: an admin of the account may know of all of them.
    async fn audit_of(
        &self,
        caller: &Caller,
        channel_id: &MessagingChannelId,
        after: u64,
        size: usize,
    ) -> Result<(Vec<ChannelAuditEntry>, Option<u64>), Refusal> {
        let stream = ChannelState::stream(&caller.account, channel_id);
        let head = self.0.store.head(&stream).await.map_err(|error| read_refusal(&error))?;
        let head = head.ok_or_else(Refusal::not_found)?;
        let records = self.0.store.read(&stream, after + 1, ReadLimit { records: size, bytes: LOOK_BYTES_MAX }).await;
        let records = records.map_err(|error| read_refusal(&error))?;
        let next = records.last().map(|last| last.sequence).filter(|last| *last < head.sequence);
        let entries = records.iter().map(|record| entry(&record.bytes)).collect::<Result<Vec<_>, _>>()?;
        Ok((entries.into_iter().flatten().collect(), next))
    }

    /// All channels of the account, in the order of the store. A page may end in the middle of a commit.
    async fn audit_all(
        &self,
        caller: &Caller,
        place: Place,
        size: usize,
    ) -> Result<(Vec<ChannelAuditEntry>, Option<Place>), Refusal> {
        let partition = partition_name(&caller.account);
        let read = ReadLimit { records: LOOK_RECORDS_MAX, bytes: LOOK_BYTES_MAX };
        let commits = self.0.store.feed(place.read_after(), read).await.map_err(|error| read_refusal(&error))?;
        let (mut entries, mut at) = (Vec::new(), place);
        for commit in commits {
            let ours = *commit.partition == *partition;
            let records = if ours { commit.records.as_slice() } else { &[] };
            for (record, number) in records.iter().zip(1_u32..).skip(place.given_of(commit.position)) {
                if let Some(entry) = entry(record)? {
                    if entries.len() == size {
                        return Ok((entries, Some(at)));
                    }
                    entries.push(entry);
                }
                at = Place { position: commit.position, records: number };
            }
            at = Place { position: commit.position, records: 0 };
        }
        let more = at.position < *self.0.store.durable().borrow();
        Ok((entries, more.then_some(at)))
    }
}

fn entry(record: &[u8]) -> Result<Option<ChannelAuditEntry>, Refusal> {
    let event =
        Event::decode(record).map_err(|error| Refusal::internal(format!("an event does not parse: {error}")))?;
    Ok(audit_view(&event))
}
