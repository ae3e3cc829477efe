//! Commands over HTTP: `POST /rpc` and `POST /v1/{command}`.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State as Extract};
use axum::response::{IntoResponse, Response};
use factum_model::{ErrorCode, Refusal};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use crate::metrics::Transport;
use crate::problem::Problem;
use crate::rpc;
use crate::state::{Peer, State, timed_out};
use crate::status::http_status;

/// A request's body, from the router or right from the connection.
pub(crate) trait AnyBody: hyper::body::Body<Data = Bytes, Error: Into<axum::BoxError>> + Send {}

impl<B: hyper::body::Body<Data = Bytes, Error: Into<axum::BoxError>> + Send> AnyBody for B {}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// `POST /v1/{command}` as the router sees it.
pub(crate) async fn routed_command(
    Extract(state): Extract<Arc<State>>,
    Path(name): Path<String>,
    request: Request<Body>,
) -> Response {
    let (head, body) = request.into_parts();
    command(&state, &name, &head.headers, peer(&head), body).await
}

/// `POST /v1/channels/{method}`: the commands of messaging have a slash in their names.
pub(crate) async fn routed_channel_command(
    Extract(state): Extract<Arc<State>>,
    Path(method): Path<String>,
    request: Request<Body>,
) -> Response {
    let (head, body) = request.into_parts();
    command(&state, &format!("channels/{method}"), &head.headers, peer(&head), body).await
}

/// The command that a request is for, where its path is spelled the usual way. It need not go through the router then,
/// which costs as much as some commands do.
pub(crate) fn direct_command<'a>(method: &Method, path: &'a str) -> Option<&'a str> {
    let name = path.strip_prefix("/v1/").filter(|_| method == Method::POST)?;
    let usual = match name.strip_prefix("channels/") {
        // A stream has to be told apart from commands, which the router does.
        Some("stream") => false,
        Some(method) => method.bytes().all(|byte| byte.is_ascii_alphabetic()),
        None => name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
    };
    usual.then_some(name)
}

/// A command: the body is the params, the answer is the result.
pub(crate) async fn command(
    state: &State,
    command: &str,
    headers: &HeaderMap,
    peer: IpAddr,
    body: impl AnyBody,
) -> Response {
    let started = state.metrics.start();
    let outcome = run_command(state, command, headers, peer, body).await;
    let code = outcome.as_ref().err().map(|problem| problem.0.code);
    state.metrics.request(Transport::Http, command, code, started);
    outcome.unwrap_or_else(IntoResponse::into_response)
}

async fn run_command(
    state: &State,
    command: &str,
    headers: &HeaderMap,
    peer: IpAddr,
    body: impl AnyBody,
) -> Result<Response, Problem> {
    let caller = state.admit(headers, peer).await?;
    let body = read_body(state, body).await?;
    let params = match std::str::from_utf8(&body) {
        Ok(text) if text.trim().is_empty() => "{}",
        Ok(text) => text,
        Err(_) => return Err(Refusal::invalid("the body is not UTF-8").into()),
    };
    let result = state.call(&caller, command, params).await?;
    let text: Box<str> = result.into();
    Ok(json_response(StatusCode::OK, Bytes::from(String::from(text))))
}

/// `POST /rpc`: one request, a batch, or notifications.
pub(crate) async fn rpc(Extract(state): Extract<Arc<State>>, request: Request<Body>) -> Response {
    let started = state.metrics.start();
    let (response, code) = match run_rpc(&state, request).await {
        Ok(Some(answer)) => (json_response(StatusCode::OK, answer.into()), None),
        Ok(None) => (StatusCode::NO_CONTENT.into_response(), None),
        Err(refusal) => {
            let status = StatusCode::from_u16(http_status(refusal.code)).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let code = refusal.code;
            let answer = rpc::answer(None, Err(rpc::Fault::from(refusal.clone())));
            let mut response = json_response(status, answer.into());
            // Headers such as Retry-After are the same as on plain HTTP; the body is JSON-RPC's.
            for (name, value) in Problem(refusal).into_response().headers() {
                if !response.headers().contains_key(name) {
                    response.headers_mut().insert(name.clone(), value.clone());
                }
            }
            response.headers_mut().remove(header::CONTENT_LENGTH);
            (response, Some(code))
        }
    };
    // Requests that were read are counted one by one, by what they asked for.
    if code.is_some() {
        state.metrics.request(Transport::Rpc, "", code, started);
    }
    response
}

async fn run_rpc(state: &State, request: Request<Body>) -> Result<Option<Vec<u8>>, Refusal> {
    let (head, body) = request.into_parts();
    let caller = state.admit(&head.headers, peer(&head)).await?;
    let body = read_body(state, body).await?;
    Ok(rpc::body(state, Transport::Rpc, &caller, &body).await)
}

/// The whole body, within its bounds of size and time. One that says beforehand that it is too large is not waited for.
pub(crate) async fn read_body(state: &State, body: impl AnyBody) -> Result<Bytes, Refusal> {
    let max = state.limits.body_bytes_max;
    if body.size_hint().lower() > max as u64 {
        return Err(too_large(max));
    }
    let collect = Limited::new(body, max).collect();
    match tokio::time::timeout(state.limits.request_timeout, collect).await {
        Err(_) => Err(timed_out(state.limits.request_timeout)),
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(max)),
        Ok(Err(_)) => Err(Refusal::invalid("the body ended before it was complete")),
    }
}

fn too_large(max: usize) -> Refusal {
    let message = format!("the body is larger than body_bytes_max, {max} bytes");
    Refusal::new(ErrorCode::LimitExceeded, message)
        .with("limit", serde_json::json!({ "name": "body_bytes", "max": max }))
}

pub(crate) fn peer(head: &http::request::Parts) -> IpAddr {
    // The accept loop always puts it there; a request without one is treated as coming from elsewhere.
    head.extensions.get::<Peer>().map_or(std::net::Ipv4Addr::UNSPECIFIED.into(), |peer| peer.0)
}

pub(crate) fn json_response(status: StatusCode, body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}
