//! The event envelope: what every fact carries, whatever it says.
//!
//! An event is encoded to JSON once, at commit, and those bytes are stored, hashed and sent. The encoding below is
//! written by hand so that an absent id costs nothing; its shape is WIRE.md's.

use std::sync::Arc;

use jiff::Timestamp;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::events::Fact;
use crate::id::*;

/// The version of the envelope and of all payloads. Grows when a reader has to know.
pub const SCHEMA_VERSION: &str = "factum-1";

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

            fn count(&self) -> usize {
                0 $(+ usize::from(self.$field.is_some()))*
            }

            fn serialize_into<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                $(if let Some(id) = &self.$field { map.serialize_entry(stringify!($field), id)?; })*
                Ok(())
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
        let mut map = serializer.serialize_map(Some(7 + self.scope.count()))?;
        map.serialize_entry("type", self.fact.type_name())?;
        map.serialize_entry("event_id", &self.event_id)?;
        map.serialize_entry("timestamp", &self.timestamp)?;
        map.serialize_entry("sequence", &self.sequence)?;
        map.serialize_entry("schema_version", &self.schema_version)?;
        map.serialize_entry("runtime_id", &self.runtime_id)?;
        self.scope.serialize_into(&mut map)?;
        if let Some(trace_id) = &self.trace.trace_id {
            map.serialize_entry("trace_id", trace_id)?;
        }
        if let Some(span_id) = &self.trace.span_id {
            map.serialize_entry("span_id", span_id)?;
        }
        map.serialize_entry("payload", &self.fact.payload())?;
        if !self.refs.is_empty() {
            map.serialize_entry("refs", &self.refs)?;
        }
        map.end()
    }
}

impl Event {
    /// Reads an event as it was stored.
    pub fn decode(bytes: &[u8]) -> Result<Event, serde_json::Error> {
        serde_json::from_slice::<Wire<'_>>(bytes)?.into_event()
    }

    /// The bytes that are stored, hashed and sent.
    pub fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = Vec::with_capacity(512);
        serde_json::to_writer(&mut bytes, self)?;
        Ok(bytes)
    }
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
