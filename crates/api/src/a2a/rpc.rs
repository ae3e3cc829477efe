//! `POST /a2a` and `POST /a2a/agents/{name}`: A2A over JSON-RPC, every version, and the messaging extension.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;

use a2a::A2AError;
use axum::body::Body;
use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use factum_a2a::{Dialect, Error, Kind, Method, Name, Outcome, StreamWriter, Version, not_here, refused};
use factum_model::json::Encoded;
use factum_model::peer::Transport::JsonRpc;
use factum_model::{ErrorCode, Refusal};
use factum_runtime::{CallError, Caller};
use http::{HeaderMap, StatusCode};
use serde_json::value::RawValue;

use super::answer::{rpc_error, rpc_result};
use super::ask::{Ask, activated, agent, echo, version};
use super::status::counted;
use super::stream::{self, Framing};
use super::{Host, OfRuntime};
use crate::body::AnyBody;
use crate::channels;
use crate::http::{RefusedBody, admit_with_body, json_response, peer, refused_rpc};
use crate::keyed::{IDEMPOTENCY_KEY, with_key};
use crate::metrics::Transport;
use crate::rpc::{self, Body as RpcBody};
use crate::said::Said;
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

/// The same for a plain request without a query, whose body is there within its bound.
pub(crate) async fn plain(
    state: &Arc<State>,
    (headers, said): (&HeaderMap, &Said),
    from: IpAddr,
    body: Bytes,
) -> Answered {
    let admitted = match state.admit_who(said, from).await {
        Ok(caller) => Ok((caller.over(JsonRpc), body)),
        Err(refusal) => Err(RefusedBody { refusal, body }),
    };
    pin!(answer(&OfRuntime, state, None, (headers, None), from, admitted)).await
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
    let admitted = admit_with_body(state, &head.headers, from, body).await;
    answer(host, state, name, (&head.headers, head.uri.query()), from, admitted).await.into_response()
}

/// Answers a request that was let in or was not. What is awaited here and below is pinned where it is made: it is some
/// kilobytes, and would be moved for each request.
async fn answer<H: Host>(
    host: &H,
    state: &Arc<State>,
    name: Option<&str>,
    (headers, query): (&HeaderMap, Option<&str>),
    from: IpAddr,
    admitted: Result<(Caller, Bytes), RefusedBody>,
) -> Answered {
    let said = version(headers, query);
    let answered = match &admitted {
        Ok((caller, body)) => match agent(state, name) {
            Some(agent) => {
                let agent_is_named = name.is_some();
                let ask = Ask { host, state, caller, agent, agent_is_named, headers, from };
                pin!(run(&ask, said, body)).await
            }
            None => not_found(rpc::refuse(body, state, |_| Error::from(&no_such_agent()))),
        },
        Err(RefusedBody { refusal, body }) => {
            let error = |request: Option<&rpc::Request<'_>>| at_the_door(request, refusal);
            Answered::Other(refused_rpc(rpc::refuse(body, state, error), refusal.clone()))
        }
    };
    answered.echoing(state, headers)
}

/// An answer. Nearly all are JSON and fine, and nothing else is said of them.
pub(crate) enum Answered {
    Json(Vec<u8>),
    Other(Response),
}

impl Answered {
    fn echoing(self, state: &State, asked: &HeaderMap) -> Self {
        let Some(activated) = activated(state, asked) else { return self };
        let mut response = self.into_response();
        echo(&activated, asked, response.headers_mut());
        Self::Other(response)
    }
}

impl IntoResponse for Answered {
    fn into_response(self) -> Response {
        match self {
            Self::Json(body) => json_response(StatusCode::OK, body.into()),
            Self::Other(response) => response,
        }
    }
}

async fn run<H: Host>(ask: &Ask<'_, H>, said: Result<Option<Version>, A2AError>, body: &[u8]) -> Answered {
    let said = match said {
        Ok(said) => said,
        Err(error) => return answered_or_not(rpc::refuse(body, ask.state, |_| Error::from(&error))),
    };
    let request = match rpc::read_one(body) {
        Some(request) => request,
        None => match rpc::split(body, ask.state) {
            Err(fault) => return Answered::Json(rpc_error(None, &unread(fault))),
            Ok(RpcBody::One(text)) => match rpc::read(text) {
                Ok(request) => request,
                Err(rpc::Unread { fault, id }) => return Answered::Json(rpc_error(id, &unread(fault))),
            },
            Ok(RpcBody::Batch(requests)) => return answered_or_not(Box::pin(batch(ask, said, &requests)).await),
        },
    };
    pin!(one(ask, said, &request)).await
}

