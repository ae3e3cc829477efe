//! A server of A2A that remembers what it was asked and says what the test wants to hear.
//!
//! A task called `error:CODE` is answered with that error, one called `refused:CODE` with that refusal of ours. A stream has
//! four items, at positions 1 to 4; one of a task called `breaks` has an error after the second, one called `hangs` has no end,
//! one called `asks` asks with the fourth and waits, and one called `busy` never stops to say that it works.

use std::sync::Arc;

use a2a::{
    A2AError, AgentCard, Artifact, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse, ListTasksRequest, ListTasksResponse, Part, SendMessageResponse,
    StreamResponse, SubscribeToTaskRequest, Task, TaskArtifactUpdateEvent, TaskPushNotificationConfig, TaskState,
    TaskStatus, TaskStatusUpdateEvent,
};
use factum_a2a::server::{Sent, Server, TaskIs, Update, Updates};
use factum_model::{ErrorCode, Refusal};
use factum_runtime::Caller;
use futures::StreamExt;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::a2a::{Host, extended};
use crate::state::State;

#[derive(Clone, Default)]
pub(super) struct Fake {
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Fake {
    /// What was asked since the last time.
    pub(super) fn asked(&self) -> Vec<Value> {
        std::mem::take(&mut self.asked.lock())
    }
}

impl Host for Fake {
    type Server = ForCaller;

    fn server(&self, state: &Arc<State>, caller: &Caller, agent: &str) -> ForCaller {
        ForCaller { fake: self.clone(), state: state.clone(), caller: caller.clone(), agent: agent.to_owned() }
    }
}

pub(super) struct ForCaller {
    fake: Fake,
    state: Arc<State>,
    caller: Caller,
    agent: String,
}

impl ForCaller {
    fn note(&self, asked: Value) {
        self.fake.asked.lock().push(asked);
    }

    /// What a text that names an error stands for.
    fn fail(&self, text: &str) -> Result<(), A2AError> {
        if let Some(code) = text.strip_prefix("error:").and_then(|code| code.parse().ok()) {
            return Err(A2AError::new(code, "as wished"));
        }
        let code = text.strip_prefix("refused:");
        match ErrorCode::ALL.into_iter().find(|known| Some(known.as_str()) == code) {
            Some(code) => Err(factum_a2a::refused(&Refusal::new(code, "as wished").with("retry_after_ms", 2_500))),
            None => Ok(()),
        }
    }

    fn sent(&self, operation: &str, sent: &Sent) -> Result<String, A2AError> {
        self.note(json!({
            "operation": operation, "agent": self.agent, "account": &*self.caller.account, "request": sent.request,
            "ownTaskId": sent.own_task_id, "idempotencyKey": sent.idempotency_key,
        }));
        let text = sent.request.message.text().unwrap_or_default();
        self.fail(text)?;
        Ok(sent.own_task_id.clone().unwrap_or_else(|| "t".to_owned()))
    }
}

fn task(id: &str, state: TaskState) -> Task {
    let status = TaskStatus { state, message: None, timestamp: None };
    Task { id: id.to_owned(), context_id: "c".to_owned(), status, artifacts: None, history: None, metadata: None }
}

fn updates(id: &str, after: u64) -> Updates {
    let (task_id, context_id) = (id.to_owned(), "c".to_owned());
    let status = |state| {
        let status = TaskStatus { state, message: None, timestamp: None };
        let (task_id, context_id) = (task_id.clone(), context_id.clone());
        StreamResponse::StatusUpdate(TaskStatusUpdateEvent { task_id, context_id, status, metadata: None })
    };
    let artifact = Artifact {
        artifact_id: "a".to_owned(),
        name: None,
        description: None,
        parts: vec![Part::text("x")],
        metadata: None,
        extensions: None,
    };
    let artifact = StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
        task_id: task_id.clone(),
        context_id: context_id.clone(),
        artifact,
        append: None,
        last_chunk: Some(true),
        metadata: None,
    });
    let snapshot = StreamResponse::Task(task(id, TaskState::Submitted));
    let last = if id == "asks" { TaskState::InputRequired } else { TaskState::Completed };
    let all = [snapshot, status(TaskState::Working), artifact, status(last)];
    let mut items: Vec<_> = (1..).zip(all).map(|(at, response)| Ok(Update { position: Some(at), response })).collect();
    // Begins with the task, whatever was seen of it already.
    if after > 1 {
        items.drain(1..usize::try_from(after).unwrap());
    }
    match id {
        "breaks" => {
            items.truncate(2);
            items.push(Err(A2AError::internal("the log is on fire")));
            futures::stream::iter(items).boxed()
        }
        "asks" | "hangs" => futures::stream::iter(items).chain(futures::stream::pending()).boxed(),
        "busy" => {
            let works = Update { position: None, response: status(TaskState::Working) };
            futures::stream::iter(items).chain(futures::stream::repeat_with(move || Ok(works.clone()))).boxed()
        }
        _ => futures::stream::iter(items).boxed(),
    }
}

