//! `list_jobs`: a page of the account's or a session's jobs, newest first.

use factum_engine::session::jobs::{JobLine, JobRow, keys};
use factum_model::Refusal;
use factum_model::commands::{ListJobs, ListJobsResult};
use factum_model::job::JobRecord;

use super::filtered::FilteredPage;
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<ListJobs> for Runtime {
    async fn handle(&self, caller: &Caller, command: ListJobs) -> Result<ListJobsResult, Refusal> {
        let ListJobs { session_id, thread_id, task_id, status, limit, cursor } = &command;
        let prefix = match session_id {
            Some(session_id) => keys::jobs_in(&caller.account, session_id),
            None => keys::jobs_of(&caller.account),
        };
        let purpose = format!("list_jobs {session_id:?} {thread_id:?} {task_id:?} {status:?}");
        let page = FilteredPage { purpose: &purpose, limit: *limit, cursor: cursor.as_deref() };
        let row_of = |line: &JobLine| keys::job(&caller.account, &line.job_id);
        let fits = |row: &JobRow| fits(&row.record, &command);
        let (rows, next_cursor) = self.filtered_page(caller, prefix, page, row_of, fits).await?;
        Ok(ListJobsResult { jobs: rows.into_iter().map(|row: JobRow| row.record).collect(), next_cursor })
    }
}

fn fits(record: &JobRecord, command: &ListJobs) -> bool {
    let task = command.task_id.as_ref().is_none_or(|task_id| record.task_id.as_ref() == Some(task_id));
    let thread = command.thread_id.as_ref().is_none_or(|thread_id| record.assigned_threads.contains(thread_id));
    task && thread && (command.status.is_empty() || command.status.contains(&record.status))
}
