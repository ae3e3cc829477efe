//! `/openapi.json`: OpenAPI 3.1 made from the registry, so that a command cannot be served and missing here.
//!
//! Schemas are the registry's own, each definition once, under `components/schemas`. Only what is not a command (streams,
//! operations, JSON-RPC's envelope, A2A) is written by hand below. What the description does not cover: WebSocket and gRPC, for
//! which OpenAPI has no words, and the shapes of A2A, which has a definition of its own.

mod a2a;
mod parts;

use factum_model::ErrorCode;
use factum_model::commands::COMMANDS;
use factum_model::registry::{CommandInfo, Kind};
use factum_model::schema::{DIALECT, bundle};
use serde_json::{Map, Value, json};

use crate::status::http_status;

const DEFINITIONS: &str = "#/$defs/";
const COMPONENTS: &str = "#/components/schemas/";

/// The description. `base_url` is where this server is reached; without one, addresses are relative.
pub fn openapi(base_url: Option<&str>) -> Value {
    let mut bundle = bundle();
    relocate(&mut bundle);
    let mut schemas = take(&mut bundle, "$defs");
    schemas.extend(parts::schemas());
    let mut paths = Map::new();
    for info in COMMANDS {
        paths.insert(format!("/v1/{}", info.name), json!({ "post": operation(info, &bundle["commands"][info.name]) }));
    }
    paths.extend(parts::paths());
    paths.extend(a2a::paths());
    json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": DIALECT,
        "info": {
            "title": "Factum",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The control plane of a durable agent runtime. Every command is also a JSON-RPC method of \
                            the same name at `/rpc` and a gRPC call of `factum.v1.Runtime`.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": base_url.map_or("/", |url| url.trim_end_matches('/')) }],
        "security": [{ "bearer": [] }],
        "tags": tags(),
        "paths": paths,
        "components": {
            "securitySchemes": { "bearer": {
                "type": "http",
                "scheme": "bearer",
                "description": "An API key (`fct_…`) or a token (JWT) of a configured issuer.",
            } },
            "parameters": { "IdempotencyKey": {
                "name": "Idempotency-Key",
                "in": "header",
                "description": "The idempotency key, where the params have none.",
                "schema": { "type": "string", "maxLength": 128 },
            } },
            "responses": responses(),
            "schemas": schemas,
        },
    })
}

fn operation(info: &CommandInfo, schema: &Value) -> Value {
    let mut responses = json!({ "200": json_body("The result.", &schema["result"]) });
    for code in ErrorCode::ALL {
        // Reads change nothing, so nothing can be in their way.
        if code != ErrorCode::Conflict || info.kind == Kind::Mutation {
            responses[http_status(code).to_string()] = response_ref(code);
        }
    }
    let description = if factum_runtime::UNAVAILABLE.contains(&info.name) {
        "Declared, and answered with `unavailable` by this version."
    } else if info.kind == Kind::Mutation {
        "Durable when it is answered. Safe to repeat with the same idempotency key."
    } else {
        "Reads only."
    };
    let mut operation = json!({
        "operationId": info.name,
        "summary": info.summary.trim(),
        "description": format!("{description} Needs the scope `{}`.", info.scope),
        "tags": [info.family],
        "x-scope": info.scope,
        "x-kind": info.kind,
        "requestBody": { "required": true, "content": { "application/json": { "schema": schema["params"] } } },
        "responses": responses,
    });
    if info.kind == Kind::Mutation {
        operation["parameters"] = json!([{ "$ref": "#/components/parameters/IdempotencyKey" }]);
    }
    operation
}

/// One tag for each family, in the registry's order, and those of the paths that are no commands.
fn tags() -> Value {
    let mut families: Vec<&str> = COMMANDS.iter().map(|info| info.family).collect();
    families.dedup();
    let families = families.into_iter().map(|name| json!({ "name": name }));
    let others = [
        ("streams", "Events as they happen."),
        ("rpc", "JSON-RPC 2.0."),
        ("operations", "No credential needed."),
        ("a2a", "A2A, for clients of any agent."),
    ];
    families.chain(others.map(|(name, text)| json!({ "name": name, "description": text }))).collect()
}

/// One response for each code: the codes of one status never meet, since no two codes share one.
fn responses() -> Value {
    let response = |code: ErrorCode| {
        let problem = json!({ "schema": { "allOf": [
            { "$ref": "#/components/schemas/Problem" },
            { "type": "object", "properties": { "code": { "const": code.as_str() } } },
        ] } });
        let text = format!("`{}`", code.as_str());
        (code.as_str().to_owned(), json!({ "description": text, "content": { "application/problem+json": problem } }))
    };
    ErrorCode::ALL.into_iter().map(response).collect::<Map<_, _>>().into()
}

fn response_ref(code: ErrorCode) -> Value {
    json!({ "$ref": format!("#/components/responses/{}", code.as_str()) })
}

fn json_body(description: &str, schema: &Value) -> Value {
    json!({ "description": description, "content": { "application/json": { "schema": schema } } })
}

/// Moves every reference from a document's own definitions to the components.
fn relocate(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                match member {
                    Value::String(target) if key == "$ref" => *target = target.replace(DEFINITIONS, COMPONENTS),
                    other => relocate(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(relocate),
        _ => {}
    }
}

fn take(document: &mut Value, member: &str) -> Map<String, Value> {
    match document.get_mut(member).map(Value::take) {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests;
