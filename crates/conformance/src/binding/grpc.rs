//! gRPC, with messages that are made from JSON and read back as JSON by the rules of Protocol Buffers alone, so that nothing
//! of the server's own mapping is used to check it.

use a2a_pb::protojson as pb;
use anyhow::{Context, Result};
use futures::StreamExt;
use prost::Message;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

use super::{Answer, Binding, Events, Operation};
use crate::fault::Fault;
use crate::target::{PROTOCOL_VERSION, Target};

pub(super) async fn call(
    target: &Target,
    operation: Operation,
    params: Map<String, Value>,
    token: Option<&str>,
) -> Result<Answer> {
    let call = Call { target, operation, token };
    let outcome = match operation {
        Operation::SendMessage => call.unary::<pb::SendMessageRequest, pb::SendMessageResponse>(params).await?,
        Operation::GetTask => call.unary::<pb::GetTaskRequest, pb::Task>(params).await?,
        Operation::ListTasks => {
            call.unary::<pb::ListTasksRequest, pb::ListTasksResponse>(params).await?.map(with_all_fields)
        }
        Operation::CancelTask => call.unary::<pb::CancelTaskRequest, pb::Task>(params).await?,
        Operation::GetAgentCard | Operation::GetExtendedAgentCard => {
            call.unary::<pb::GetExtendedAgentCardRequest, pb::AgentCard>(params).await?
        }
        Operation::CreatePushConfig => {
            call.unary::<pb::TaskPushNotificationConfig, pb::TaskPushNotificationConfig>(params).await?
        }
        Operation::GetPushConfig => {
            call.unary::<pb::GetTaskPushNotificationConfigRequest, pb::TaskPushNotificationConfig>(params).await?
        }
        Operation::ListPushConfigs => {
            call.unary::<pb::ListTaskPushNotificationConfigsRequest, pb::ListTaskPushNotificationConfigsResponse>(
                params,
            )
            .await?
        }
        Operation::DeletePushConfig => call.unary::<pb::DeleteTaskPushNotificationConfigRequest, Empty>(params).await?,
        Operation::SendStreamingMessage | Operation::SubscribeToTask => anyhow::bail!("{operation:?} is a stream"),
    };
    Ok(Answer { outcome, headers: Default::default() })
}

pub(super) async fn stream(
    target: &Target,
    operation: Operation,
    params: Map<String, Value>,
    token: Option<&str>,
) -> Result<Result<Events, Fault>> {
    let call = Call { target, operation, token };
    match operation {
        Operation::SubscribeToTask => call.stream::<pb::SubscribeToTaskRequest>(params).await,
        _ => call.stream::<pb::SendMessageRequest>(params).await,
    }
}

/// No fields in proto3 can be left out of a message; the JSON form leaves out what is zero or empty.
fn with_all_fields(mut list: Value) -> Value {
    for (key, empty) in
        [("tasks", json!([])), ("nextPageToken", json!("")), ("pageSize", json!(0)), ("totalSize", json!(0))]
    {
        if list.get(key).is_none() {
            list[key] = empty;
        }
    }
    list
}

#[derive(Clone, Copy, PartialEq, Message, Serialize)]
struct Empty {}

struct Call<'c> {
    target: &'c Target,
    operation: Operation,
    token: Option<&'c str>,
}

type Client = tonic::client::Grpc<Channel>;

impl Call<'_> {
    async fn unary<Q, A>(&self, params: Map<String, Value>) -> Result<Result<Value, Fault>>
    where
        Q: Message + DeserializeOwned + 'static,
        A: Message + Serialize + Default + 'static,
    {
        let (mut client, request) = self.prepared::<Q>(params).await?;
        match client.unary(request, self.path()?, ProstCodec::<Q, A>::default()).await {
            Ok(answer) => Ok(Ok(serde_json::to_value(answer.into_inner())?)),
            Err(status) => Ok(Err(fault(&status))),
        }
    }

    async fn stream<Q>(&self, params: Map<String, Value>) -> Result<Result<Events, Fault>>
    where
        Q: Message + DeserializeOwned + 'static,
    {
        let (mut client, request) = self.prepared::<Q>(params).await?;
        let codec = ProstCodec::<Q, pb::StreamResponse>::default();
        let mut events = match client.server_streaming(request, self.path()?, codec).await {
            Ok(events) => events.into_inner(),
            Err(status) => return Ok(Err(fault(&status))),
        };
        // A server may refuse with headers first, so what is refused shows only when the first message is asked for.
        let first = match events.message().await {
            Err(status) => return Ok(Err(fault(&status))),
            Ok(None) => return Ok(Ok(Box::pin(futures::stream::empty()))),
            Ok(Some(first)) => first,
        };
        let read = |message: pb::StreamResponse| {
            serde_json::to_value(message).map_err(|error| fault(&Status::internal(error.to_string())))
        };
        let rest = events.map(move |event| event.map_err(|status| fault(&status)).and_then(read));
        Ok(Ok(Box::pin(futures::stream::iter([read(first)]).chain(rest))))
    }

    async fn prepared<Q: DeserializeOwned>(&self, params: Map<String, Value>) -> Result<(Client, Request<Q>)> {
        let message: Q = serde_json::from_value(params.into()).context("the parameters fit no message")?;
        let mut request = Request::new(message);
        request.metadata_mut().insert("a2a-version", PROTOCOL_VERSION.parse()?);
        if let Some(token) = self.token {
            request.metadata_mut().insert("authorization", format!("Bearer {token}").parse()?);
        }
        let url = self.target.url(Binding::Grpc)?;
        let url = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        let mut client = Client::new(Endpoint::from_shared(url)?.connect().await.context("no connection")?);
        client.ready().await?;
        Ok((client, request))
    }

    fn path(&self) -> Result<PathAndQuery> {
        Ok(format!("/lf.a2a.v1.A2AService/{}", self.operation.method()).parse()?)
    }
}

fn fault(status: &Status) -> Fault {
    let details = RpcStatus::decode(status.details()).map(|status| status.details).unwrap_or_default();
    Fault {
        binding: Binding::Grpc,
        code: i32::from(status.code()).into(),
        message: status.message().to_owned(),
        details: details.iter().map(detail).collect(),
    }
}

fn detail(any: &Any) -> Value {
    match ErrorInfo::decode(&any.value[..]) {
        Ok(info) if any.type_url.ends_with("google.rpc.ErrorInfo") => {
            json!({ "@type": any.type_url, "reason": info.reason, "domain": info.domain })
        }
        _ => json!({ "@type": any.type_url }),
    }
}

/// `google.rpc.Status`, as it stands in `grpc-status-details-bin`.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    domain: String,
}