/// What was refused before anything was asked: the extension's clients get its words, everybody else those of A2A.
fn at_the_door(request: Option<&rpc::Request<'_>>, refusal: &Refusal) -> Error {
    match request.map(|request| Method::parse(&request.method, None)) {
        Some(Method::Channels(_) | Method::ChannelsStream) => Error::messaging(refusal),
        _ => Error::from(&refused(refusal)),
    }
}

pub(super) fn no_such_agent() -> A2AError {
    not_here("there is no such agent; the extended agent card names them all")
}

fn not_found(body: Option<Vec<u8>>) -> Answered {
    let mut response = answered_or_not(body).into_response();
    *response.status_mut() = StatusCode::NOT_FOUND;
    Answered::Other(response)
}

/// What JSON-RPC says of a text that is no request, in the words of A2A.
fn unread(fault: rpc::Fault) -> A2AError {
    match fault.into_parts() {
        (number @ (rpc::PARSE_ERROR | rpc::INVALID_REQUEST), refusal) => A2AError::new(number, refusal.message),
        (_, refusal) => refused(&refusal),
    }
}

/// An answer, or nothing to say to notifications.
fn answered_or_not(body: Option<Vec<u8>>) -> Answered {
    body.map_or_else(|| Answered::Other(StatusCode::NO_CONTENT.into_response()), Answered::Json)
}

/// One request, which may open a stream.
async fn one<H: Host>(ask: &Ask<'_, H>, said: Option<Version>, request: &rpc::Request<'_>) -> Answered {
    // Streams are boxed: what is answered at once must not be as large as they are.
    match Method::parse(&request.method, said) {
        Method::ChannelsStream => match request.id {
            Some(id) => Box::pin(channels_stream(ask, id, request)).await,
            // Nobody would hear what it brings: a notification gets no answer.
            None => answered_or_not(None),
        },
        Method::Core(name, dialect) if name.streams() => Box::pin(open(ask, name, dialect, request)).await,
        method => answered_or_not(pin!(unary(ask, method, request)).await),
    }
}

/// Opens a stream of a task. What goes wrong before it is open is an answer like any other, and a notification, which gets no
/// answer, opens none: a message that comes as one is taken all the same.
async fn open<H: Host>(ask: &Ask<'_, H>, name: Name, dialect: Dialect, request: &rpc::Request<'_>) -> Answered {
    let started = ask.state.metrics.start();
    let outcome = ask.read_and_run(name, dialect, request.params.map(RawValue::get)).await;
    let code = outcome.as_ref().err().map(|error| counted(Kind::of(error)));
    ask.state.metrics.request(Transport::A2a, &request.method, code, started);
    let Some(id) = request.id else { return answered_or_not(None) };
    match outcome {
        Ok(Outcome::Updates(updates)) => {
            let framing = Framing::Rpc { id: id.to_owned() };
            let writer = StreamWriter::new(dialect);
            Answered::Other(stream::open(ask.state, ask.credential(), updates, writer, framing))
        }
        Ok(other) => Answered::Json(rpc_result(id, |out| dialect.write(&other, out))),
        Err(error) => Answered::Json(rpc_error(Some(id), &error)),
    }
}

async fn channels_stream<H: Host>(ask: &Ask<'_, H>, id: &RawValue, request: &rpc::Request<'_>) -> Answered {
    let started = ask.state.metrics.start();
    let opened = open_channel(ask, id, request.params).await;
    let code = opened.as_ref().err().map(Fault::code);
    ask.state.metrics.request(Transport::A2a, &request.method, code, started);
    opened.map_or_else(|fault| Answered::Json(fault.answer(id)), Answered::Other)
}