impl Server for ForCaller {
    async fn send_message(&self, sent: Sent) -> Result<SendMessageResponse, A2AError> {
        let id = self.sent("send", &sent)?;
        Ok(SendMessageResponse::Task(task(&id, TaskState::Completed)))
    }

    async fn stream_message(&self, sent: Sent) -> Result<Updates, A2AError> {
        let id = self.sent("stream", &sent)?;
        let text = sent.request.message.text().unwrap_or_default();
        Ok(updates(if matches!(text, "breaks" | "busy" | "hangs") { text } else { &id }, 0))
    }

    async fn get_task(&self, request: GetTaskRequest) -> Result<Task, A2AError> {
        self.note(json!({ "operation": "get", "request": request }));
        self.fail(&request.id)?;
        Ok(task(&request.id, TaskState::Working))
    }

    async fn list_tasks(&self, request: ListTasksRequest) -> Result<ListTasksResponse, A2AError> {
        self.note(json!({ "operation": "list", "request": request }));
        let tasks = vec![task("t", TaskState::Working)];
        Ok(ListTasksResponse { tasks, next_page_token: String::new(), page_size: 50, total_size: 1 })
    }

    async fn cancel_task(&self, request: CancelTaskRequest) -> Result<Task, A2AError> {
        self.note(json!({ "operation": "cancel", "request": request }));
        self.fail(&request.id)?;
        Ok(task(&request.id, TaskState::Canceled))
    }

    async fn subscribe(&self, request: SubscribeToTaskRequest, after: Option<u64>) -> Result<Updates, A2AError> {
        self.note(json!({ "operation": "subscribe", "request": request, "after": after }));
        self.fail(&request.id)?;
        Ok(updates(&request.id, after.unwrap_or(0)))
    }

    async fn create_push_config(
        &self,
        config: TaskPushNotificationConfig,
        task: TaskIs,
    ) -> Result<TaskPushNotificationConfig, A2AError> {
        let operation = if task == TaskIs::There { "createPush" } else { "createPushAhead" };
        self.note(json!({ "operation": operation, "request": config }));
        Ok(config)
    }

    async fn get_push_config(
        &self,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, A2AError> {
        self.note(json!({ "operation": "getPush", "request": request }));
        Ok(config(&request.task_id, &request.id))
    }

    async fn list_push_configs(
        &self,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, A2AError> {
        self.note(json!({ "operation": "listPush", "request": request }));
        let configs = if request.task_id == "bare" { vec![] } else { vec![config(&request.task_id, "c")] };
        Ok(ListTaskPushNotificationConfigsResponse { configs, next_page_token: None })
    }

    async fn delete_push_config(&self, request: DeleteTaskPushNotificationConfigRequest) -> Result<(), A2AError> {
        self.note(json!({ "operation": "deletePush", "request": request }));
        Ok(())
    }

    async fn extended_card(&self) -> Result<AgentCard, A2AError> {
        self.note(json!({ "operation": "card" }));
        Ok(extended(&self.state, &self.caller, &self.agent))
    }
}

fn config(task_id: &str, id: &str) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        url: "https://example.com".to_owned(),
        id: Some(id.to_owned()),
        task_id: task_id.to_owned(),
        token: None,
        authentication: None,
        tenant: None,
    }
}
