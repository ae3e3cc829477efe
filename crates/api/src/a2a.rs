//! `POST /a2a`, A2A over JSON-RPC, and the agent card. What the words mean is in `factum_a2a`; here they meet HTTP.

#[allow(dead_code, reason = "the bindings that use it are being written")]
mod service;

use std::hash::Hasher;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use factum_a2a::{Card, Error, Extensions, Form, Method, Skill, Version};
use factum_model::{ErrorCode, Refusal};
use factum_runtime::{CallError, Caller};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use rustc_hash::FxHasher;
use serde_json::value::RawValue;

use crate::channels::{self, Framing};
use crate::http::{AnyBody, json_response, peer, read_body};
use crate::metrics::Transport;
use crate::problem::Problem;
use crate::rpc::{self, Body as RpcBody};
use crate::state::State;
use crate::status::http_status;

/// `POST /a2a`.
pub(crate) async fn routed(Extract(state): Extract<Arc<State>>, request: http::Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    endpoint(&state, &head, peer(&head), body).await
}

/// The same, for requests that did not come through the router.
pub(crate) async fn endpoint(
    state: &Arc<State>,
    head: &http::request::Parts,
    from: std::net::IpAddr,
    body: impl AnyBody,
) -> Response {
    let mut response = match run(state, head, from, body).await {
        Ok(response) => response,
        Err(refusal) => refused(refusal),
    };
    let said = Extensions::HEADERS.iter().filter_map(|name| head.headers.get(*name)?.to_str().ok());
    if let Some(activated) = Extensions::parse(said).activated() {
        response.headers_mut().insert("a2a-extensions", HeaderValue::from_static(activated));
    }
    response
}

/// What was refused before anything was asked: HTTP's status, and JSON-RPC's body.
fn refused(refusal: Refusal) -> Response {
    let status = StatusCode::from_u16(http_status(refusal.code)).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json_response(status, rpc::answer(None, Err(Error::messaging(&refusal))).into());
    for (name, value) in Problem(refusal).into_response().headers() {
        if !matches!(*name, header::CONTENT_TYPE | header::CONTENT_LENGTH) {
            response.headers_mut().insert(name.clone(), value.clone());
        }
    }
    response
}

async fn run(
    state: &Arc<State>,
    head: &http::request::Parts,
    from: std::net::IpAddr,
    body: impl AnyBody,
) -> Result<Response, Refusal> {
    let caller = state.admit(&head.headers, from).await?;
    let body = read_body(state, body).await?;
    if let Err(error) = version(head) {
        return Ok(answered(rpc::answer(id_of(state, &body).as_deref(), Err(error))));
    }
    match rpc::split(&body, state) {
        Err(fault) => Ok(answered(rpc::answer(None, Err(fault)))),
        Ok(RpcBody::One(text)) => Ok(one(state, &caller, head, from, text).await),
        Ok(RpcBody::Batch(requests)) => Ok(batch(state, &caller, &requests).await),
    }
}

/// The header, or the query parameter of the same name.
fn version(head: &http::request::Parts) -> Result<Version, Error> {
    let said = head.headers.get(Version::HEADER).map(|value| value.to_str().unwrap_or("?"));
    let query = head.uri.query().unwrap_or_default().split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.eq_ignore_ascii_case(Version::HEADER).then_some(value)
    });
    Version::parse(said.or(query))
}

fn id_of(state: &State, body: &[u8]) -> Option<Box<RawValue>> {
    let Ok(RpcBody::One(text)) = rpc::split(body, state) else { return None };
    rpc::read(text).ok()?.id.map(ToOwned::to_owned)
}

fn answered(body: Vec<u8>) -> Response {
    json_response(StatusCode::OK, body.into())
}

/// One request, which may open a stream.
async fn one(
    state: &Arc<State>,
    caller: &Caller,
    head: &http::request::Parts,
    from: std::net::IpAddr,
    text: &str,
) -> Response {
    let request = match rpc::read(text) {
        Ok(request) => request,
        Err(fault) => return answered(rpc::answer(None, Err(fault))),
    };
    if Method::parse(&request.method) != Method::ChannelsStream {
        return match unary(state, caller, &request).await {
            Some(body) => answered(body),
            None => StatusCode::NO_CONTENT.into_response(),
        };
    }
    let id = request.id.map_or_else(|| RawValue::NULL.to_owned(), ToOwned::to_owned);
    let opened = async {
        let params = request.params.map_or("{}", RawValue::get);
        let params = channels::parse(state, params.as_bytes())?;
        channels::open(state, caller, params, &head.headers, from, Framing::Rpc { id: id.clone() }).await
    };
    match opened.await {
        Ok(response) => response,
        Err(refusal) => answered(rpc::answer(Some(&id), Err(Error::messaging(&refusal)))),
    }
}

