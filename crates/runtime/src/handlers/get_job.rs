//! `get_job`: a job with a page of its items, from their rows. An item without a row was never handed out; what it is, is in
//! the fact that made the job.

use std::collections::BTreeMap;

use factum_engine::session::jobs::{JobRow, keys, never_begun};
use factum_model::Refusal;
use factum_model::commands::{GetJob, GetJobResult};
use factum_model::job::{JobItem, JobItemStatus};
use factum_store::{Direction, Scan};

use super::filtered::{LOOKED_AT_MAX, limit_of};
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::error::read_refusal;
use crate::runtime::Runtime;

impl Handle<GetJob> for Runtime {
    async fn handle(&self, caller: &Caller, command: GetJob) -> Result<GetJobResult, Refusal> {
        let row = self.job_row(caller, &command.job_id).await?;
        let limit = limit_of(command.item_limit)?;
        let purpose = format!("get_job {} {:?}", command.job_id, command.item_status);
        let cursor = command.item_cursor.as_deref();
        let after = cursor.map(|cursor| self.0.secret.open(&purpose, &caller.account, cursor)).transpose()?;
        let after = after.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes);
        let (items, next) = self.items(caller, &row, after, limit, command.item_status).await?;
        let next_item_cursor = next.map(|after| self.0.secret.seal(&purpose, &caller.account, &after.to_be_bytes()));
        Ok(GetJobResult { job: row.record, items, next_item_cursor })
    }
}

impl Runtime {
    /// Items behind the one with the number `after`, and the number behind which more may be.
    async fn items(
        &self,
        caller: &Caller,
        row: &JobRow,
        after: u64,
        limit: usize,
        status: Option<JobItemStatus>,
    ) -> Result<(Vec<JobItem>, Option<u64>), Refusal> {
        let look_at = if status.is_some() { LOOKED_AT_MAX } else { limit };
        let last = (after + look_at as u64).min(row.record.progress.total);
        let mut handed_out = self.handed_out(caller, row, after, last).await?;
        let is_wanted = |item: &JobItem| status.is_none_or(|status| item.status == status);
        // Only a gap needs the log, and only where items that were never begun are wanted.
        let gaps = (after + 1..=last).any(|number| !handed_out.contains_key(&number));
        let never_wanted = status.is_some_and(|status| status != JobItemStatus::Pending);
        let created = if gaps && !never_wanted { Some(self.job_created(caller, row).await?) } else { None };
        let mut items = Vec::with_capacity(limit);
        for number in after + 1..=last {
            if items.len() == limit {
                return Ok((items, Some(number - 1)));
            }
            let input = || created.as_ref()?.items.get(usize::try_from(number - 1).ok()?);
            let item = handed_out.remove(&number).or_else(|| Some(never_begun(&row.record, input()?, number)));
            items.extend(item.filter(is_wanted));
        }
        Ok((items, (last < row.record.progress.total).then_some(last)))
    }

    /// The items with a row, by number.
    async fn handed_out(
        &self,
        caller: &Caller,
        row: &JobRow,
        after: u64,
        last: u64,
    ) -> Result<BTreeMap<u64, JobItem>, Refusal> {
        let (account, job_id) = (&caller.account, &row.record.job_id);
        let scan = Scan {
            prefix: keys::items(account, job_id).into(),
            after: Some(keys::item(account, job_id, after).into()),
            until: Some(keys::item(account, job_id, last + 1).into()),
            direction: Direction::Forward,
            limit: LOOKED_AT_MAX,
        };
        let rows = self.0.store.scan(scan).await.map_err(|error| read_refusal(&error))?;
        let items: Result<Vec<JobItem>, _> = rows.iter().map(|(_, value)| serde_json::from_slice(value)).collect();
        let items = items.map_err(|error| Refusal::internal(format!("index row: {error}")))?;
        Ok(items.into_iter().map(|item| (item.number, item)).collect())
    }
}
