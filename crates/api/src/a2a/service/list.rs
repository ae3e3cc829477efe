//! `ListTasks`: the caller's tasks with one agent, newest change first.

use a2a::{A2AError, ListTasksRequest, ListTasksResponse, TaskState};
use factum_model::Timestamp;
use factum_model::task::TaskStatus;
use factum_runtime::InboundFilter;

use super::fault::refused;
use super::{PROTOCOL, Service};

const PAGE_SIZE_DEFAULT: i32 = 50;
const PAGE_SIZE_MAX: i32 = 100;

impl Service {
    pub(super) async fn list(&self, request: ListTasksRequest) -> Result<ListTasksResponse, A2AError> {
        let page_size = request.page_size.unwrap_or(PAGE_SIZE_DEFAULT);
        if !(1..=PAGE_SIZE_MAX).contains(&page_size) {
            return Err(A2AError::invalid_params(format!("pageSize must be 1 to {PAGE_SIZE_MAX}")));
        }
        let after = request.status_timestamp_after.map(|at| Timestamp::from_millisecond(at.timestamp_millis()));
        let filter = InboundFilter {
            agent: Some(self.agent.to_string()),
            context_id: request.context_id.filter(|context_id| !context_id.is_empty()),
            statuses: request.status.as_ref().map(statuses).unwrap_or_default(),
            rejected: request.status.as_ref().and_then(rejected),
            changed_after: after.transpose().map_err(|error| A2AError::invalid_params(error.to_string()))?,
        };
        let cursor = request.page_token.as_deref().filter(|token| !token.is_empty());
        let limit = usize::try_from(page_size).unwrap_or_default();
        let page = self.runtime.inbound_tasks(&self.caller, PROTOCOL, &filter, cursor, limit).await;
        let page = page.map_err(|refusal| refused(&refusal, ""))?;
        let artifacts = request.include_artifacts.unwrap_or(false);
        let mut tasks = Vec::with_capacity(page.rows.len());
        for row in &page.rows {
            let watch = self.now(row).await?;
            tasks.push(watch.view().task(request.history_length, artifacts, &self.outputs()).await);
        }
        Ok(ListTasksResponse {
            tasks,
            next_page_token: page.next.unwrap_or_default(),
            page_size,
            total_size: i32::try_from(page.total).unwrap_or(i32::MAX),
        })
    }
}

/// The statuses of ours that a state of A2A stands for.
fn statuses(state: &TaskState) -> Vec<TaskStatus> {
    match state {
        TaskState::Unspecified => Vec::new(),
        TaskState::Submitted => vec![TaskStatus::Draft, TaskStatus::Accepted, TaskStatus::Queued, TaskStatus::Blocked],
        TaskState::Working => vec![
            TaskStatus::Preparing,
            TaskStatus::Running,
            TaskStatus::WaitingResource,
            TaskStatus::Paused,
            TaskStatus::Retrying,
            TaskStatus::Cancelling,
            TaskStatus::Lost,
            TaskStatus::Stale,
            TaskStatus::Unknown,
        ],
        TaskState::InputRequired => vec![TaskStatus::WaitingInput],
        TaskState::AuthRequired => vec![TaskStatus::WaitingPermission],
        TaskState::Completed => vec![TaskStatus::Completed],
        TaskState::Failed => vec![TaskStatus::Failed, TaskStatus::TimedOut],
        TaskState::Canceled => vec![TaskStatus::Cancelled],
        TaskState::Rejected => vec![TaskStatus::Failed],
    }
}

/// A task that was rejected is one that failed, and what A2A calls failed is every other one.
fn rejected(state: &TaskState) -> Option<bool> {
    match state {
        TaskState::Failed => Some(false),
        TaskState::Rejected => Some(true),
        _ => None,
    }
}
