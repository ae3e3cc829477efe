//! `read_events`: a page of a session's events, as they were stored.

use factum_engine::session::SessionState;
use factum_model::Refusal;
use factum_model::commands::{EventPage, ReadEvents};
use factum_store::{ReadLimit, Record};
use serde_json::value::RawValue;

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::error::read_refusal;
use crate::runtime::Runtime;

const LIMIT_DEFAULT: usize = 100;

impl Handle<ReadEvents> for Runtime {
    async fn handle(&self, caller: &Caller, command: ReadEvents) -> Result<EventPage, Refusal> {
        let max = self.0.shell.page_events_max;
        let limit = command.limit.map_or(LIMIT_DEFAULT, |limit| limit as usize);
        if limit == 0 || limit > max {
            return Err(Refusal::invalid(format!("limit must be 1 to {max}")));
        }
        if command.after.is_some() && command.before.is_some() {
            return Err(Refusal::invalid("after and before exclude each other"));
        }
        let cell = self.find::<SessionState>(&caller.account, &command.session_id).await?;
        let durable = cell.hub.durable();
        if let Some(after) = command.after {
            within(after, durable)?;
        }
        match command.before {
            Some(before) => self.page_back(&cell.stream, before.min(durable + 1), limit).await,
            None => self.page_forward(&cell.stream, command.after.unwrap_or(0), limit, durable).await,
        }
    }
}

/// A place that the session has not come to is refused: whoever goes on from there has the sequences of another log, and would
/// miss everything up to it.
pub(crate) fn within(after: u64, newest: u64) -> Result<(), Refusal> {
    if after <= newest {
        return Ok(());
    }
    let message = format!("after is ahead of the session, whose newest sequence is {newest}");
    Err(Refusal::invalid(message).with("newest_sequence", newest))
}

impl Runtime {
    async fn page_forward(&self, stream: &str, after: u64, limit: usize, durable: u64) -> Result<EventPage, Refusal> {
        let from = after.saturating_add(1);
        let records = self.0.store.read(stream, from, ReadLimit::records(limit)).await;
        let records = records.map_err(|error| read_refusal(&error))?;
        let next_after = records.last().map_or(after, |record| record.sequence);
        Ok(EventPage { events: raw(records)?, next_after, has_more: next_after < durable })
    }

    /// The events before a sequence, oldest first; `next_after` continues forward behind them.
    async fn page_back(&self, stream: &str, before: u64, limit: usize) -> Result<EventPage, Refusal> {
        let records = self.0.store.read_back(stream, before, ReadLimit::records(limit)).await;
        let mut records = records.map_err(|error| read_refusal(&error))?;
        records.reverse();
        let has_more = records.first().is_some_and(|record| record.sequence > 1);
        Ok(EventPage { events: raw(records)?, next_after: before.saturating_sub(1), has_more })
    }
}

fn raw(records: Vec<Record>) -> Result<Vec<Box<RawValue>>, Refusal> {
    let raw = |record: Record| {
        let text = String::from_utf8(record.bytes.to_vec()).map_err(|error| Refusal::internal(error.to_string()))?;
        RawValue::from_string(text).map_err(|error| Refusal::internal(error.to_string()))
    };
    records.into_iter().map(raw).collect()
}