async fn open_channel<H: Host>(ask: &Ask<'_, H>, id: &RawValue, params: Option<&RawValue>) -> Result<Response, Fault> {
    ask.activates_what_is_required().map_err(Fault::A2a)?;
    let params = params.map_or("{}", RawValue::get);
    let params = channels::parse(ask.state, params.as_bytes()).map_err(Fault::Messaging)?;
    let framing = channels::Framing::Rpc { id: id.to_owned() };
    let opened = channels::open(ask.state, ask.caller, params, ask.headers, ask.from, framing).await;
    opened.map_err(Fault::Messaging)
}

/// The requests of a batch run in order, so that a later one can build on an earlier one. Each counts for the caller's rate;
/// the first did when the body was let in.
async fn batch<H: Host>(ask: &Ask<'_, H>, said: Option<Version>, requests: &[&RawValue]) -> Option<Vec<u8>> {
    let mut answers = rpc::Answers::default();
    // The header is one key, and one key is for one request: a second one that says something else would be a conflict.
    let mut headers = ask.headers.clone();
    headers.remove(&IDEMPOTENCY_KEY);
    let ask = &Ask { headers: &headers, ..*ask };
    for (at, request) in requests.iter().enumerate() {
        let rate = if at == 0 { Ok(()) } else { ask.state.check_rate(ask.caller) };
        answers.push(match (rate, rpc::read(request.get())) {
            (Err(refusal), _) => rpc::refuse_one(request.get(), |request| at_the_door(request, &refusal)),
            (Ok(()), Ok(request)) => unary(ask, Method::parse(&request.method, said), &request).await,
            (Ok(()), Err(rpc::Unread { fault, id })) => Some(rpc_error(id, &unread(fault))),
        });
    }
    answers.done()
}

/// A request with one answer; `None` for a notification, which gets none.
async fn unary<H: Host>(ask: &Ask<'_, H>, method: Method<'_>, request: &rpc::Request<'_>) -> Option<Vec<u8>> {
    let started = ask.state.metrics.start();
    let outcome = match method {
        Method::Channels(name) => Box::pin(channels_command(ask, name, request.params)).await,
        Method::ChannelsStream => ask
            .activates_what_is_required()
            .map_err(Fault::A2a)
            .and_then(|()| Err(Fault::Messaging(Refusal::invalid("a stream cannot be opened inside of a batch")))),
        Method::Core(name, _) if name.streams() => {
            Err(Fault::A2a(A2AError::invalid_request("a stream cannot be opened inside of a batch")))
        }
        Method::Core(name, dialect) => {
            let outcome = pin!(ask.read_and_run(name, dialect, request.params.map(RawValue::get))).await;
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
        Err(fault) => fault.answer(id),
    })
}

fn unknown_method(method: &str) -> A2AError {
    let message = format!("there is no method {method:?} in the version that the request speaks; see A2A-Version");
    A2AError::new(a2a::error_code::METHOD_NOT_FOUND, message)
}

/// What came of a request, of A2A or of its extension.
enum Answer {
    Channels(Encoded),
    Core(Dialect, Box<Outcome>),
}

/// Why there is no result.
enum Fault {
    A2a(A2AError),
    Messaging(Refusal),
}

impl Fault {
    fn code(&self) -> ErrorCode {
        match self {
            Self::A2a(error) => counted(Kind::of(error)),
            Self::Messaging(refusal) => refusal.code,
        }
    }

    fn answer(&self, id: &RawValue) -> Vec<u8> {
        match self {
            Self::A2a(error) => rpc_error(Some(id), error),
            Self::Messaging(refusal) => rpc::answer(Some(id), Err(Error::messaging(refusal))),
        }
    }
}

async fn channels_command<H: Host>(ask: &Ask<'_, H>, name: &str, params: Option<&RawValue>) -> Result<Answer, Fault> {
    ask.activates_what_is_required().map_err(Fault::A2a)?;
    // Null is none by now.
    let params = params.map_or("{}", RawValue::get);
    let params = with_key(ask.headers, params).map_err(Fault::Messaging)?;
    let result = ask.state.call(ask.caller, name, &params).await;
    result.map(Answer::Channels).map_err(|error| match error {
        CallError::UnknownMethod => Fault::A2a(unknown_method(name)),
        CallError::Refused(refusal) => Fault::Messaging(refusal),
    })
}
