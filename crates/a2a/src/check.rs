//! What the types of A2A do not say about a request: which fields must hold something, and within which bounds. The same
//! for every version and binding, because every one is read into the words of 1.0 first.

use a2a::{A2AError, ListTasksRequest, Message, Role, SendMessageRequest, TaskPushNotificationConfig, TaskState};

use crate::operation::Operation;
use crate::params::Violations;

/// The most tasks of one page, and of one page of push configurations.
pub const PAGE_SIZE_MAX: i32 = 100;

/// Which field holds the push configuration that a message brings along, in the words of 1.0.
pub const SENT_PUSH_CONFIG: &str = "configuration.taskPushNotificationConfig";

/// Which field holds the message, as its client wrote it.
const MESSAGE: &str = "message";

impl Operation {
    /// Refuses what no server could carry out. An empty text is a field that is not there, as everywhere in ProtoJSON.
    pub fn checked(mut self) -> Result<Self, A2AError> {
        self.drop_empty();
        let mut wrong = Violations::default();
        match &self {
            Self::SendMessage(sent) | Self::StreamMessage(sent) => send(&sent.request, &mut wrong),
            Self::GetTask(request) => {
                id("id", &request.id, &mut wrong);
                history_length("historyLength", request.history_length, &mut wrong);
            }
            Self::ListTasks(request) => list_tasks(request, &mut wrong),
            Self::CancelTask(request) => id("id", &request.id, &mut wrong),
            Self::Subscribe(request, _) => id("id", &request.id, &mut wrong),
            Self::CreatePushConfig(config) | Self::CreatePushConfigAhead(config) => {
                id("taskId", &config.task_id, &mut wrong);
                push_config("", config, &mut wrong);
            }
            Self::GetPushConfig(request) => {
                id("taskId", &request.task_id, &mut wrong);
                id("id", &request.id, &mut wrong);
            }
            Self::AnyPushConfig(request) | Self::ListPushConfigs(request) => {
                id("taskId", &request.task_id, &mut wrong);
                page_size(request.page_size, &mut wrong);
            }
            Self::DeletePushConfig(request) => {
                id("taskId", &request.task_id, &mut wrong);
                id("id", &request.id, &mut wrong);
            }
            Self::ExtendedCard(_) => {}
        }
        wrong.into_result()?;
        Ok(self)
    }

    fn drop_empty(&mut self) {
        let none_if_empty = |text: &mut Option<String>| {
            if text.as_deref() == Some("") {
                *text = None;
            }
        };
        match self {
            Self::SendMessage(sent) | Self::StreamMessage(sent) => {
                none_if_empty(&mut sent.request.message.task_id);
                none_if_empty(&mut sent.request.message.context_id);
                if sent.request.message.message_id.is_empty() {
                    sent.request.message.message_id = a2a::new_message_id();
                }
            }
            Self::ListTasks(request) => {
                none_if_empty(&mut request.context_id);
                none_if_empty(&mut request.page_token);
                request.status = request.status.take().filter(|status| *status != TaskState::Unspecified);
            }
            Self::CreatePushConfig(config) | Self::CreatePushConfigAhead(config) => none_if_empty(&mut config.id),
            Self::AnyPushConfig(request) | Self::ListPushConfigs(request) => {
                none_if_empty(&mut request.page_token);
                // Its field has no presence in the protobuf definition, so 0 cannot be told from nothing.
                request.page_size = request.page_size.filter(|size| *size != 0);
            }
            _ => {}
        }
    }
}

fn send(request: &SendMessageRequest, wrong: &mut Violations) {
    message(&request.message, wrong);
    let Some(configuration) = &request.configuration else { return };
    history_length("configuration.historyLength", configuration.history_length, wrong);
    if let Some(config) = &configuration.task_push_notification_config {
        push_config(&format!("{SENT_PUSH_CONFIG}."), config, wrong);
    }
}

fn message(message: &Message, wrong: &mut Violations) {
    let field = |name: &str| format!("{MESSAGE}.{name}");
    if message.parts.is_empty() {
        wrong.add(field("parts"), "at least one part is required");
    }
    match message.role {
        Role::User => {}
        Role::Agent => wrong.add(field("role"), "a client speaks as the user; the agent answers"),
        Role::Unspecified => wrong.add(field("role"), "is required"),
    }
}

fn list_tasks(request: &ListTasksRequest, wrong: &mut Violations) {
    page_size(request.page_size, wrong);
    history_length("historyLength", request.history_length, wrong);
}

fn page_size(size: Option<i32>, wrong: &mut Violations) {
    if let Some(size) = size {
        let fine = (1..=PAGE_SIZE_MAX).contains(&size);
        wrong.unless(fine, "pageSize", format!("must be 1 to {PAGE_SIZE_MAX}, not {size}"));
    }
}

fn history_length(field: &str, length: Option<i32>, wrong: &mut Violations) {
    if let Some(length) = length {
        wrong.unless(length >= 0, field, format!("must be a whole number from 0, not {length}"));
    }
}

fn push_config(prefix: &str, config: &TaskPushNotificationConfig, wrong: &mut Violations) {
    wrong.unless(!config.url.is_empty(), &format!("{prefix}url"), "is required");
    if let Some(authentication) = &config.authentication {
        let named = !authentication.scheme.is_empty();
        wrong.unless(named, &format!("{prefix}authentication.scheme"), "is required");
    }
}

fn id(field: &str, id: &str, wrong: &mut Violations) {
    wrong.unless(!id.is_empty(), field, "is required");
}
