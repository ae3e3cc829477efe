//! A smallest request for a command, made from the schema of its params. A test has every command read its own.

use serde_json::{Map, Value, json};

use super::shapes::{Shapes, options, type_of};

/// Schemas that contain themselves end here.
const DEPTH_MAX: usize = 8;

/// What has to be there, with values that fit.
pub(super) fn example(shapes: &Shapes, schema: &Value) -> Value {
    value(shapes, "", schema, DEPTH_MAX)
}

fn value(shapes: &Shapes, name: &str, schema: &Value, depth: usize) -> Value {
    let schema = shapes.resolve(schema);
    if depth == 0 {
        return Value::Null;
    }
    let given = schema["examples"].get(0).or_else(|| schema["enum"].get(0)).or_else(|| schema.get("const"));
    if let Some(given) = given {
        return given.clone();
    }
    if let Some(first) = options(schema).and_then(|mut options| options.next()) {
        return value(shapes, name, first, depth - 1);
    }
    match type_of(schema) {
        Some("string") if schema["format"] == "date-time" => json!("2030-01-01T00:00:00Z"),
        Some("string") => json!(word(name)),
        Some("integer" | "number") => json!(schema["minimum"].as_u64().unwrap_or(1).max(1)),
        Some("boolean") => json!(true),
        Some("array") => json!([value(shapes, name, &schema["items"], depth - 1)]),
        _ => object(shapes, schema, depth),
    }
}

fn object(shapes: &Shapes, schema: &Value, depth: usize) -> Value {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let field = |name: &str| (name.to_owned(), value(shapes, name, &schema["properties"][name], depth - 1));
    required.map(field).collect::<Map<_, _>>().into()
}

/// A text for a field, by its name.
fn word(name: &str) -> &str {
    match name {
        "" | "text" => "hello",
        "decision" => "approve",
        "objective" => "Summarise the report",
        "principal" => "agent://assistant",
        "reason" => "no longer needed",
        "to" => "task_0198c0de-0000-7000-8000-000000000001",
        name => name,
    }
}
