//! Commands over HTTP: `POST /rpc` and `POST /v1/{command}`.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use factum_model::Refusal;
use factum_model::json::Encoded;
use factum_model::peer::Transport::{HttpJson, JsonRpc};
use factum_runtime::Caller;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};

use crate::asked::Named;
use crate::body::{AnyBody, Unread, discard, read_body, read_or_begin};
use crate::keyed::with_key;
use crate::metrics::{Started, Transport};
use crate::problem::Problem;
use crate::rpc;
use crate::said::Said;
use crate::state::{Peer, State};
use crate::status::http_status;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// `POST /v1/{command}` as the router sees it.
pub(crate) async fn routed_command(
    Extract(state): Extract<Arc<State>>,
    Named(name): Named,
    request: Request<Body>,
) -> Response {
    let (head, body) = request.into_parts();
    command(&state, &name, &head.headers, peer(&head), body).await
}

/// `POST /v1/channels/{method}`: the commands of messaging have a slash in their names.
pub(crate) async fn routed_channel_command(
    Extract(state): Extract<Arc<State>>,
    Named(method): Named,
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

/// A command: the body is the params, the answer is the result. `Idempotency-Key` may stand in the headers.
pub(crate) async fn command(
    state: &State,
    command: &str,
    headers: &HeaderMap,
    peer: IpAddr,
    body: impl AnyBody,
) -> Response {
    let started = state.metrics.start();
    let outcome = run_command(state, command, headers, peer, body).await;
    let counted = counted(state, command, started, outcome);
    counted.map_or_else(IntoResponse::into_response, |result| json_response(StatusCode::OK, result.into_text().into()))
}

/// The same for a body that is there already.
pub(crate) async fn called(
    state: &State,
    command: &str,
    (headers, said): (&HeaderMap, &Said),
    peer: IpAddr,
    body: &[u8],
) -> Result<Encoded, Problem> {
    let started = state.metrics.start();
    let run = pin!(async {
        let caller = state.admit_who(said, peer).await?.over(HttpJson);
        call(state, &caller, command, headers, body).await
    });
    let outcome = run.await;
    counted(state, command, started, outcome)
}

fn counted(
    state: &State,
    command: &str,
    started: Started,
    outcome: Result<Encoded, Problem>,
) -> Result<Encoded, Problem> {
    let code = outcome.as_ref().err().map(|problem| problem.0.code);
    state.metrics.request(Transport::Http, command, code, started);
    outcome
}

async fn run_command(
    state: &State,
    command: &str,
    headers: &HeaderMap,
    peer: IpAddr,
    body: impl AnyBody,
) -> Result<Encoded, Problem> {
    let caller = match state.admit(headers, peer).await {
        Ok(caller) => caller.over(HttpJson),
        Err(refusal) => {
            discard(body).await;
            return Err(refusal.into());
        }
    };
    let body = read_body(state, body).await?;
    call(state, &caller, command, headers, &body).await
}

async fn call(
    state: &State,
    caller: &Caller,
    command: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Encoded, Problem> {
    let params = match std::str::from_utf8(body) {
        Ok(text) if text.trim().is_empty() => "{}",
        Ok(text) => text,
        Err(_) => return Err(Refusal::invalid("the body is not UTF-8").into()),
    };
    Ok(state.call(caller, command, &with_key(headers, params)?).await?)
}

/// `POST /rpc`: one request, a batch, or notifications.
pub(crate) async fn rpc(Extract(state): Extract<Arc<State>>, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    rpc_body(&state, &head.headers, peer(&head), body).await
}

/// The same, for requests that did not come through the router.
pub(crate) async fn rpc_body(state: &State, headers: &HeaderMap, from: IpAddr, body: impl AnyBody) -> Response {
    let started = state.metrics.start();
    match run_rpc(state, headers, from, body).await {
        Ok(Some(answer)) => json_response(StatusCode::OK, answer.into()),
        Ok(None) => StatusCode::NO_CONTENT.into_response(),
        Err(refused) => {
            // Requests that were let in are counted one by one, by what they asked for.
            state.metrics.request(Transport::Rpc, "", Some(refused.refusal.code), started);
            let fault = |_: Option<&rpc::Request<'_>>| rpc::Fault::from(refused.refusal.clone());
            refused_rpc(rpc::refuse(&refused.body, state, fault), refused.refusal)
        }
    }
}

/// A body that was not carried out, as far as it was read: the ids of its requests are in it.
pub(crate) struct RefusedBody {
    pub(crate) refusal: Refusal,
    pub(crate) body: Bytes,
}

async fn run_rpc(
    state: &State,
    headers: &HeaderMap,
    from: IpAddr,
    body: impl AnyBody,
) -> Result<Option<Vec<u8>>, RefusedBody> {
    let (caller, body) = admit_with_body(state, headers, from, body).await?;
    Ok(rpc::body(state, Transport::Rpc, &caller, &body).await)
}

/// Lets a JSON-RPC request in and reads its body. The body of one that is not let in is read as well, within the same bounds:
/// a client that asks for several things at once finds out by the id which of them was refused.
pub(crate) async fn admit_with_body(
    state: &State,
    headers: &HeaderMap,
    from: IpAddr,
    body: impl AnyBody,
) -> Result<(Caller, Bytes), RefusedBody> {
    let admitted = state.admit(headers, from).await;
    let read = read_or_begin(state, body).await;
    match (admitted, read) {
        (Ok(caller), Ok(body)) => Ok((caller.over(JsonRpc), body)),
        (Ok(_), Err(Unread { refusal, beginning })) => Err(RefusedBody { refusal, body: beginning }),
        (Err(refusal), read) => {
            let body = read.unwrap_or_else(|unread| unread.beginning);
            Err(RefusedBody { refusal, body })
        }
    }
}

/// HTTP's status and headers, such as `Retry-After`, are the same as on plain HTTP; the body is JSON-RPC's. There is none for
/// a notification.
pub(crate) fn refused_rpc(body: Option<Vec<u8>>, refusal: Refusal) -> Response {
    let status = StatusCode::from_u16(http_status(refusal.code)).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = match body {
        Some(body) => json_response(status, body.into()),
        None => status.into_response(),
    };
    for (name, value) in Problem(refusal).into_response().headers() {
        if !matches!(*name, header::CONTENT_TYPE | header::CONTENT_LENGTH) {
            response.headers_mut().insert(name.clone(), value.clone());
        }
    }
    response
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
