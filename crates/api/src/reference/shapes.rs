//! Reading JSON Schema the way a person asks: which fields, of which type, and must they be there.

use factum_model::id::IDENTITIES;
use factum_model::schema::bundle;
use serde_json::{Map, Value};

use super::markdown::{Page, anchor, code};

/// Words of an enum that are named where it is used; a longer one gets its own entry only.
const WORDS_INLINE_MAX: usize = 5;

/// What `channels/stream` takes and sends. It is neither a command nor an event, so no other page has it.
const STREAM: [&str; 2] = ["StreamChannel", "StreamEnvelope"];

/// All schemas in one document.
pub(super) struct Shapes {
    document: Value,
}

/// One field of an object.
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) required: bool,
    pub(super) description: String,
}

impl Shapes {
    pub(super) fn new() -> Self {
        Self { document: bundle() }
    }

    /// What a command takes (`params`) or gives (`result`).
    pub(super) fn command(&self, name: &str, side: &str) -> &Value {
        self.resolve(&self.document["commands"][name][side])
    }

    /// The payload of an event class.
    pub(super) fn payload(&self, class: &str) -> &Value {
        self.resolve(&self.document["events"][class]["properties"]["payload"])
    }

    pub(super) fn definitions(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.document["$defs"].as_object().into_iter().flatten()
    }

    /// The names of the definitions that others refer to, sorted, and of those of a stream. The rest are a command's or an event's
    /// own.
    pub(super) fn shared(&self) -> Vec<&str> {
        let nested =
            |name: &&str| STREAM.contains(name) || self.definitions().any(|(_, schema)| refers_to(schema, name));
        let names = self.definitions().map(|(name, _)| name.as_str());
        let mut names: Vec<_> = names.filter(|name| !is_identity(name)).filter(nested).collect();
        names.sort_unstable();
        names
    }

    /// The schema itself, wherever it is written.
    pub(super) fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        name_of(schema).map_or(schema, |name| &self.document["$defs"][name])
    }

    /// The fields of an object, in the order they are declared.
    pub(super) fn fields(&self, schema: &Value) -> Vec<Field> {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let field = |(name, schema): (&String, &Value)| Field {
            name: name.clone(),
            kind: self.kind(schema),
            required: required.contains(&name.as_str()),
            description: description(schema)
                .or_else(|| self.words_note(schema))
                .or_else(|| usual(name).map(str::to_owned))
                .unwrap_or_default(),
        };
        schema["properties"].as_object().into_iter().flatten().map(field).collect()
    }

    /// What a value is, in a few words.
    pub(super) fn kind(&self, schema: &Value) -> String {
        if let Some(name) = name_of(schema) {
            return link(name);
        }
        if let Some(options) = options(schema) {
            let kinds: Vec<_> = options.map(|option| self.kind(option)).collect();
            return kinds.join(" or ");
        }
        if let Some(value) = schema.get("const") {
            return code(&value.to_string());
        }
        match type_of(schema) {
            Some("array") => format!("list of {}", self.kind(&schema["items"])),
            Some("object") => match &schema["additionalProperties"] {
                values @ Value::Object(entry) if !entry.is_empty() => format!("map to {}", self.kind(values)),
                _ => "object".to_owned(),
            },
            Some("string") if schema["format"] == "date-time" => "timestamp".to_owned(),
            Some(name) => name.to_owned(),
            None => "any JSON".to_owned(),
        }
    }

    /// The words of an enum, if these are few, each with its meaning if it has one.
    pub(super) fn words(&self, schema: &Value) -> Vec<(String, Option<String>)> {
        let words = |schema: &Value| -> Vec<(String, Option<String>)> {
            let one = schema["const"].as_str().map(|word| (word.to_owned(), description(schema)));
            let many = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
            one.into_iter().chain(many.map(|word| (word.to_owned(), None))).collect()
        };
        match options(schema) {
            Some(options) => options.flat_map(words).collect(),
            None => words(schema),
        }
    }

    fn words_note(&self, schema: &Value) -> Option<String> {
        if schema.get("const").is_some() {
            return None;
        }
        let target = options(schema).and_then(|mut options| options.next()).unwrap_or(schema);
        let words = self.words(self.resolve(target));
        let few = !words.is_empty() && words.len() <= WORDS_INLINE_MAX;
        few.then(|| words.iter().map(|(word, _)| code(word)).collect::<Vec<_>>().join(", "))
    }

    /// Writes a table of fields, or says that there are none.
    pub(super) fn write_fields(&self, page: &mut Page, schema: &Value) {
        let fields = self.fields(schema);
        if fields.is_empty() {
            return page.text("No fields.");
        }
        let row = |field: Field| {
            let required = if field.required { "yes" } else { "" };
            [code(&field.name), field.kind, required.to_owned(), field.description]
        };
        page.table(["field", "type", "required", "description"], fields.into_iter().map(row));
    }
}

/// What fields of this name mean wherever they are.
fn usual(name: &str) -> Option<&'static str> {
    match name {
        "cursor" => Some("Where to go on: the `next_cursor` of the page before. Opaque."),
        "idempotency_key" => Some("The same key gives the same answer, however often it is sent."),
        "limit" => Some("How many to return at most."),
        "metadata" => Some("Yours. Never interpreted."),
        "next_cursor" => Some("Absent on the last page."),
        _ => None,
    }
}

/// The name a reference leads to.
fn name_of(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/$defs/")
}

fn is_identity(name: &str) -> bool {
    IDENTITIES.iter().any(|(identity, _)| *identity == name)
}

fn link(name: &str) -> String {
    let page = if is_identity(name) { "identities.md".to_owned() } else { format!("types.md#{}", anchor(name)) };
    format!("[{name}]({page})")
}

/// The alternatives of a schema, besides null, which is the same as absent.
pub(super) fn options(schema: &Value) -> Option<impl Iterator<Item = &Value>> {
    let options = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array())?;
    Some(options.iter().filter(|option| option["type"] != "null"))
}

/// The type of a schema, besides null.
pub(super) fn type_of(schema: &Value) -> Option<&str> {
    match &schema["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        one => one.as_str(),
    }
}

pub(super) fn description(schema: &Value) -> Option<String> {
    schema["description"].as_str().map(str::to_owned)
}

fn refers_to(schema: &Value, name: &str) -> bool {
    let inside = |members: &Map<String, Value>| members.values().any(|member| refers_to(member, name));
    match schema {
        Value::Object(members) => name_of(schema) == Some(name) || inside(members),
        Value::Array(items) => items.iter().any(|item| refers_to(item, name)),
        _ => false,
    }
}
