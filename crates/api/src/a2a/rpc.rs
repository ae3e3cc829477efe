//! `POST /a2a` and `POST /a2a/agents/{name}`: A2A over JSON-RPC, every version, and the messaging extension.

use std::net::IpAddr;
use std::sync::Arc;

use a2a::A2AError;
use axum::body::Body;
use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use factum_a2a::{Dialect, Error, Kind, Method, Name, Outcome, StreamWriter, Version};
use factum_model::{ErrorCode, Refusal};
use factum_runtime::{CallError, Caller};
use http::StatusCode;
use serde_json::value::RawValue;

use super::answer::{rpc_error, rpc_refused, rpc_result};
use super::ask::{Ask, activated, agent, version};
use super::status::counted;
use super::stream::{self, Framing};
use super::{Host, OfRuntime};
use crate::channels;
use crate::http::{AnyBody, json_response, peer, read_body};
use crate::metrics::Transport;
use crate::rpc::{self, Body as RpcBody};
use crate::state::State;

/// As the router sees it.
pub(super) async fn routed<H: Host>(
    host: H,
    Extract(state): Extract<Arc<State>>,
    request: http::Request<Body>,
) -> Response {
    let (head, body) = request.into_parts();
    serve(&host, &state, None, &head, peer(&head), body).await
}

/// The same, for requests that did not come through the router.
pub(crate) async fn endpoint(
    state: &Arc<State>,
    head: &http::request::Parts,
    from: IpAddr,
    body: impl AnyBody,
) -> Response {
    serve(&OfRuntime, state, None, head, from, body).await
}

/// A request for one agent; `None` is the default one.
pub(super) async fn serve<H: Host>(
    host: &H,
    state: &Arc<State>,
    name: Option<&str>,
    head: &http::request::Parts,
    from: IpAddr,
    body: impl AnyBody,
) -> Response {
    let mut response = match run(host, state, name, head, from, body).await {
        Ok(response) => response,
        Err(refusal) => rpc_refused(refusal),
    };
    if let Some(activated) = activated(state, &head.headers) {
        response.headers_mut().insert("a2a-extensions", activated);
    }
    response
}

async fn run<H: Host>(
    host: &H,
    state: &Arc<State>,
    name: Option<&str>,
    head: &http::request::Parts,
    from: IpAddr,
    body: impl AnyBody,
) -> Result<Response, Refusal> {
    let caller = state.admit(&head.headers, from).await?;
    let agent = agent(state, name).ok_or_else(no_such_agent)?;
    let body = read_body(state, body).await?;
    let said = match version(&head.headers, head.uri.query()) {
        Ok(said) => said,
        Err(error) => return Ok(answered(rpc_error(id_of(state, &body).as_deref(), &error))),
    };
    let ask = Ask { host, state, caller: &caller, agent, headers: &head.headers, from };
    if let Some(request) = rpc::read_one(&body, state) {
        return Ok(one(&ask, said, &request).await);
    }
    match rpc::split(&body, state) {
        Err(fault) => Ok(answered(rpc::answer(None, Err(fault)))),
        Ok(RpcBody::One(text)) => match rpc::read(text) {
            Ok(request) => Ok(one(&ask, said, &request).await),
            Err(fault) => Ok(answered(rpc::answer(None, Err(fault)))),
        },
        Ok(RpcBody::Batch(requests)) => Ok(batch(&ask, said, &requests).await),
    }
}

pub(super) fn no_such_agent() -> Refusal {
    Refusal::new(ErrorCode::NotFound, "there is no such agent; the extended agent card names them all")
}

fn id_of(state: &State, body: &[u8]) -> Option<Box<RawValue>> {
    let Ok(RpcBody::One(text)) = rpc::split(body, state) else { return None };
    rpc::read(text).ok()?.id.map(ToOwned::to_owned)
}

fn answered(body: Vec<u8>) -> Response {
    json_response(StatusCode::OK, body.into())
}

/// One request, which may open a stream.
async fn one<H: Host>(ask: &Ask<'_, H>, said: Option<Version>, request: &rpc::Request<'_>) -> Response {
    match Method::parse(&request.method, said) {
        Method::ChannelsStream => channels_stream(ask, request).await,
        Method::Core(name, dialect) if name.streams() => open(ask, name, dialect, request).await,
        method => match unary(ask, method, request).await {
            Some(body) => answered(body),
            None => StatusCode::NO_CONTENT.into_response(),
        },
    }
}

/// Opens a stream of a task. What goes wrong before it is open is an answer like any other.
async fn open<H: Host>(ask: &Ask<'_, H>, name: Name, dialect: Dialect, request: &rpc::Request<'_>) -> Response {
    let started = ask.state.metrics.start();
    let id = request.id.map_or_else(|| RawValue::NULL.to_owned(), ToOwned::to_owned);
    let outcome = ask.read_and_run(name, dialect, request.params.map(RawValue::get)).await;
    let code = outcome.as_ref().err().map(|error| counted(Kind::of(error)));
    ask.state.metrics.request(Transport::A2a, &request.method, code, started);
    match outcome {
        Ok(Outcome::Updates(updates)) => {
            stream::open(ask.state, ask.credential(), updates, StreamWriter::new(dialect), Framing::Rpc { id })
        }
        Ok(other) => answered(rpc_result(&id, |out| dialect.write(&other, out))),
        Err(error) => answered(rpc_error(Some(&id), &error)),
    }
}

