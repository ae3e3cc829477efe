//! Carries a call of the generated client over the guarded one. Whatever breaks on the way is said in our words and comes
//! back out of the status that tonic wraps it in; and it is remembered whether a status is the peer's word or tonic's own.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use factum_outbound::{Client, Frames, Request};
use futures::future::BoxFuture;
use http::{HeaderMap, StatusCode};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use tonic::codegen::Service;

use super::super::credential::Credential;
use super::super::failure::Failure;
use super::super::operation::Operation;
use super::super::peer::{Around, unsendable};
use crate::version::Version;

const STATUS_HEADER: &str = "grpc-status";
const MEDIA_TYPE: &str = "application/grpc";

/// Whether the peer itself has said that something is wrong.
#[derive(Clone, Debug, Default)]
pub(super) struct Said(Arc<AtomicBool>);

impl Said {
    pub(super) fn by_peer(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn hear(&self, headers: &HeaderMap) {
        if headers.get(STATUS_HEADER).is_some_and(|status| status != "0") {
            self.0.store(true, Ordering::Release);
        }
    }
}

/// Carries one call.
#[derive(Clone)]
pub(super) struct Carrier {
    client: Client,
    credential: Credential,
    key: Option<String>,
    last_event_id: Option<String>,
    names_messaging: bool,
    operation: Operation,
    said: Said,
}

impl Carrier {
    pub(super) fn new(
        client: Client,
        credential: Credential,
        around: Around<'_>,
        operation: Operation,
        said: Said,
    ) -> Self {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let (key, last_event_id) = (owned(around.key), owned(around.last_event_id));
        Self { client, credential, key, last_event_id, names_messaging: around.names_messaging, operation, said }
    }

    async fn carry(self, request: http::Request<tonic::body::Body>) -> Result<http::Response<Heard>, Failure> {
        let request = self.written(request).await?;
        let response = if self.operation.streams() { request.call_streaming().await? } else { request.call().await? };
        self.said.hear(response.headers());
        spoken(self.operation, &response)?;
        Ok(response.map(|frames| Heard { frames, said: self.said }))
    }

    /// The call as a request of ours. What is sent is one message, so all of it is at hand.
    async fn written(&self, request: http::Request<tonic::body::Body>) -> Result<Request, Failure> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(|status| unsendable(status.message()))?.to_bytes();
        let mut request = self.client.post(&parts.uri.to_string())?.body(MEDIA_TYPE, body);
        for (name, value) in &parts.headers {
            let value = value.to_str().map_err(|_| unsendable("its metadata is not plain"))?;
            request = request.header(name.as_str(), value);
        }
        let (key, last_event_id) = (self.key.as_deref(), self.last_event_id.as_deref());
        let around = Around { key, last_event_id, names_messaging: self.names_messaging };
        Ok(self.credential.on(around.on(request, Some(Version::V1_0))))
    }
}

/// Whether what answers speaks gRPC at all: whoever does says so with 200, however the call ends.
fn spoken(operation: Operation, response: &http::Response<Frames>) -> Result<(), Failure> {
    let status = response.status();
    let media_type = response.headers().get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let speaks = media_type.is_some_and(|media_type| media_type.starts_with(MEDIA_TYPE));
    if status == StatusCode::OK && speaks {
        return Ok(());
    }
    if !status.is_success() {
        return Err(Failure::unsaid(operation, status, b"").until(status, response.headers()));
    }
    Err(Failure::malformed(format!("not gRPC: {status}, {}", media_type.unwrap_or("of no media type"))))
}

impl Service<http::Request<tonic::body::Body>> for Carrier {
    type Response = http::Response<Heard>;
    type Error = Failure;
    type Future = BoxFuture<'static, Result<Self::Response, Failure>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Self::Future {
        Box::pin(self.clone().carry(request))
    }
}

/// The frames of an answer, listened to for its status.
pub(super) struct Heard {
    frames: Frames,
    said: Said,
}

impl Body for Heard {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let next = Pin::new(&mut self.frames).poll_frame(context);
        next.map(|frame| {
            let frame = frame?.map_err(Failure::from);
            if let Some(trailers) = frame.as_ref().ok().and_then(Frame::trailers_ref) {
                self.said.hear(trailers);
            }
            Some(frame)
        })
    }
}
