//! Sample events and params: every class and command with every field filled and every word of every vocabulary, made from
//! the schemas.
//!
//! Being generated, they are complete by themselves: a new class or field is in them without anybody remembering. For
//! tests only; they mean nothing.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::event::{Event, SCHEMA_VERSION, Scope, Trace};
use crate::events::{EVENTS, Fact};
use crate::id::{EventId, RuntimeId};
use crate::registry::CommandInfo;

impl Fact {
    /// At least one fact of every class, in the order of the catalogue.
    pub fn samples() -> Result<Vec<Fact>, serde_json::Error> {
        payloads().iter().map(|(type_name, payload)| Fact::decode(type_name, &payload.to_string())).collect()
    }
}

impl Event {
    /// An event with this fact and every field of the envelope filled.
    pub fn sample(fact: Fact) -> Result<Event, serde_json::Error> {
        let scope = values::<Scope>().into_iter().next().unwrap_or_default();
        let refs = json!({ "raw_ref": "blob:sha256:0" });
        Ok(Event {
            event_id: EventId::from_uuid(uuid::Uuid::from_u128(1)),
            timestamp: jiff::Timestamp::UNIX_EPOCH,
            sequence: 1,
            schema_version: SCHEMA_VERSION.into(),
            runtime_id: RuntimeId::from_uuid(uuid::Uuid::from_u128(2)),
            scope: serde_json::from_value::<Scope>(scope)?,
            trace: Trace {
                trace_id: Some("0af7651916cd43dd8448eb211c80319c".into()),
                span_id: Some("b7ad6b7169203331".into()),
            },
            fact,
            refs: refs.as_object().cloned().unwrap_or_default(),
        })
    }
}

impl CommandInfo {
    /// Params of this command as JSON: as many as its longest vocabulary has words.
    pub fn samples(&self) -> Vec<Value> {
        let mut generator = SchemaSettings::draft2020_12().into_generator();
        let schema = (self.params)(&mut generator).to_value();
        Maker { definitions: generator.take_definitions(true) }.values(&schema)
    }
}

/// Values of a type as JSON: as many as its longest vocabulary has words.
pub(crate) fn values<T: JsonSchema>() -> Vec<Value> {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let schema = generator.subschema_for::<T>().to_value();
    Maker { definitions: generator.take_definitions(true) }.values(&schema)
}

/// Class names with payloads as JSON.
pub(crate) fn payloads() -> Vec<(&'static str, Value)> {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let schemas: Vec<_> =
        EVENTS.iter().map(|info| (info.type_name, (info.schema)(&mut generator).to_value())).collect();
    let maker = Maker { definitions: generator.take_definitions(true) };
    schemas
        .into_iter()
        .flat_map(|(name, schema)| maker.values(&schema).into_iter().map(move |payload| (name, payload)))
        .collect()
}

/// What the values of a map look like; where its keys are ids, they stand beside the pattern of those.
fn values_of_map(schema: &Value) -> &Value {
    let by_pattern = schema.get("patternProperties").and_then(Value::as_object).and_then(|map| map.values().next());
    by_pattern.unwrap_or(&schema["additionalProperties"])
}

/// Makes values that fit a schema. Knows the part of JSON Schema that our types use.
struct Maker {
    definitions: Map<String, Value>,
}

impl Maker {
    fn values(&self, schema: &Value) -> Vec<Value> {
        (0..self.width(schema)).map(|round| self.value(schema, round)).collect()
    }

    /// A value with every property present; each round takes the next alternative wherever there is a choice.
    fn value(&self, schema: &Value, round: usize) -> Value {
        let choices = self.choices(schema);
        let choice = choices.get(round % choices.len().max(1)).unwrap_or(&Value::Null);
        if let Some(constant) = choice.get("const") {
            return constant.clone();
        }
        match kind(choice) {
            Some("object") => self.object(choice, round),
            Some("array") => self.array(choice, round),
            Some("string") => text(choice),
            Some("integer" | "number") => json!(3),
            Some("boolean") => json!(round.is_multiple_of(2)),
            _ => json!({ "caller_key": { "inner_key": [1, "two", null] } }),
        }
    }

    fn object(&self, schema: &Value, round: usize) -> Value {
        match schema.get("properties").and_then(Value::as_object) {
            Some(properties) => {
                properties.iter().map(|(name, property)| (name.clone(), self.value(property, round))).collect()
            }
            None => json!({ "caller_key": self.value(values_of_map(schema), round) }),
        }
    }

    /// One item for each alternative; a single one for a set, whose order is its own.
    fn array(&self, schema: &Value, round: usize) -> Value {
        if schema.get("uniqueItems").is_some() {
            return json!([self.value(&schema["items"], round)]);
        }
        let choices = self.choices(&schema["items"]);
        choices.iter().map(|item| self.value(item, round)).collect()
    }

    /// The alternatives of a schema, with references followed and null left out.
    fn choices(&self, schema: &Value) -> Vec<Value> {
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            let name = target.trim_start_matches("#/$defs/");
            return self.definitions.get(name).map(|definition| self.choices(definition)).unwrap_or_default();
        }
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            return words.iter().map(|word| json!({ "const": word })).collect();
        }
        let branches = ["oneOf", "anyOf"].iter().find_map(|keyword| schema.get(keyword)?.as_array());
        match branches {
            Some(branches) => branches.iter().flat_map(|branch| self.choices(branch)).collect(),
            None if schema.get("type").is_some_and(|kind| kind == "null") => Vec::new(),
            None => vec![schema.clone()],
        }
    }

    /// How many rounds it takes until every alternative has been chosen.
    fn width(&self, schema: &Value) -> usize {
        let choices = self.choices(schema);
        let below = |choice: &Value| {
            let properties = choice.get("properties").and_then(Value::as_object).into_iter().flatten();
            let inner = properties.map(|(_, property)| property).chain(choice.get("items"));
            inner.map(|schema| self.width(schema)).max().unwrap_or(1)
        };
        choices.iter().map(below).max().unwrap_or(1).max(choices.len())
    }
}

/// The first type that is not null.
fn kind(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(one) => Some(one),
        Value::Array(several) => several.iter().filter_map(Value::as_str).find(|one| *one != "null"),
        _ => None,
    }
}

fn text(schema: &Value) -> Value {
    let example = schema.get("examples").and_then(|examples| examples.get(0));
    match (example, schema.get("format").and_then(Value::as_str)) {
        (Some(example), _) => example.clone(),
        (None, Some("date-time")) => json!("2026-01-02T03:04:05Z"),
        _ => json!("text"),
    }
}
