//! The event envelope: what every fact carries, whatever it says.
//!
//! An event is encoded to JSON once, at commit, and those bytes are stored, hashed and sent. The encoding below is
//! written by hand: most of an event is ids, which are known to need no escaping, and this is the path of every commit.
//! Its shape is WIRE.md's.

use std::ops::Range;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::events::Fact;
use crate::id::*;
use crate::{json, time};

/// The version of the envelope and of all payloads. Grows when a reader has to know.
pub const SCHEMA_VERSION: &str = "factum-1";

/// What an event usually takes, encoded.
const ENCODED_BYTES: usize = 640;

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

            /// The ids, each behind the end of the text before it, without an end of their own.
            fn encode_into(&self, out: &mut Vec<u8>) {
                $(if let Some(id) = &self.$field {
                    put(out, concat!("\",\"", stringify!($field), "\":\""), id.as_str());
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
        let mut encoder = Encoder::with_room_for(1);
        encoder.put(self)?;
        Ok(encoder.into_bytes())
    }
}

/// Encodes the events of a commit, one behind the other.
///
/// Most of their envelopes is the same: what an event has in common with the one before is copied from there.
pub struct Encoder<'a> {
    out: Vec<u8>,
    last: Option<Last<'a>>,
}

/// The event before, and where the parts of it stand that are not its own alone.
struct Last<'a> {
    event: &'a Event,
    time: Range<usize>,
    origin: Range<usize>,
    scope: Range<usize>,
}

impl<'a> Encoder<'a> {
    /// Room for this many events of the usual size, so that they are written without moving.
    pub fn with_room_for(events: usize) -> Self {
        Self { out: Vec::with_capacity(events * ENCODED_BYTES), last: None }
    }

    /// Appends an event. Where that fails, part of it may stand there.
    pub fn put(&mut self, event: &'a Event) -> Result<(), serde_json::Error> {
        let last = self.last.take();
        let out = &mut self.out;
        put(out, "{\"type\":\"", event.fact.type_name());
        put(out, "\",\"event_id\":\"", event.event_id.as_str());
        let same = last.as_ref().filter(|last| last.event.timestamp == event.timestamp);
        let time = part(out, same.map(|last| &last.time), |out| {
            time::spelled(event.timestamp, |text| put(out, "\",\"timestamp\":\"", text));
            out.extend_from_slice(b"\",\"sequence\":");
        });
        json::put(out, &event.sequence)?;
        let same = last.as_ref().filter(|last| last.event.has_origin_of(event));
        let origin = part(out, same.map(|last| &last.origin), |out| {
            out.extend_from_slice(b",\"schema_version\":");
            json::put_text(out, &event.schema_version);
            put(out, ",\"runtime_id\":\"", event.runtime_id.as_str());
        });
        let same = last.as_ref().filter(|last| last.event.scope == event.scope);
        let scope = part(out, same.map(|last| &last.scope), |out| event.scope.encode_into(out));
        out.push(b'"');
        event.trace.encode_into(out);
        out.extend_from_slice(b",\"payload\":");
        json::put(out, &event.fact.payload())?;
        if !event.refs.is_empty() {
            out.extend_from_slice(b",\"refs\":");
            json::put(out, &event.refs)?;
        }
        out.push(b'}');
        self.last = Some(Last { event, time, origin, scope });
        Ok(())
    }

    /// Where the next event will begin.
    pub fn end(&self) -> usize {
        self.out.len()
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }
}

impl Event {
    fn has_origin_of(&self, other: &Event) -> bool {
        self.schema_version == other.schema_version && self.runtime_id == other.runtime_id
    }
}

impl Trace {
    fn encode_into(&self, out: &mut Vec<u8>) {
        if let Some(trace_id) = &self.trace_id {
            out.extend_from_slice(b",\"trace_id\":");
            json::put_text(out, trace_id);
        }
        if let Some(span_id) = &self.span_id {
            out.extend_from_slice(b",\"span_id\":");
            json::put_text(out, span_id);
        }
    }
}

/// Appends a part: a copy of what stands `there`, or else what `write` writes. Says where it stands now.
fn part(out: &mut Vec<u8>, there: Option<&Range<usize>>, write: impl FnOnce(&mut Vec<u8>)) -> Range<usize> {
    let start = out.len();
    match there {
        Some(there) => out.extend_from_within(there.clone()),
        None => write(out),
    }
    start..out.len()
}

/// Appends what stands before a text, which is the end of the one before, and a text that needs no escaping: an id, or a name
/// of ours. Its end comes with what stands behind it.
#[inline]
fn put(out: &mut Vec<u8>, before: &'static str, text: &str) {
    out.extend_from_slice(before.as_bytes());
    out.extend_from_slice(text.as_bytes());
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One of a few events that differ in what an envelope may share with the one before.
    fn events() -> impl Strategy<Value = Event> {
        let fact = Fact::samples().expect("samples parse").remove(0);
        let sample = Event::sample(fact).expect("a sample");
        let differences = (0..3i64, "[ab]", "[ab\"]", any::<[bool; 4]>(), 0..200u64);
        differences.prop_map(move |(second, runtime, version, [of_session, of_turn, of_job, is_traced], sequence)| {
            let mut event = sample.clone();
            event.timestamp = Timestamp::from_second(second).unwrap();
            event.sequence = sequence;
            event.schema_version = version.into();
            event.runtime_id = runtime.parse().unwrap();
            event.scope = Scope {
                session_id: of_session.then(|| "s".parse().unwrap()),
                turn_id: of_turn.then(|| "t".parse().unwrap()),
                job_id: of_job.then(|| "j".parse().unwrap()),
                ..Scope::default()
            };
            event.trace = Trace { trace_id: is_traced.then(|| "a\"b".into()), span_id: is_traced.then(|| "c".into()) };
            event
        })
    }

    proptest! {
        #[test]
        fn an_event_is_encoded_alike_alone_and_behind_others(events in proptest::collection::vec(events(), 1..6)) {
            let mut encoder = Encoder::with_room_for(0);
            let mut starts = vec![0];
            for event in &events {
                encoder.put(event).unwrap();
                starts.push(encoder.end());
            }
            let bytes = encoder.into_bytes();
            for (event, at) in events.iter().zip(starts.windows(2)) {
                let encoded = &bytes[at[0]..at[1]];
                prop_assert_eq!(encoded, event.encode().unwrap());
                prop_assert_eq!(&Event::decode(encoded).unwrap(), event);
            }
        }
    }
}
