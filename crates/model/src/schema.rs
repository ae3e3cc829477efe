//! JSON Schema documents (2020-12) made from the registry: what `/schemas/*`, `/openapi.json` and the reference show.
//!
//! Each document stands alone, with what it refers to in its `$defs`. Addresses are not here: `$id` is added by whoever
//! knows where a document is served.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::commands::COMMANDS;
use crate::event::Scope;
use crate::events::{EVENTS, EventInfo};
use crate::messaging::{StreamChannel, StreamEnvelope};
use crate::registry::CommandInfo;

/// The dialect every document is written in.
pub const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Where every event refers to for what it shares with the others.
const ENVELOPE: &str = "Envelope";

/// What a command takes and gives, each a document of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommandSchema {
    pub params: Value,
    pub result: Value,
}

/// The schema of events of one class, envelope and payload.
pub fn event_schema(type_name: &str) -> Option<Value> {
    let info = EVENTS.iter().find(|info| info.type_name == type_name)?;
    let mut generator = generator();
    let body = event_body(info, &mut generator);
    Some(document(type_name, body, definitions_with_envelope(generator)))
}

/// The schemas of a command's params and result.
pub fn command_schema(name: &str) -> Option<CommandSchema> {
    let info = COMMANDS.iter().find(|info| info.name == name)?;
    Some(CommandSchema {
        params: command_document(&format!("{name} params"), info.params),
        result: command_document(&format!("{name} result"), info.result),
    })
}

/// Everything in one document: all definitions once, and tables of events and commands that refer to them.
pub fn bundle() -> Value {
    let mut generator = generator();
    let events: Map<_, _> =
        EVENTS.iter().map(|info| (info.type_name.to_owned(), event_entry(info, &mut generator))).collect();
    let commands: Map<_, _> =
        COMMANDS.iter().map(|info| (info.name.to_owned(), command_entry(info, &mut generator))).collect();
    // What `channels/stream` takes and sends: it is a stream, and stands in neither table.
    generator.subschema_for::<StreamChannel>();
    generator.subschema_for::<StreamEnvelope>();
    let mut bundle = Map::new();
    bundle.insert("events".into(), events.into());
    bundle.insert("commands".into(), commands.into());
    document("Factum", bundle, definitions_with_envelope(generator))
}

/// The definitions all payloads need, by name.
pub fn payload_definitions() -> Map<String, Value> {
    let mut generator = generator();
    for info in EVENTS {
        (info.schema)(&mut generator);
    }
    generator.take_definitions(true)
}

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

fn document(title: &str, body: Map<String, Value>, definitions: Map<String, Value>) -> Value {
    let mut document = Map::new();
    document.insert("$schema".into(), DIALECT.into());
    document.insert("title".into(), title.into());
    document.extend(body);
    document.insert("$defs".into(), definitions.into());
    document.into()
}

fn command_document(title: &str, schema: fn(&mut SchemaGenerator) -> Schema) -> Value {
    let mut generator = generator();
    let body = schema(&mut generator).as_object().cloned().unwrap_or_default();
    document(title, body, generator.take_definitions(true))
}

fn event_body(info: &EventInfo, generator: &mut SchemaGenerator) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("$ref".into(), format!("#/$defs/{ENVELOPE}").into());
    let properties = json!({ "type": { "const": info.type_name }, "payload": (info.schema)(generator) });
    body.insert("properties".into(), properties);
    body
}

fn event_entry(info: &EventInfo, generator: &mut SchemaGenerator) -> Value {
    let mut entry = event_body(info, generator);
    entry.insert("x-family".into(), json!(info.family));
    entry.into()
}

fn command_entry(info: &CommandInfo, generator: &mut SchemaGenerator) -> Value {
    json!({
        "family": info.family,
        "summary": info.summary.trim(),
        "scope": info.scope,
        "kind": info.kind,
        "params": (info.params)(generator),
        "result": (info.result)(generator),
    })
}

/// The definitions a generator collected, and the envelope's.
fn definitions_with_envelope(mut generator: SchemaGenerator) -> Map<String, Value> {
    let envelope = envelope(&mut generator);
    let mut definitions = generator.take_definitions(true);
    definitions.insert(ENVELOPE.into(), envelope);
    definitions
}

/// What every event carries. The ids of `Scope` are absent where not applicable.
fn envelope(generator: &mut SchemaGenerator) -> Value {
    let text = json!({ "type": "string" });
    let mut properties = Map::new();
    properties.insert("type".into(), text.clone());
    properties.insert("event_id".into(), generator.subschema_for::<crate::id::EventId>().into());
    properties.insert("timestamp".into(), json!({ "type": "string", "format": "date-time" }));
    properties.insert("sequence".into(), json!({ "type": "integer", "minimum": 1 }));
    properties.insert("schema_version".into(), text.clone());
    properties.insert("runtime_id".into(), generator.subschema_for::<crate::id::RuntimeId>().into());
    if let Some(Value::Object(ids)) = Scope::json_schema(generator).get_mut("properties") {
        properties.append(ids);
    }
    properties.insert("trace_id".into(), text.clone());
    properties.insert("span_id".into(), text);
    properties.insert("payload".into(), json!({ "type": "object" }));
    properties.insert("refs".into(), json!({ "type": "object" }));
    json!({
        "type": "object",
        "required": ["type", "event_id", "timestamp", "sequence", "schema_version", "runtime_id", "payload"],
        "properties": properties,
    })
}
