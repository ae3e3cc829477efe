//! gRPC: `factum.v1.Runtime`.

use async_trait::async_trait;
use factum_api::grpc::ERROR_METADATA;
use factum_api::grpc::proto::runtime_client::RuntimeClient;
use factum_api::grpc::proto::{CallRequest, EventMessage, SubscribeRequest};
use serde_json::Value;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status, Streaming};

use super::{Client, Outcome, error_object, transport_error};

/// A channel to one server as one caller.
#[derive(Clone)]
pub struct Grpc {
    client: RuntimeClient<Channel>,
    token: Option<String>,
}

impl Grpc {
    /// A channel that connects when it is first used, and again after the server was away.
    pub fn open(address: &str, token: Option<&str>) -> Self {
        Self { client: RuntimeClient::new(Self::channel(address)), token: token.map(str::to_owned) }
    }

    /// A request as this caller.
    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        }
        request
    }

    /// The same call with whatever params, JSON or not.
    pub async fn raw(&self, method: &str, params: &str) -> Result<String, Status> {
        let request = self.request(CallRequest { method: method.to_owned(), params: params.to_owned() });
        self.client.clone().call(request).await.map(|response| response.into_inner().result)
    }

    /// The channel itself, for requests that no client of ours would make.
    pub fn channel(address: &str) -> Channel {
        Endpoint::from_shared(format!("http://{address}")).unwrap().connect_lazy()
    }

    pub async fn subscribe(&self, request: SubscribeRequest) -> Result<Streaming<EventMessage>, Status> {
        self.client.clone().subscribe(self.request(request)).await.map(tonic::Response::into_inner)
    }

    /// The error object that a status carries, or one that says that nobody answered.
    pub fn error(status: &Status) -> Value {
        let Some(object) = status.metadata().get_bin(ERROR_METADATA) else { return transport_error(status) };
        let object: Value = serde_json::from_slice(&object.to_bytes().unwrap()).unwrap();
        assert_eq!(object["message"], status.message());
        error_object(&object)
    }
}

#[async_trait]
impl Client for Grpc {
    fn name(&self) -> &'static str {
        "grpc"
    }

    async fn call(&self, method: &str, params: Value) -> Outcome {
        match self.raw(method, &params.to_string()).await {
            Ok(result) => Ok(serde_json::from_str(&result).unwrap()),
            Err(status) => Err(Self::error(&status)),
        }
    }
}
