//! Params of 1.0 and 0.3 that stand in a query because their method has no body: text for everything, under the names of the
//! JSON fields.

use a2a::{A2AError, GetTaskRequest, ListTaskPushNotificationConfigsRequest, ListTasksRequest, TaskState};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::http_0_3::CANCELLED;
use crate::operation::Operation;
use crate::params::Violations;

/// The names and values of a query, decoded.
type Pairs<'a> = &'a [(String, String)];

const STATES: &str = "TASK_STATE_SUBMITTED, TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_FAILED, \
                      TASK_STATE_CANCELED, TASK_STATE_INPUT_REQUIRED, TASK_STATE_REJECTED, TASK_STATE_AUTH_REQUIRED";

pub fn get_task(id: String, tenant: Option<String>, query: Pairs<'_>) -> Result<Operation, A2AError> {
    let mut reader = Reader::new(query);
    let history_length = reader.whole_number("historyLength");
    reader.done()?;
    Operation::GetTask(GetTaskRequest { id, history_length, tenant }).checked()
}

pub fn list_tasks(tenant: Option<String>, query: Pairs<'_>) -> Result<Operation, A2AError> {
    let mut reader = Reader::new(query);
    let request = ListTasksRequest {
        context_id: reader.text("contextId"),
        status: reader.state("status"),
        page_size: reader.whole_number("pageSize"),
        page_token: reader.text("pageToken"),
        history_length: reader.whole_number("historyLength"),
        status_timestamp_after: reader.read(
            "statusTimestampAfter",
            |text| as_json(Value::String(text.to_owned())),
            "must be a time such as 2026-01-31T12:00:00Z",
        ),
        include_artifacts: reader.read("includeArtifacts", |text| text.parse().ok(), "must be true or false"),
        tenant,
    };
    let within = Operation::ListTasks(request).checked();
    reader.and(within)
}

pub fn list_push_configs(task_id: String, tenant: Option<String>, query: Pairs<'_>) -> Result<Operation, A2AError> {
    let mut reader = Reader::new(query);
    let (page_size, page_token) = (reader.whole_number("pageSize"), reader.text("pageToken"));
    reader.done()?;
    let request = ListTaskPushNotificationConfigsRequest { task_id, page_size, page_token, tenant };
    Operation::ListPushConfigs(request).checked()
}

fn as_json<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

struct Reader<'a> {
    query: Pairs<'a>,
    wrong: Violations,
}

impl<'a> Reader<'a> {
    fn new(query: Pairs<'a>) -> Self {
        Self { query, wrong: Violations::default() }
    }

    /// An empty value is one that is not there.
    fn text(&self, name: &str) -> Option<String> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
    }

    fn read<T>(&mut self, name: &str, parse: impl Fn(&str) -> Option<T>, otherwise: &str) -> Option<T> {
        let text = self.text(name)?;
        let value = parse(&text);
        self.wrong.unless(value.is_some(), name, format!("{otherwise}, not {text:?}"));
        value
    }

    fn whole_number(&mut self, name: &str) -> Option<i32> {
        self.read(name, |text| text.parse().ok(), "must be a whole number")
    }

    fn state(&mut self, name: &str) -> Option<TaskState> {
        // What 0.3 is answered with, it may ask for.
        let of_1_0 = |text: &str| if text == CANCELLED { "TASK_STATE_CANCELED" } else { text }.to_owned();
        self.read(name, |text| as_json(Value::String(of_1_0(text))), &format!("must be one of {STATES}"))
    }

    fn done(self) -> Result<(), A2AError> {
        self.wrong.into_result()
    }

    /// What does not read goes before what is out of bounds, and both are told.
    fn and(self, within: Result<Operation, A2AError>) -> Result<Operation, A2AError> {
        self.wrong.joined(within)
    }
}
