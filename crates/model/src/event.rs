//! The event envelope: what every fact carries, whatever it says.
//!
//! An event is encoded to JSON once, at commit, and those bytes are stored, hashed and sent. The encoding below is
//! written by hand: most of an event is ids, which are known to need no escaping, and this is the path of every commit.
//! Its shape is WIRE.md's.

use std::cell::RefCell;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::events::Fact;
use crate::id::*;
use crate::json;

/// The version of the envelope and of all payloads. Grows when a reader has to know.
pub const SCHEMA_VERSION: &str = "factum-1";

/// What an event usually takes, encoded.
pub const ENCODED_BYTES: usize = 640;

/// One recorded fact.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub event_id: EventId,
    pub timestamp: Timestamp,
    pub sequence: u64,
    pub schema_version: Arc<str>,
    pub runtime_id: RuntimeId,
    pub scope: Scope,
    pub trace: Trace,
    pub fact: Fact,
    /// References to large or owned external facts, by name.
    pub refs: Map<String, Value>,
}

/// What a fact wants to say before it has a number and a time.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    pub scope: Scope,
    pub fact: Fact,
    pub refs: Map<String, Value>,
}

impl NewEvent {
    pub fn new(scope: Scope, fact: impl Into<Fact>) -> Self {
        Self { scope, fact: fact.into(), refs: Map::new() }
    }
}

macro_rules! scope {
    ($($field:ident: $id:ident,)*) => {
        /// Which things a fact is about. Absent where not applicable.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
        #[schemars(rename = "EventScope")]
        pub struct Scope {
            $(#[serde(default, skip_serializing_if = "Option::is_none")] pub $field: Option<$id>,)*
        }

        impl Scope {
            /// The names of the envelope's id fields, in order.
            pub const FIELDS: &'static [&'static str] = &[$(stringify!($field)),*];

            $(
                /// The same scope, also about this.
                pub fn $field(mut self, id: &$id) -> Self {
                    self.$field = Some(id.clone());
                    self
                }
            )*

            fn encode_into(&self, out: &mut Vec<u8>) {
                $(if let Some(id) = &self.$field {
                    put_plain(out, concat!(",\"", stringify!($field), "\":"), id.as_str());
                })*
            }
        }

        #[derive(Deserialize)]
        struct Wire<'a> {
            r#type: std::borrow::Cow<'a, str>,
            event_id: EventId,
            timestamp: Timestamp,
            sequence: u64,
            schema_version: std::borrow::Cow<'a, str>,
            runtime_id: RuntimeId,
            $($field: Option<$id>,)*
            trace_id: Option<Arc<str>>,
            span_id: Option<Arc<str>>,
            #[serde(borrow)]
            payload: &'a RawValue,
            #[serde(default)]
            refs: Map<String, Value>,
        }

        impl Wire<'_> {
            fn into_event(self) -> Result<Event, serde_json::Error> {
                Ok(Event {
                    fact: Fact::decode(&self.r#type, self.payload.get())?,
                    event_id: self.event_id,
                    timestamp: self.timestamp,
                    sequence: self.sequence,
                    schema_version: shared_version(&self.schema_version),
                    runtime_id: self.runtime_id,
                    scope: Scope { $($field: self.$field,)* },
                    trace: Trace { trace_id: self.trace_id, span_id: self.span_id },
                    refs: self.refs,
                })
            }
        }
    };
}

scope! {
    session_id: SessionId,
    thread_id: ThreadId,
    turn_id: TurnId,
    task_id: TaskId,
    run_id: RunId,
    attempt_id: AttemptId,
    step_id: StepId,
    tool_call_id: ToolCallId,
    action_id: ActionId,
    subagent_id: SubagentId,
    artifact_id: ArtifactId,
    evidence_id: EvidenceId,
    process_id: ProcessId,
    channel_id: ChannelId,
    job_id: JobId,
    job_item_id: JobItemId,
    model_request_id: ModelRequestId,
}

/// W3C trace context, where the caller gave one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    pub trace_id: Option<Arc<str>>,
    pub span_id: Option<Arc<str>>,
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let custom = |error| serde::ser::Error::custom(error);
        let bytes = self.encode().map_err(custom)?;
        serde_json::from_slice::<&RawValue>(&bytes).map_err(custom)?.serialize(serializer)
    }
}

impl Event {
    /// Reads an event as it was stored.
    pub fn decode(bytes: &[u8]) -> Result<Event, serde_json::Error> {
        serde_json::from_slice::<Wire<'_>>(bytes)?.into_event()
    }

    /// The bytes that are stored, hashed and sent.
    pub fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = Vec::with_capacity(ENCODED_BYTES);
        self.encode_into(&mut bytes)?;
        Ok(bytes)
    }

    /// Appends those bytes to `out`.
    pub fn encode_into(&self, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        put_plain(out, "{\"type\":", self.fact.type_name());
        put_plain(out, ",\"event_id\":", self.event_id.as_str());
        put_timestamp(out, ",\"timestamp\":", self.timestamp);
        out.extend_from_slice(b",\"sequence\":");
        json::put(out, &self.sequence)?;
        put_text(out, ",\"schema_version\":", &self.schema_version);
        put_plain(out, ",\"runtime_id\":", self.runtime_id.as_str());
        self.scope.encode_into(out);
        if let Some(trace_id) = &self.trace.trace_id {
            put_text(out, ",\"trace_id\":", trace_id);
        }
        if let Some(span_id) = &self.trace.span_id {
            put_text(out, ",\"span_id\":", span_id);
        }
        out.extend_from_slice(b",\"payload\":");
        json::put(out, &self.fact.payload())?;
        if !self.refs.is_empty() {
            out.extend_from_slice(b",\"refs\":");
            json::put(out, &self.refs)?;
        }
        out.push(b'}');
        Ok(())
    }
}

/// Appends a name and a text that needs no escaping: an id, or a name of ours.
#[inline]
fn put_plain(out: &mut Vec<u8>, name: &str, text: &str) {
    out.extend_from_slice(name.as_bytes());
    json::put_plain(out, text);
}

/// Appends a name and a time. The events of a commit have the same one, and spelling it was a fifth of writing an event.
fn put_timestamp(out: &mut Vec<u8>, name: &str, timestamp: Timestamp) {
    thread_local! { static LAST: RefCell<(Timestamp, String)> = RefCell::default(); }
    LAST.with_borrow_mut(|(last, text)| {
        if *last != timestamp || text.is_empty() {
            (*last, *text) = (timestamp, timestamp.to_string());
        }
        put_plain(out, name, text);
    });
}

fn put_text(out: &mut Vec<u8>, name: &str, text: &str) {
    out.extend_from_slice(name.as_bytes());
    json::put_text(out, text);
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Event::decode(raw.get().as_bytes()).map_err(serde::de::Error::custom)
    }
}

fn shared_version(text: &str) -> Arc<str> {
    thread_local! { static CURRENT: Arc<str> = Arc::from(SCHEMA_VERSION); }
    if text == SCHEMA_VERSION { CURRENT.with(Arc::clone) } else { text.into() }
}
