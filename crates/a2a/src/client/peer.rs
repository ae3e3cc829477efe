//! A peer that was found: the operations, in the types of 1.0.

use std::collections::HashMap;
use std::sync::Arc;

use a2a::{
    CancelTaskRequest, GetTaskRequest, ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
    SubscribeToTaskRequest, Task, TaskState,
};
use factum_outbound::{Client, Request};
use serde_json::Value;

use super::card::{Binding, Interface, PeerCard};
use super::credential::Credential;
use super::failure::Failure;
use super::operation::Operation;
use super::rest::Subscribing;
use super::spoken::Spoken;
use super::updates::PeerUpdates;
use super::{grpc, json, native, v0_3};
use crate::extension::{Extensions, MESSAGING_URI};
use crate::version::Version;

/// Keeps a repeated send from being carried out twice, where the peer keeps keys.
const IDEMPOTENCY_HEADER: &str = "Idempotency-Key";
const LAST_EVENT_HEADER: &str = "Last-Event-ID";

/// An agent elsewhere. Cheap to clone; clones share connections, and what was found out about it.
#[derive(Clone, Debug)]
pub struct Peer {
    client: Client,
    credential: Credential,
    card: PeerCard,
    interface: Interface,
    subscribing: Arc<Subscribing>,
}

impl Peer {
    pub(super) fn new(client: Client, credential: Credential, card: PeerCard, interface: Interface) -> Self {
        Self { client, credential, card, interface, subscribing: Arc::default() }
    }

    pub fn card(&self) -> &PeerCard {
        &self.card
    }

    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// A state as this peer writes it. `metadata` is that of the task or update it is of: where nobody knows the state, the
    /// peer's own word for it is there.
    pub fn native_status(&self, state: &TaskState, metadata: Option<&HashMap<String, Value>>) -> String {
        if let Some(word) = native::kept(metadata).filter(|_| *state == TaskState::Unspecified) {
            return word.to_owned();
        }
        match self.interface.spoken {
            Spoken::V1_0 => {
                serde_json::to_value(state).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
            }
            Spoken::V0_3 | Spoken::April2025 => v0_3::state_to(state).to_owned(),
        }
    }

    /// Whether whoever sends chooses what a new task is called: it is the id of its first message.
    pub fn tasks_are_named_by_messages(&self) -> bool {
        self.interface.spoken == Spoken::April2025
    }

    /// Sends a message. `key` makes it safe to send again where the peer keeps keys.
    pub async fn send(&self, request: SendMessageRequest, key: Option<&str>) -> Result<SendMessageResponse, Failure> {
        match self.way(Operation::Send, Around { key, ..Around::default() })? {
            Way::Json(call) => call.answer("", &request).await,
            Way::Grpc(call) => call.send(request).await,
        }
    }

    /// Sends a message and follows what becomes of it.
    pub async fn stream(&self, request: SendMessageRequest, key: Option<&str>) -> Result<PeerUpdates, Failure> {
        match self.way(Operation::Stream, Around { key, ..Around::default() })? {
            Way::Json(call) => call.updates("", &request).await,
            Way::Grpc(call) => Ok(PeerUpdates::items(call.stream(request).await?)),
        }
    }

    pub async fn get(&self, task_id: &str, history_length: Option<i32>) -> Result<Task, Failure> {
        let request = GetTaskRequest { id: task_id.to_owned(), history_length, tenant: None };
        match self.way(Operation::Get, Around::default())? {
            Way::Json(call) => call.answer(task_id, &request).await,
            Way::Grpc(call) => call.get(request).await,
        }
    }

    /// The newest tasks of a context. Older versions have no such operation and refuse.
    pub async fn list(&self, request: ListTasksRequest) -> Result<ListTasksResponse, Failure> {
        match self.way(Operation::List, Around::default())? {
            Way::Json(call) => call.answer("", &request).await,
            Way::Grpc(call) => call.list(request).await,
        }
    }

    pub async fn cancel(&self, task_id: &str) -> Result<Task, Failure> {
        let request = CancelTaskRequest { id: task_id.to_owned(), metadata: None, tenant: None };
        match self.way(Operation::Cancel, Around::default())? {
            Way::Json(call) => call.answer(task_id, &request).await,
            Way::Grpc(call) => call.cancel(request).await,
        }
    }

    /// Follows a task that exists: first the task as it stands, then what happens; or, with the id of the last event seen,
    /// what happened behind it, where the peer keeps that.
    pub async fn subscribe(&self, task_id: &str, last_event_id: Option<&str>) -> Result<PeerUpdates, Failure> {
        let request = SubscribeToTaskRequest { id: task_id.to_owned(), tenant: None };
        match self.way(Operation::Subscribe, Around { last_event_id, ..Around::default() })? {
            Way::Json(call) => call.updates(task_id, &request).await,
            Way::Grpc(call) => Ok(PeerUpdates::items(call.subscribe(request).await?)),
        }
    }

    fn way<'a>(&'a self, operation: Operation, around: Around<'a>) -> Result<Way<'a>, Failure> {
        let around = Around { names_messaging: self.card.requires_messaging, ..around };
        let (client, interface, credential) = (&self.client, &self.interface, &self.credential);
        let subscribing = &*self.subscribing;
        let json = |form| json::Call { client, interface, credential, form, operation, around, subscribing };
        Ok(match interface.binding {
            Binding::JsonRpc => Way::Json(json(json::Form::Rpc)),
            Binding::HttpJson => Way::Json(json(json::Form::Rest)),
            Binding::Grpc => Way::Grpc(Box::new(grpc::Call::new(client, interface, credential, operation, around)?)),
        })
    }
}

/// How a call is made.
enum Way<'a> {
    Json(json::Call<'a>),
    Grpc(Box<grpc::Call>),
}

/// What stands beside a call, in headers or metadata.
#[derive(Clone, Copy, Default)]
pub(super) struct Around<'a> {
    pub(super) key: Option<&'a str>,
    pub(super) last_event_id: Option<&'a str>,
    /// The peer answers only those who name our extension. Where it is merely offered, nothing that is asked here needs it.
    pub(super) names_messaging: bool,
}

impl Around<'_> {
    pub(super) fn on(self, mut request: Request, version: Option<Version>) -> Request {
        if let Some(version) = version {
            request = request.header(Version::HEADER, version.as_str());
        }
        if self.names_messaging {
            let [new, old] = Extensions::HEADERS;
            let name = if version == Some(Version::V1_0) { new } else { old };
            request = request.header(name, MESSAGING_URI);
        }
        if let Some(key) = self.key {
            request = request.header(IDEMPOTENCY_HEADER, key);
        }
        if let Some(id) = self.last_event_id {
            request = request.header(LAST_EVENT_HEADER, id);
        }
        request
    }
}

pub(super) fn unsendable(problem: &str) -> Failure {
    Failure::Malformed { problem: format!("the request cannot be written: {problem}"), may_have_arrived: false }
}