async fn channels_stream<H: Host>(ask: &Ask<'_, H>, request: &rpc::Request<'_>) -> Response {
    let id = request.id.map_or_else(|| RawValue::NULL.to_owned(), ToOwned::to_owned);
    let opened = async {
        let params = request.params.map_or("{}", RawValue::get);
        let params = channels::parse(ask.state, params.as_bytes())?;
        let framing = channels::Framing::Rpc { id: id.clone() };
        channels::open(ask.state, ask.caller, params, ask.headers, ask.from, framing).await
    };
    match opened.await {
        Ok(response) => response,
        Err(refusal) => answered(rpc::answer(Some(&id), Err(Error::messaging(&refusal)))),
    }
}

/// The requests of a batch run in order, so that a later one can build on an earlier one.
async fn batch<H: Host>(ask: &Ask<'_, H>, said: Option<Version>, requests: &[&RawValue]) -> Response {
    let mut answers: Vec<u8> = Vec::new();
    for request in requests {
        let answer = match rpc::read(request.get()) {
            Ok(request) => unary(ask, Method::parse(&request.method, said), &request).await,
            Err(fault) => Some(rpc::answer(None, Err(fault))),
        };
        if let Some(answer) = answer {
            answers.push(if answers.is_empty() { b'[' } else { b',' });
            answers.extend_from_slice(&answer);
        }
    }
    if answers.is_empty() {
        return StatusCode::NO_CONTENT.into_response();
    }
    answers.push(b']');
    answered(answers)
}

/// A request with one answer; `None` for a notification, which gets none.
async fn unary<H: Host>(ask: &Ask<'_, H>, method: Method<'_>, request: &rpc::Request<'_>) -> Option<Vec<u8>> {
    let started = ask.state.metrics.start();
    let outcome = match method {
        Method::Channels(name) => channels_command(ask.state, ask.caller, name, request.params).await,
        Method::ChannelsStream => {
            Err(Fault::Messaging(Refusal::invalid("a stream cannot be opened inside of a batch")))
        }
        Method::Core(name, _) if name.streams() => {
            Err(Fault::A2a(A2AError::invalid_request("a stream cannot be opened inside of a batch")))
        }
        Method::Core(name, dialect) => {
            let outcome = ask.read_and_run(name, dialect, request.params.map(RawValue::get)).await;
            outcome.map(|outcome| Answer::Core(dialect, Box::new(outcome))).map_err(Fault::A2a)
        }
        Method::Unknown => Err(Fault::A2a(unknown_method(&request.method))),
    };
    let code = outcome.as_ref().err().map(Fault::code);
    ask.state.metrics.request(Transport::A2a, &request.method, code, started);
    let id = request.id?;
    Some(match outcome {
        Ok(Answer::Channels(result)) => rpc::answer::<Error>(Some(id), Ok(&result)),
        Ok(Answer::Core(dialect, outcome)) => rpc_result(id, |out| dialect.write(&outcome, out)),
        Err(Fault::A2a(error)) => rpc_error(Some(id), &error),
        Err(Fault::Messaging(refusal)) => rpc::answer(Some(id), Err(Error::messaging(&refusal))),
        Err(Fault::Rpc(fault)) => rpc::answer(Some(id), Err(fault)),
    })
}

fn unknown_method(method: &str) -> A2AError {
    let message = format!("there is no method {method:?} in the version that the request speaks; see A2A-Version");
    A2AError::new(a2a::error_code::METHOD_NOT_FOUND, message)
}

/// What came of a request, of A2A or of its extension.
enum Answer {
    Channels(Box<RawValue>),
    Core(Dialect, Box<Outcome>),
}

/// Why there is no result.
enum Fault {
    A2a(A2AError),
    Messaging(Refusal),
    Rpc(rpc::Fault),
}

impl Fault {
    fn code(&self) -> ErrorCode {
        match self {
            Self::A2a(error) => counted(Kind::of(error)),
            Self::Messaging(refusal) => refusal.code,
            Self::Rpc(fault) => fault.code(),
        }
    }
}

async fn channels_command(
    state: &State,
    caller: &Caller,
    name: &str,
    params: Option<&RawValue>,
) -> Result<Answer, Fault> {
    let params = match params.map(RawValue::get) {
        None | Some("null") => "{}",
        Some(params) => params,
    };
    let result = state.call(caller, name, params).await;
    result.map(Answer::Channels).map_err(|error| match error {
        CallError::UnknownMethod => Fault::Rpc(rpc::unknown_method()),
        CallError::Refused(refusal) => Fault::Messaging(refusal),
    })
}
