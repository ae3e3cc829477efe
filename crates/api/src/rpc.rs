//! JSON-RPC 2.0: requests, batches and notifications as bytes in, bytes out. Which wire they came over is only counted here.

use std::borrow::Cow;

use factum_model::id::ChannelId;
use factum_model::json::{self, Encoded};
use factum_model::{ErrorCode, Refusal};
use factum_runtime::{CallError, Caller};
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::metrics::Transport;
use crate::state::State;
use crate::status::rpc_code;

/// Room for what stands around a result, and for most errors.
const AROUND_BYTES: usize = 96;
const ERROR_BYTES: usize = 416;

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

    /// Its number, and what is refused.
    pub(crate) fn into_parts(self) -> (i32, Refusal) {
        (self.code, *self.data)
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
pub(crate) fn answer<E: Serialize>(id: Option<&RawValue>, outcome: Result<&Encoded, E>) -> Vec<u8> {
    let room = outcome.as_ref().map_or(ERROR_BYTES, |result| result.get().len());
    let mut text = Vec::with_capacity(AROUND_BYTES + room);
    text.extend_from_slice(b"{\"jsonrpc\":\"2.0\",");
    match outcome {
        Ok(result) => {
            text.extend_from_slice(b"\"result\":");
            text.extend_from_slice(result.get().as_bytes());
        }
        Err(fault) => {
            text.extend_from_slice(b"\"error\":");
            // An error is a plain struct: writing it cannot fail.
            let _ = json::put(&mut text, &fault);
        }
    }
    text.extend_from_slice(b",\"id\":");
    text.extend_from_slice(id.map_or("null", RawValue::get).as_bytes());
    text.push(b'}');
    text
}

/// A text that is no request: why not, and its id as far as one can be read, so that its sender knows what is answered.
pub(crate) struct Unread<'a> {
    pub(crate) fault: Fault,
    pub(crate) id: Option<&'a RawValue>,
}

/// Reads one request out of a text that is JSON. Its params are not looked into: how deep they may be is asked where they are
/// read, so that it is the same however they came.
pub(crate) fn read(text: &str) -> Result<Request<'_>, Unread<'_>> {
    // A list of values in the order of the fields would be read as a request, too.
    if !text.starts_with('{') {
        return Err(Unread { fault: invalid_request("a request must be an object"), id: None });
    }
    let unread = |fault| Unread { fault, id: id_in(text) };
    let request: Request<'_> = serde_json::from_str(text)
        .map_err(|error| unread(invalid_request(format!("this is not a JSON-RPC request: {error}"))))?;
    is_well_formed(&request).map_err(unread)?;
    Ok(request)
}

/// The id of an object that is no request.
fn id_in(text: &str) -> Option<&RawValue> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow, default)]
        id: Option<&'a RawValue>,
    }
    serde_json::from_str::<Named<'_>>(text).ok()?.id.filter(|id| is_id(id))
}

/// Reads a body that is one request, in one pass over its bytes. `None` for everything else, which [`split`] and [`read`] tell
/// apart and explain.
pub(crate) fn read_one(bytes: &[u8]) -> Option<Request<'_>> {
    if bytes.trim_ascii_start().first() != Some(&b'{') {
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
    if request.id.is_some_and(|id| !is_id(id)) {
        return Err(invalid_request("id must be a string, a number or null"));
    }
    Ok(())
}

fn is_id(id: &RawValue) -> bool {
    matches!(id.get().as_bytes().first(), Some(b'"' | b'-' | b'0'..=b'9' | b'n'))
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

/// Tells a batch from a single request; refuses what is not JSON, empty or too many. Nothing here descends into what it reads,
/// however deep that is.
pub(crate) fn split<'a>(bytes: &'a [u8], state: &State) -> Result<Body<'a>, Fault> {
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
        Err(Unread { fault, id }) => return Some(answer(id, Err(fault))),
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

/// Carries out a body whose first request was let in. The requests of a batch run in order, so that a later one can build on
/// an earlier one, and each counts: what is over the caller's rate is refused in its own place.
pub(crate) async fn body(state: &State, transport: Transport, caller: &Caller, bytes: &[u8]) -> Option<Vec<u8>> {
    let requests = match split(bytes, state) {
        Err(fault) => return Some(answer(None, Err(fault))),
        Ok(Body::One(text)) => return one(state, transport, caller, text).await,
        Ok(Body::Batch(requests)) => requests,
    };
    let mut answers = Answers::default();
    for (at, request) in requests.into_iter().enumerate() {
        let rate = if at == 0 { Ok(()) } else { state.check_rate(caller) };
        answers.push(match rate {
            Ok(()) => one(state, transport, caller, request.get()).await,
            Err(refusal) => refuse_one(request.get(), |_| Fault::from(refusal)),
        });
    }
    answers.done()
}

/// Answers a body of which nothing is carried out: each of its requests gets the error that `error` makes of it, and a
/// notification gets none. Where no request can be read there is one error, for nobody in particular.
pub(crate) fn refuse<E: Serialize>(
    bytes: &[u8],
    state: &State,
    error: impl Fn(Option<&Request<'_>>) -> E,
) -> Option<Vec<u8>> {
    match split(bytes, state) {
        Err(_) => Some(match beginning(bytes) {
            Some(request) => answer(request.id, Err(error(Some(&request)))),
            None => answer(None, Err(error(None))),
        }),
        Ok(Body::One(text)) => refuse_one(text, error),
        Ok(Body::Batch(requests)) => {
            let mut answers = Answers::default();
            requests.into_iter().for_each(|request| answers.push(refuse_one(request.get(), &error)));
            answers.done()
        }
    }
}

/// What a request says of itself that is not there to its end: whose answer it waits for, and what it asks, where that stands
/// before the end.
fn beginning(bytes: &[u8]) -> Option<Request<'_>> {
    let mut request = Request { jsonrpc: None, method: "".into(), params: None, channel_id: None, id: None };
    // It fails at the end that is missing; what was read by then is read.
    let _ = Beginning(&mut request).deserialize(&mut serde_json::Deserializer::from_slice(bytes));
    (request.id.is_some() || !request.method.is_empty()).then_some(request)
}

/// Reads fields into a request as they come.
struct Beginning<'r, 'de>(&'r mut Request<'de>);

impl<'de> DeserializeSeed<'de> for Beginning<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Beginning<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a request")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            match name.as_ref() {
                "id" => self.0.id = Some(map.next_value()?),
                "method" => self.0.method = map.next_value()?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// The same for one request.
pub(crate) fn refuse_one<E: Serialize>(text: &str, error: impl FnOnce(Option<&Request<'_>>) -> E) -> Option<Vec<u8>> {
    match read(text) {
        Ok(request) => request.id.map(|id| answer(Some(id), Err(error(Some(&request))))),
        Err(unread) => Some(answer(unread.id, Err(error(None)))),
    }
}

/// The answers to a batch, as they come together.
#[derive(Default)]
pub(crate) struct Answers(Vec<u8>);

impl Answers {
    pub(crate) fn push(&mut self, answer: Option<Vec<u8>>) {
        if let Some(answer) = answer {
            self.0.push(if self.0.is_empty() { b'[' } else { b',' });
            self.0.extend_from_slice(&answer);
        }
    }

    /// `None` where all were notifications.
    pub(crate) fn done(mut self) -> Option<Vec<u8>> {
        if self.0.is_empty() {
            return None;
        }
        self.0.push(b']');
        Some(self.0)
    }
}
