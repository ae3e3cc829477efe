//! JSON-RPC 2.0: requests, batches and notifications as bytes in, bytes out. Which wire they came over is only counted here.

use std::borrow::Cow;

use factum_model::id::ChannelId;
use factum_model::{ErrorCode, Refusal};
use factum_runtime::{CallError, Caller};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::limits::check_depth;
use crate::metrics::Transport;
use crate::state::State;
use crate::status::rpc_code;

pub(crate) const PARSE_ERROR: i32 = -32700;
pub(crate) const INVALID_REQUEST: i32 = -32600;
pub(crate) const METHOD_NOT_FOUND: i32 = -32601;

/// One request. `id` tells an absent one (a notification) from `null`.
#[derive(Deserialize)]
pub(crate) struct Request<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) method: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) params: Option<&'a RawValue>,
    /// The remote channel the request comes through: what the header `Factum-Channel` is to plain HTTP.
    #[serde(default)]
    pub(crate) channel_id: Option<ChannelId>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) id: Option<&'a RawValue>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[derive(Serialize)]
struct Answer<'a, E> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<E>,
    id: Option<&'a RawValue>,
}

/// The error object of an answer.
#[derive(Serialize)]
pub(crate) struct Fault {
    code: i32,
    message: String,
    data: Box<Refusal>,
}

impl Fault {
    pub(crate) fn new(code: i32, refusal: Refusal) -> Self {
        Self { code, message: refusal.message.clone(), data: Box::new(refusal) }
    }

    /// What kind of refusal it is.
    pub(crate) fn code(&self) -> ErrorCode {
        self.data.code
    }
}

impl From<CallError> for Fault {
    fn from(error: CallError) -> Self {
        match error {
            CallError::UnknownMethod => unknown_method(),
            CallError::Refused(refusal) => Self::new(rpc_code(refusal.code), refusal),
        }
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        CallError::Refused(refusal).into()
    }
}

pub(crate) fn unknown_method() -> Fault {
    Fault::new(METHOD_NOT_FOUND, no_such_method())
}

/// What every transport says of a command that does not exist, in its own shape.
pub(crate) fn no_such_method() -> Refusal {
    let message = "there is no such method; GET /openapi.json or `factum call --list` names them all";
    Refusal::new(ErrorCode::NotFound, message)
}

pub(crate) fn parse_error(error: &serde_json::Error) -> Fault {
    Fault::new(PARSE_ERROR, Refusal::invalid(format!("this is not JSON: {error}")))
}

pub(crate) fn invalid_request(why: impl Into<String>) -> Fault {
    Fault::new(INVALID_REQUEST, Refusal::invalid(why))
}

/// An answer as bytes, with an error object of the protocol that is spoken.
pub(crate) fn answer<E: Serialize>(id: Option<&RawValue>, outcome: Result<&RawValue, E>) -> Vec<u8> {
    let (result, error) = match outcome {
        Ok(result) => (Some(result), None),
        Err(fault) => (None, Some(fault)),
    };
    let answer = Answer { jsonrpc: "2.0", result, error, id };
    // Every part is JSON already or a plain struct: writing it cannot fail.
    serde_json::to_vec(&answer).unwrap_or_default()
}

/// Reads one request out of a text that is JSON.
pub(crate) fn read(text: &str) -> Result<Request<'_>, Fault> {
    // A list of values in the order of the fields would be read as a request, too.
    if !text.starts_with('{') {
        return Err(invalid_request("a request must be an object"));
    }
    let request: Request<'_> = serde_json::from_str(text)
        .map_err(|error| invalid_request(format!("this is not a JSON-RPC request: {error}")))?;
    is_well_formed(&request)?;
    Ok(request)
}

/// Reads a body that is one request, in one pass over its bytes. `None` for everything else, which [`split`] and [`read`] tell
/// apart and explain.
pub(crate) fn read_one<'a>(bytes: &'a [u8], state: &State) -> Option<Request<'a>> {
    let is_object = bytes.trim_ascii_start().first() == Some(&b'{');
    if !is_object || check_depth(bytes, state.limits.json_depth_max).is_err() {
        return None;
    }
    let request: Request<'_> = serde_json::from_slice(bytes).ok()?;
    is_well_formed(&request).ok()?;
    Some(request)
}

