//! `ListTasks`: the caller's tasks with one agent, newest change first.

use a2a::{A2AError, ListTasksRequest, ListTasksResponse, Part, PartContent, Task, TaskState};
use factum_model::Timestamp;
use factum_runtime::{InboundFilter, InboundRow};
use serde_json::Value;

use super::fault::refused;
use super::watch::Watch;
use super::{PROTOCOL, Service};

const PAGE_SIZE_DEFAULT: i32 = 50;

/// How much content a page has before it ends: a task may be as large as its messages and answers are, and gRPC clients take 4 MiB by
/// themselves. One task is a page in any case.
const PAGE_BYTES_MAX: usize = 3 << 20;

impl Service {
    pub(super) async fn list(&self, request: ListTasksRequest) -> Result<ListTasksResponse, A2AError> {
        let page_size = request.page_size.unwrap_or(PAGE_SIZE_DEFAULT);
        let after = request.status_timestamp_after.map(|at| Timestamp::from_millisecond(at.timestamp_millis()));
        let filter = InboundFilter {
            agent: Some(self.agent.to_string()),
            context_id: request.context_id,
            native_status: request.status.as_ref().and_then(word),
            changed_after: after.transpose().map_err(|error| A2AError::invalid_params(error.to_string()))?,
        };
        let limit = usize::try_from(page_size).unwrap_or_default();
        let page =
            self.runtime.inbound_tasks(&self.caller, PROTOCOL, &filter, request.page_token.as_deref(), limit).await;
        let page = page.map_err(|refusal| refused(&refusal, ""))?;
        let artifacts = request.include_artifacts.unwrap_or(false);
        let (mut tasks, mut bytes) = (Vec::with_capacity(page.rows.len()), 0);
        for row in &page.rows {
            let task = self.as_listed(row, request.history_length, artifacts).await?;
            bytes += content_bytes(&task);
            if bytes > PAGE_BYTES_MAX && !tasks.is_empty() {
                break;
            }
            tasks.push(task);
        }
        let next = match page.rows.get(tasks.len().saturating_sub(1)) {
            Some(last) if tasks.len() < page.rows.len() => {
                Some(self.runtime.inbound_behind(&self.caller, PROTOCOL, last))
            }
            _ => page.next,
        };
        Ok(ListTasksResponse {
            tasks,
            next_page_token: next.unwrap_or_default(),
            page_size,
            total_size: i32::try_from(page.total).unwrap_or(i32::MAX),
        })
    }

    /// A task as it stood when its row was written, by which it was selected and has its place: it may have gone on since.
    pub(super) async fn as_listed(
        &self,
        row: &InboundRow,
        history_length: Option<i32>,
        artifacts: bool,
    ) -> Result<Task, A2AError> {
        let mut watch = Watch::open(self, &row.session_id, row.first_sequence).await?;
        watch.until(row.status_sequence).await?;
        let mut task = watch.view().task(history_length, artifacts, &self.outputs()).await;
        if artifacts {
            // Whoever asks for them is told that there are none.
            task.artifacts.get_or_insert_default();
        }
        Ok(task)
    }
}

/// The word that a state is in rows. None stands for all of them.
fn word(state: &TaskState) -> Option<String> {
    match serde_json::to_value(state) {
        Ok(Value::String(word)) => Some(word),
        _ => None,
    }
}

/// How much there is to write of a task, about: what stands around the content is small.
fn content_bytes(task: &Task) -> usize {
    let said = task.history.iter().flatten().chain(&task.status.message).flat_map(|message| &message.parts);
    let made = task.artifacts.iter().flatten().flat_map(|artifact| &artifact.parts);
    said.chain(made).map(part_bytes).sum()
}

fn part_bytes(part: &Part) -> usize {
    match &part.content {
        PartContent::Text(text) | PartContent::Url(text) => text.len(),
        // As base64.
        PartContent::Raw(bytes) => bytes.len().div_ceil(3) * 4,
        PartContent::Data(data) => data.to_string().len(),
    }
}
