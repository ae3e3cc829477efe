//! A peer that was found: the operations, in the types of 1.0.

use a2a::{
    CancelTaskRequest, GetTaskRequest, ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
    StreamResponse, SubscribeToTaskRequest, Task, TaskState,
};
use factum_outbound::{Answer, Client, Request, Streaming};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::card::{Binding, Interface, PeerCard};
use super::credential::Credential;
use super::failure::Failure;
use super::forgiving::forgiven;
use super::operation::Operation;
use super::updates::{PeerUpdate, PeerUpdates, Reader};
use super::{rest, rpc, v0_3};
use crate::version::Version;

/// Keeps a repeated send from being carried out twice, where the peer keeps keys.
const IDEMPOTENCY_HEADER: &str = "Idempotency-Key";
const LAST_EVENT_HEADER: &str = "Last-Event-ID";

/// An agent elsewhere. Cheap to clone; clones share connections.
#[derive(Clone, Debug)]
pub struct Peer {
    client: Client,
    credential: Credential,
    card: PeerCard,
    interface: Interface,
}

impl Peer {
    pub(super) fn new(client: Client, credential: Credential, card: PeerCard, interface: Interface) -> Self {
        Self { client, credential, card, interface }
    }

    pub fn card(&self) -> &PeerCard {
        &self.card
    }

    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// A state as this peer writes it.
    pub fn native_status(&self, state: &TaskState) -> String {
        match self.interface.version {
            Version::V1_0 => {
                serde_json::to_value(state).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
            }
            Version::V0_3 => v0_3::state_to(state).to_owned(),
        }
    }

    /// Sends a message. `key` makes it safe to send again where the peer keeps keys.
    pub async fn send(&self, request: SendMessageRequest, key: Option<&str>) -> Result<SendMessageResponse, Failure> {
        let answer = self.request(Operation::Send, "", &request, key, None)?.send().await?;
        self.read(Operation::Send, &answer)
    }

    /// Sends a message and follows what becomes of it.
    pub async fn stream(&self, request: SendMessageRequest, key: Option<&str>) -> Result<PeerUpdates, Failure> {
        let streaming = self.request(Operation::Stream, "", &request, key, None)?.stream().await?;
        self.follow(Operation::Stream, streaming)
    }

    pub async fn get(&self, task_id: &str, history_length: Option<i32>) -> Result<Task, Failure> {
        let request = GetTaskRequest { id: task_id.to_owned(), history_length, tenant: None };
        let answer = self.request(Operation::Get, task_id, &request, None, None)?.send().await?;
        self.read(Operation::Get, &answer)
    }

    /// The newest tasks of a context. 0.3 has no such operation and refuses.
    pub async fn list(&self, request: ListTasksRequest) -> Result<ListTasksResponse, Failure> {
        let answer = self.request(Operation::List, "", &request, None, None)?.send().await?;
        self.read(Operation::List, &answer)
    }

    pub async fn cancel(&self, task_id: &str) -> Result<Task, Failure> {
        let request = CancelTaskRequest { id: task_id.to_owned(), metadata: None, tenant: None };
        let answer = self.request(Operation::Cancel, task_id, &request, None, None)?.send().await?;
        self.read(Operation::Cancel, &answer)
    }

    /// Follows a task that exists: first the task as it stands, then what happens; or, with the id of the last event seen,
    /// what happened behind it, where the peer keeps that.
    pub async fn subscribe(&self, task_id: &str, last_event_id: Option<&str>) -> Result<PeerUpdates, Failure> {
        let request = SubscribeToTaskRequest { id: task_id.to_owned(), tenant: None };
        let streaming = self.request(Operation::Subscribe, task_id, &request, None, last_event_id)?.stream().await?;
        self.follow(Operation::Subscribe, streaming)
    }

    fn request(
        &self,
        operation: Operation,
        task_id: &str,
        params: &impl Serialize,
        key: Option<&str>,
        last_event_id: Option<&str>,
    ) -> Result<Request, Failure> {
        let params = serde_json::to_value(params).map_err(|error| unsendable(&error.to_string()))?;
        let version = self.interface.version;
        let params = if version == Version::V0_3 { v0_3::params_to(operation, params) } else { params };
        let mut request = match self.interface.binding {
            Binding::JsonRpc => rpc::request(&self.client, &self.interface, operation, params)?,
            Binding::HttpJson => rest::request(&self.client, &self.interface, operation, task_id, params)?,
        };
        request = request.header(Version::HEADER, version.as_str());
        if matches!(operation, Operation::Stream | Operation::Subscribe) {
            request = request.header("Accept", "text/event-stream");
        }
        if let Some(key) = key {
            request = request.header(IDEMPOTENCY_HEADER, key);
        }
        if let Some(id) = last_event_id {
            request = request.header(LAST_EVENT_HEADER, id);
        }
        Ok(self.credential.on(request))
    }

    fn read<T: DeserializeOwned>(&self, operation: Operation, answer: &Answer) -> Result<T, Failure> {
        let value = self.result(operation, answer)?;
        serde_json::from_value(value).map_err(|error| Failure::malformed(error.to_string()))
    }

    /// The result in the form of 1.0.
    fn result(&self, operation: Operation, answer: &Answer) -> Result<Value, Failure> {
        let value = match self.interface.binding {
            Binding::JsonRpc => rpc::result(answer)?,
            Binding::HttpJson => rest::result(operation, answer)?,
        };
        Ok(if self.interface.version == Version::V0_3 { v0_3::result_from(operation, value) } else { forgiven(value) })
    }

    fn follow(&self, operation: Operation, streaming: Streaming) -> Result<PeerUpdates, Failure> {
        match streaming {
            Streaming::Events(_, events) => Ok(PeerUpdates::stream(
                *events,
                Reader { binding: self.interface.binding, version: self.interface.version },
            )),
            // A peer that does not stream after all may answer with the one thing there is to say.
            Streaming::Answer(answer) => {
                let value = self.result(operation, &answer)?;
                let response: StreamResponse =
                    serde_json::from_value(value).map_err(|error| Failure::malformed(error.to_string()))?;
                Ok(PeerUpdates::single(PeerUpdate { event_id: None, response }))
            }
        }
    }
}

pub(super) fn unsendable(problem: &str) -> Failure {
    Failure::Malformed { problem: format!("the request cannot be written: {problem}"), may_have_arrived: false }
}