fn is_well_formed(request: &Request<'_>) -> Result<(), Fault> {
    if request.jsonrpc.as_deref() != Some("2.0") {
        return Err(invalid_request("jsonrpc must be \"2.0\""));
    }
    if let Some(id) = request.id
        && !matches!(id.get().as_bytes().first(), Some(b'"' | b'-' | b'0'..=b'9' | b'n'))
    {
        return Err(invalid_request("id must be a string, a number or null"));
    }
    Ok(())
}

/// The params as the commands want them: an object, `{}` where absent.
pub(crate) fn params_of(params: Option<&RawValue>) -> Result<&str, Fault> {
    match params.map(RawValue::get) {
        None | Some("null") => Ok("{}"),
        Some(params) if params.starts_with('{') => Ok(params),
        Some(_) => Err(Refusal::invalid("params must be an object").into()),
    }
}

/// A body that may be one request or a batch.
pub(crate) enum Body<'a> {
    One(&'a str),
    Batch(Vec<&'a RawValue>),
}

/// Tells a batch from a single request; refuses what is not JSON, too deep, empty or too many.
pub(crate) fn split<'a>(bytes: &'a [u8], state: &State) -> Result<Body<'a>, Fault> {
    check_depth(bytes, state.limits.json_depth_max).map_err(|refusal| match refusal.code {
        ErrorCode::InvalidParams => Fault::new(INVALID_REQUEST, refusal),
        _ => refusal.into(),
    })?;
    let raw: &RawValue = serde_json::from_slice(bytes).map_err(|error| parse_error(&error))?;
    if !raw.get().starts_with('[') {
        return Ok(Body::One(raw.get()));
    }
    let requests: Vec<&RawValue> = serde_json::from_str(raw.get()).map_err(|error| parse_error(&error))?;
    if requests.is_empty() {
        return Err(invalid_request("a batch needs at least one request"));
    }
    if requests.len() > state.limits.batch_max {
        return Err(Refusal::limit("batch", requests.len() as u64, state.limits.batch_max as u64).into());
    }
    Ok(Body::Batch(requests))
}

/// Carries out one request. `None` for a notification, which gets no answer whatever happens.
pub(crate) async fn one(state: &State, transport: Transport, caller: &Caller, text: &str) -> Option<Vec<u8>> {
    let started = state.metrics.start();
    let request = match read(text) {
        Ok(request) => request,
        Err(fault) => return Some(answer(None, Err(fault))),
    };
    let outcome = match params_of(request.params) {
        Ok(params) => {
            let through = request.channel_id.map(|channel_id| caller.coming_through(channel_id));
            let caller = through.as_ref().unwrap_or(caller);
            state.call(caller, &request.method, params).await.map_err(Fault::from)
        }
        Err(fault) => Err(fault),
    };
    let code = outcome.as_ref().err().map(|fault| fault.data.code);
    state.metrics.request(transport, &request.method, code, started);
    let id = request.id?;
    Some(match outcome {
        Ok(result) => answer::<Fault>(Some(id), Ok(&result)),
        Err(fault) => answer(Some(id), Err(fault)),
    })
}

/// Carries out a body. The requests of a batch run in order, so that a later one can build on an earlier one.
pub(crate) async fn body(state: &State, transport: Transport, caller: &Caller, bytes: &[u8]) -> Option<Vec<u8>> {
    match split(bytes, state) {
        Err(fault) => Some(answer(None, Err(fault))),
        Ok(Body::One(text)) => one(state, transport, caller, text).await,
        Ok(Body::Batch(requests)) => {
            let mut answers: Vec<u8> = Vec::new();
            for request in requests {
                if let Some(answer) = one(state, transport, caller, request.get()).await {
                    answers.push(if answers.is_empty() { b'[' } else { b',' });
                    answers.extend_from_slice(&answer);
                }
            }
            if answers.is_empty() {
                return None;
            }
            answers.push(b']');
            Some(answers)
        }
    }
}