async fn batch(state: &Arc<State>, caller: &Caller, requests: &[&RawValue]) -> Response {
    let mut answers: Vec<u8> = Vec::new();
    for request in requests {
        let answer = match rpc::read(request.get()) {
            Ok(request) => unary(state, caller, &request).await,
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
async fn unary(state: &State, caller: &Caller, request: &rpc::Request<'_>) -> Option<Vec<u8>> {
    let started = state.metrics.start();
    let outcome = match Method::parse(&request.method) {
        Method::Channels(name) => channels_command(state, caller, name, request.params).await,
        Method::ChannelsStream => {
            Err(A2aFault::Error(Error::messaging(&Refusal::invalid("a stream cannot be opened inside of a batch"))))
        }
        Method::Core(name) => Err(A2aFault::Error(Error::unsupported(name))),
        Method::Unknown => Err(A2aFault::Rpc(rpc::unknown_method())),
    };
    let code = outcome.as_ref().err().map(A2aFault::code);
    state.metrics.request(Transport::A2a, &request.method, code, started);
    let id = request.id?;
    Some(match outcome {
        Ok(result) => rpc::answer::<Error>(Some(id), Ok(&result)),
        Err(A2aFault::Error(error)) => rpc::answer(Some(id), Err(error)),
        Err(A2aFault::Rpc(fault)) => rpc::answer(Some(id), Err(fault)),
    })
}

/// Why there is no result.
enum A2aFault {
    Error(Error),
    Rpc(rpc::Fault),
}

impl A2aFault {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Error(error) => {
                let code = error.data.get("code").and_then(serde_json::Value::as_str);
                ErrorCode::ALL.into_iter().find(|known| Some(known.as_str()) == code).unwrap_or(ErrorCode::Unavailable)
            }
            Self::Rpc(fault) => fault.code(),
        }
    }
}

async fn channels_command(
    state: &State,
    caller: &Caller,
    name: &str,
    params: Option<&RawValue>,
) -> Result<Box<RawValue>, A2aFault> {
    let params = match params.map(RawValue::get) {
        None | Some("null") => "{}",
        Some(params) => params,
    };
    state.call(caller, name, params).await.map_err(|error| match error {
        CallError::UnknownMethod => A2aFault::Rpc(rpc::unknown_method()),
        CallError::Refused(refusal) => A2aFault::Error(Error::messaging(&refusal)),
    })
}

/// `GET /.well-known/agent-card.json`: 1.0 for who asks for it, both 1.0 and 0.3 in one for everybody else.
pub(crate) async fn card(Extract(state): Extract<Arc<State>>, request: http::Request<Body>) -> Response {
    let (head, _) = request.into_parts();
    let form = version(&head).map_or(Form::V0_3, Form::from);
    card_response(&state, &head.headers, form)
}

/// `GET /.well-known/agent.json`: the card of April 2025.
pub(crate) async fn card_of_april_2025(Extract(state): Extract<Arc<State>>, headers: HeaderMap) -> Response {
    card_response(&state, &headers, Form::April2025)
}

fn card_response(state: &State, headers: &HeaderMap, form: Form) -> Response {
    if let Err(refusal) = state.check_origin(headers) {
        return Problem(refusal).into_response();
    }
    let agents = state.runtime.agents();
    let skill = |name: &str| {
        let description = agents.get(name).map_or_else(String::new, |agent| agent.description.clone());
        Skill { id: name.to_owned(), description }
    };
    let name = agents.default_name();
    let card = Card {
        name: name.to_owned(),
        description: skill(name).description,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        base_url: base_url(state, headers),
        skills: agents.names().map(skill).collect(),
        secured: !state.dev,
    };
    let body = Bytes::from(card.to_json(form).to_string());
    let etag = format!("\"{:016x}\"", fingerprint(&body));
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|value| value.as_bytes() == etag.as_bytes());
    let mut response =
        if known { StatusCode::NOT_MODIFIED.into_response() } else { json_response(StatusCode::OK, body) };
    let answer = response.headers_mut();
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        answer.insert(header::ETAG, etag);
    }
    answer.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=60"));
    answer.insert(header::VARY, HeaderValue::from_static("A2A-Version, Host"));
    response
}

/// Where clients reach this server: what the operator says, else where this one did.
fn base_url(state: &State, headers: &HeaderMap) -> String {
    if let Some(url) = &state.public_url {
        return url.trim_end_matches('/').to_owned();
    }
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    format!("http://{host}")
}

/// Only to tell one card from another.
fn fingerprint(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}
