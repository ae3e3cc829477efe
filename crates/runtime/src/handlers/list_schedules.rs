//! `list_schedules`: a page of the account's or a session's schedules, newest first.

use factum_engine::session::jobs::{ScheduleLine, keys};
use factum_model::Refusal;
use factum_model::commands::{ListSchedules, ListSchedulesResult};
use factum_model::job::ScheduleRecord;

use super::filtered::FilteredPage;
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<ListSchedules> for Runtime {
    async fn handle(&self, caller: &Caller, command: ListSchedules) -> Result<ListSchedulesResult, Refusal> {
        let ListSchedules { session_id, include_ended, limit, cursor } = &command;
        let prefix = match session_id {
            Some(session_id) => keys::schedules_in(&caller.account, session_id),
            None => keys::schedules_of(&caller.account),
        };
        let purpose = format!("list_schedules {session_id:?} {include_ended}");
        let page = FilteredPage { purpose: &purpose, limit: *limit, cursor: cursor.as_deref() };
        let row_of = |line: &ScheduleLine| keys::schedule(&caller.account, &line.schedule_id);
        let fits = |record: &ScheduleRecord| *include_ended || record.ended_at.is_none();
        let (schedules, next_cursor) = self.filtered_page(caller, prefix, page, row_of, fits).await?;
        Ok(ListSchedulesResult { schedules, next_cursor })
    }
}
