//! The gRPC binding of 1.0: the official service's own client, carried by the guarded client.
//!
//! `carrier` takes calls there and back, `status` says what a status means, `read` looks at what the conversion from
//! protocol buffers would hide. 0.3 over gRPC is another service, which this side does not speak.

mod carrier;
mod read;
mod status;

use a2a::{
    CancelTaskRequest, GetTaskRequest, ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
    StreamResponse, SubscribeToTaskRequest, Task,
};
use a2a_pb::pbconv;
use a2a_pb::proto;
use a2a_pb::proto::a2a_service_client::A2aServiceClient;
use factum_outbound::Client;
use tonic::{Response, Status, Streaming};

use super::card::Interface;
use super::credential::Credential;
use super::failure::Failure;
use super::operation::Operation;
use super::peer::{Around, unsendable};
use carrier::{Carrier, Said};

/// One call to a peer.
pub(super) struct Call {
    service: A2aServiceClient<Carrier>,
    operation: Operation,
    said: Said,
    tenant: Option<String>,
}

impl Call {
    pub(super) fn new(
        client: &Client,
        interface: &Interface,
        credential: &Credential,
        operation: Operation,
        around: Around<'_>,
    ) -> Result<Self, Failure> {
        let target = client.target(&interface.url)?;
        let origin = target.url().as_str().parse().map_err(|_| unsendable("its address is none of HTTP/2's"))?;
        let limits = client.options();
        let bytes_max = if operation.streams() { limits.event_bytes_max } else { limits.body_bytes_max };
        let said = Said::default();
        let carrier = Carrier::new(client.clone(), credential.clone(), around, operation, said.clone());
        let service = A2aServiceClient::with_origin(carrier, origin).max_decoding_message_size(bytes_max);
        Ok(Self { service, operation, said, tenant: interface.tenant.clone() })
    }

    pub(super) async fn send(mut self, mut request: SendMessageRequest) -> Result<SendMessageResponse, Failure> {
        request.tenant = self.tenant.take();
        let answer = self.service.send_message(pbconv::to_proto_send_message_request(&request)).await;
        read::sent(&self.outcome(answer)?)
    }

    pub(super) async fn stream(mut self, mut request: SendMessageRequest) -> Result<Items, Failure> {
        request.tenant = self.tenant.take();
        let answer = self.service.send_streaming_message(pbconv::to_proto_send_message_request(&request)).await;
        self.items(answer)
    }

    pub(super) async fn get(mut self, mut request: GetTaskRequest) -> Result<Task, Failure> {
        request.tenant = self.tenant.take();
        let answer = self.service.get_task(pbconv::to_proto_get_task_request(&request)).await;
        read::task(&self.outcome(answer)?)
    }

    pub(super) async fn list(mut self, mut request: ListTasksRequest) -> Result<ListTasksResponse, Failure> {
        request.tenant = self.tenant.take();
        let answer = self.service.list_tasks(pbconv::to_proto_list_tasks_request(&request)).await;
        read::tasks(&self.outcome(answer)?)
    }

    pub(super) async fn cancel(mut self, mut request: CancelTaskRequest) -> Result<Task, Failure> {
        request.tenant = self.tenant.take();
        let answer = self.service.cancel_task(pbconv::to_proto_cancel_task_request(&request)).await;
        read::task(&self.outcome(answer)?)
    }

    pub(super) async fn subscribe(mut self, mut request: SubscribeToTaskRequest) -> Result<Items, Failure> {
        request.tenant = self.tenant.take();
        let answer = self.service.subscribe_to_task(pbconv::to_proto_subscribe_to_task_request(&request)).await;
        self.items(answer)
    }

    fn outcome<T>(&self, answer: Result<Response<T>, Status>) -> Result<T, Failure> {
        answer.map(Response::into_inner).map_err(|status| status::failure(&status, self.operation, &self.said))
    }

    fn items(self, answer: Result<Response<Streaming<proto::StreamResponse>>, Status>) -> Result<Items, Failure> {
        let stream = self.outcome(answer)?;
        Ok(Items { stream, operation: self.operation, said: self.said })
    }
}

/// What a stream brings, one after the other.
pub(super) struct Items {
    stream: Streaming<proto::StreamResponse>,
    operation: Operation,
    said: Said,
}

impl Items {
    pub(super) async fn next(&mut self) -> Result<Option<StreamResponse>, Failure> {
        let item = self.stream.message().await;
        let item = item.map_err(|status| status::failure(&status, self.operation, &self.said))?;
        item.map(|item| read::item(&item)).transpose()
    }
}
