//! `get_task`: one task with its attempts and edges, now or as of an older sequence. Reads rows only, and so costs the same
//! however many tasks there are.

use factum_engine::session::tasks::{TaskHistory, keys, task_record};
use factum_model::commands::GetTask;
use factum_model::task::{Attempt, Edge, TaskRecord, TaskRow};
use factum_model::{Event, Refusal};
use factum_store::{Direction, ReadLimit, Scan};
use serde::de::DeserializeOwned;

use crate::aggregate::Aggregate;
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::error::read_refusal;
use crate::runtime::Runtime;

/// How many edges one task is shown with.
pub(super) const EDGES_SHOWN_MAX: usize = 500;

/// How many events are folded at a time.
const FOLD_PAGE_EVENTS: usize = 1_000;

impl Handle<GetTask> for Runtime {
    async fn handle(&self, caller: &Caller, command: GetTask) -> Result<TaskRecord, Refusal> {
        let row = self.task_row(caller, &command.task_id).await?.ok_or_else(Refusal::not_found)?;
        match command.as_of {
            None => self.record(caller, row, EDGES_SHOWN_MAX).await,
            Some(as_of) => self.record_as_of(caller, &row, as_of).await,
        }
    }
}

impl Runtime {
    /// The whole record of a task.
    pub(super) async fn record(&self, caller: &Caller, row: TaskRow, edges: usize) -> Result<TaskRecord, Refusal> {
        let account = &caller.account;
        let attempts = row.attempt.as_ref().map_or(0, |attempt| attempt.attempt_count as usize);
        let older: Vec<Attempt> = match attempts {
            0 | 1 => Vec::new(),
            more => self.values(keys::attempts(account, &row.task_id), more).await?,
        };
        let edges: Vec<Edge> = match row.edges {
            0 => Vec::new(),
            _ => self.values(keys::edges(account, &row.task_id), edges).await?,
        };
        Ok(task_record(row, older, edges))
    }

    async fn values<R: DeserializeOwned>(&self, prefix: Vec<u8>, limit: usize) -> Result<Vec<R>, Refusal> {
        let scan = Scan { prefix: prefix.into(), after: None, until: None, direction: Direction::Forward, limit };
        let rows = self.0.store.scan(scan).await.map_err(|error| read_refusal(&error))?;
        let rows: Result<Vec<R>, _> = rows.iter().map(|(_, value)| serde_json::from_slice(value)).collect();
        rows.map_err(|error| Refusal::internal(format!("index row: {error}")))
    }

    async fn record_as_of(&self, caller: &Caller, row: &TaskRow, as_of: u64) -> Result<TaskRecord, Refusal> {
        let stream = factum_engine::session::SessionState::stream(&caller.account, &row.session_id);
        let mut history = TaskHistory::default();
        let mut sequence = 0;
        while sequence < as_of {
            let wanted = usize::try_from(as_of - sequence).unwrap_or(usize::MAX).min(FOLD_PAGE_EVENTS);
            let records = self.0.store.read(&stream, sequence + 1, ReadLimit::records(wanted)).await;
            let records = records.map_err(|error| read_refusal(&error))?;
            if records.is_empty() {
                return Err(
                    Refusal::invalid(format!("as_of must be 1 to {sequence}")).with("newest_sequence", sequence)
                );
            }
            for record in records {
                sequence = record.sequence;
                let event = Event::decode(&record.bytes)
                    .map_err(|error| Refusal::internal(format!("event {sequence} does not parse: {error}")))?;
                history.apply(&row.task_id, &event);
            }
        }
        let mut record = history.record(&row.task_id).ok_or_else(Refusal::not_found)?;
        record.as_of_sequence = as_of;
        Ok(record)
    }
}
