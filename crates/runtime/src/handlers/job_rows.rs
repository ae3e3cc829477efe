//! Jobs and schedules as their rows have them, ended ones too.

use factum_engine::session::SessionState;
use factum_engine::session::jobs::{JobRow, keys};
use factum_model::events::JobCreated;
use factum_model::id::{JobId, ScheduleId};
use factum_model::job::ScheduleRecord;
use factum_model::{Event, Fact, Refusal};
use factum_store::ReadLimit;

use crate::aggregate::Aggregate;
use crate::caller::Caller;
use crate::commit::Accept;
use crate::error::read_refusal;
use crate::runtime::Runtime;

impl Runtime {
    pub(super) async fn job_row(&self, caller: &Caller, job_id: &JobId) -> Result<JobRow, Refusal> {
        self.row(&keys::job(&caller.account, job_id)).await?.ok_or_else(Refusal::not_found)
    }

    pub(super) async fn schedule_row(
        &self,
        caller: &Caller,
        schedule_id: &ScheduleId,
    ) -> Result<ScheduleRecord, Refusal> {
        self.row(&keys::schedule(&caller.account, schedule_id)).await?.ok_or_else(Refusal::not_found)
    }

    /// The fact that made a job. It has what the items are about.
    pub(super) async fn job_created(&self, caller: &Caller, row: &JobRow) -> Result<Box<JobCreated>, Refusal> {
        let stream = SessionState::stream(&caller.account, &row.record.session_id);
        let records = self.0.store.read(&stream, row.created_sequence, ReadLimit::records(1)).await;
        let records = records.map_err(|error| read_refusal(&error))?;
        let missing = || Refusal::internal("a job has no job.created");
        let event = Event::decode(&records.first().ok_or_else(missing)?.bytes);
        match event.map_err(|error| Refusal::internal(error.to_string()))?.fact {
            Fact::JobCreated(fact) => Ok(fact),
            _ => Err(missing()),
        }
    }

    /// Keeps an id that a caller brought from being used twice at once, and refuses one that was used before: an id is good
    /// for the whole account, whatever session it is in.
    pub(super) async fn new_id(&self, key: Option<Vec<u8>>, accept: &mut Accept) -> Result<(), Refusal> {
        let Some(key) = key else { return Ok(()) };
        accept.hold(self.0.keyed.lock(vec![key.clone()]).await);
        if self.0.store.get(&key).await.map_err(|error| read_refusal(&error))?.is_some() {
            return Err(Refusal::conflict("this id exists already"));
        }
        Ok(())
    }
}
