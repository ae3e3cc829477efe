//! The parts of the description that are not commands: streams, JSON-RPC's envelope, operations.

use factum_model::ErrorCode;
use factum_model::commands::COMMANDS;
use serde_json::{Map, Value, json};

use super::{json_body, response_ref};
use crate::status::http_status;

/// The paths that are not commands.
pub(super) fn paths() -> Map<String, Value> {
    let text =
        |what: &str| json!({ "description": what, "content": { "text/plain": { "schema": { "type": "string" } } } });
    let object = json!({ "type": "object" });
    let mut paths = Map::new();
    paths.insert("/v1/sessions/{session_id}/events".to_owned(), json!({ "get": session_events() }));
    paths.insert("/v1/remote_channels/{channel_id}/events".to_owned(), json!({ "get": remote_channel_events() }));
    paths.insert("/v1/feed".to_owned(), json!({ "get": feed() }));
    paths.insert("/rpc".to_owned(), json!({ "post": rpc() }));
    for (path, id, summary, response) in [
        ("/healthz", "healthz", "Whether the process is alive.", text("Alive.")),
        ("/readyz", "readyz", "Whether requests are taken.", text("Ready.")),
        ("/metrics", "metrics", "Metrics in Prometheus' text format.", text("The metrics.")),
        ("/openapi.json", "openapi", "This description.", json_body("OpenAPI 3.1.", &object)),
        ("/schemas", "schemas", "All JSON Schemas in one document.", json_body("The schemas.", &object)),
        (
            "/schemas/commands/{name}",
            "command_schema",
            "The schemas of a command.",
            json_body("Params and result.", &object),
        ),
        ("/schemas/events/{name}", "event_schema", "The schema of an event class.", json_body("The schema.", &object)),
    ] {
        let mut responses = json!({ "200": response });
        if path == "/readyz" {
            responses["503"] = response_ref(ErrorCode::Unavailable);
        }
        let mut get = json!({
            "operationId": id, "summary": summary, "tags": ["operations"], "security": [], "responses": responses,
        });
        if path.ends_with("{name}") {
            get["parameters"] =
                json!([{ "name": "name", "in": "path", "required": true, "schema": { "type": "string" } }]);
            get["responses"]["404"] = response_ref(ErrorCode::NotFound);
        }
        paths.insert(path.to_owned(), json!({ "get": get }));
    }
    paths
}

fn session_events() -> Value {
    let sequence = json!({ "type": "integer", "minimum": 0 });
    let mut parameters = vec![
        json!({ "name": "session_id", "in": "path", "required": true, "schema": { "$ref": "#/components/schemas/SessionId" } }),
        query("after", "Events behind this sequence.", &sequence),
        query("before", "Events before this sequence, for a page only.", &sequence),
    ];
    parameters.extend(stream_parameters());
    json!({
        "operationId": "session_events",
        "summary": "A session's events: a page, or a stream that stays open.",
        "description": "With `Accept: text/event-stream` each event's `id:` is its sequence, and a stream is resumed by \
                        `Last-Event-ID` or `after`. Needs the scope `sessions:read`.",
        "tags": ["streams"],
        "x-scope": "sessions:read",
        "x-kind": "read",
        "parameters": parameters,
        "responses": stream_responses("EventPage"),
    })
}

fn remote_channel_events() -> Value {
    let cursors = "The last sequence taken in of each stream, such as `sess_1:17,@channel:4`.";
    let [_, casing, resume] = stream_parameters();
    let mut responses = stream_responses("EventPage");
    if let Some(content) = responses["200"]["content"].as_object_mut() {
        content.remove("application/json");
    }
    responses["200"]["description"] = json!("A stream of events.");
    json!({
        "operationId": "remote_channel_events",
        "summary": "What a remote channel is sent: its own events and those of the sessions it follows.",
        "description": "A stream that stays open; the channel counts as connected as long as it does. Each event's `id:` is \
                        the name of its stream (a session's id, or `@channel`), a colon and its sequence. Needs the scopes \
                        `channels:write` and `sessions:read`.",
        "tags": ["streams"],
        "x-scope": "channels:write",
        "x-kind": "read",
        "parameters": [
            json!({ "name": "channel_id", "in": "path", "required": true, "schema": { "$ref": "#/components/schemas/ChannelId" } }),
            query("cursors", cursors, &json!({ "type": "string" })), casing, resume,
        ],
        "responses": responses,
    })
}

fn feed() -> Value {
    let mut parameters = vec![query("after", "Events behind this cursor.", &json!({ "type": "string" }))];
    parameters.extend(stream_parameters());
    json!({
        "operationId": "feed",
        "summary": "Every event the caller may see, in the order of the store: a page, or a stream that stays open.",
        "description": "The cursor is opaque and good for the account it was given to. Needs the scope `sessions:read`.",
        "tags": ["streams"],
        "x-scope": "sessions:read",
        "x-kind": "read",
        "parameters": parameters,
        "responses": stream_responses("FeedPage"),
    })
}

pub(super) fn query(name: &str, description: &str, schema: &Value) -> Value {
    json!({ "name": name, "in": "query", "description": description, "schema": schema })
}

fn stream_parameters() -> [Value; 3] {
    let casing = json!({ "type": "string", "enum": ["snake", "camel"], "default": "snake" });
    let resume = "Where a stream goes on; what `EventSource` sends by itself.";
    [
        query("limit", "Events of a page at most.", &json!({ "type": "integer", "minimum": 1 })),
        query("casing", "How field names are spelled.", &casing),
        json!({ "name": "Last-Event-ID", "in": "header", "description": resume, "schema": { "type": "string" } }),
    ]
}

pub(super) fn stream_responses(page: &str) -> Value {
    let page = json!({ "$ref": format!("#/components/schemas/{page}") });
    let mut responses = json!({ "200": { "description": "A page, or a stream of events.", "content": {
        "application/json": { "schema": page },
        "text/event-stream": { "schema": { "type": "string" } },
    } } });
    for code in ErrorCode::ALL.into_iter().filter(|code| *code != ErrorCode::Conflict) {
        responses[http_status(code).to_string()] = response_ref(code);
    }
    responses
}

fn rpc() -> Value {
    let either = |name: &str| {
        let one = json!({ "$ref": format!("#/components/schemas/{name}") });
        json!({ "oneOf": [one, { "type": "array", "items": one }] })
    };
    json!({
        "operationId": "rpc",
        "summary": "Commands as JSON-RPC 2.0: one, a batch, or notifications.",
        "description": "A refusal is an error with the number -32000 (-32602 for `invalid_params`) whose `data` is the \
                        object that plain HTTP answers with. `GET` with an upgrade is the same over WebSocket.",
        "tags": ["rpc"],
        "requestBody": { "required": true, "content": { "application/json": { "schema": either("RpcRequest") } } },
        "responses": {
            "200": json_body("The answers.", &either("RpcResponse")),
            "204": { "description": "There were only notifications." },
            "401": json_body("`unauthenticated`", &json!({ "$ref": "#/components/schemas/RpcResponse" })),
            "413": json_body("`limit_exceeded`", &json!({ "$ref": "#/components/schemas/RpcResponse" })),
            "429": json_body("`rate_limited`", &json!({ "$ref": "#/components/schemas/RpcResponse" })),
        },
    })
}

/// The schemas that are not the registry's.
pub(super) fn schemas() -> Map<String, Value> {
    let codes: Vec<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    let text = json!({ "type": "string" });
    let mut schemas = Map::new();
    schemas.insert(
        "Problem".to_owned(),
        json!({
            "type": "object",
            "description": "Why a request was refused (RFC 9457). Nothing was written.",
            "required": ["type", "title", "status", "detail", "code", "message", "retryable"],
            "properties": {
                "type": text, "title": text, "status": { "type": "integer" }, "detail": text,
                "code": { "type": "string", "enum": codes },
                "message": text,
                "retryable": { "type": "boolean", "description": "Whether the same request may succeed later." },
                "details": { "type": "object", "description": "Facts the caller can act on, by code." },
            },
        }),
    );
    schemas.insert(
        "FeedPage".to_owned(),
        json!({
            "type": "object",
            "required": ["events", "next_after", "has_more"],
            "properties": {
                "events": { "type": "array", "items": { "$ref": "#/components/schemas/Envelope" } },
                "next_after": { "type": "string", "description": "A cursor that goes on behind this page. Opaque." },
                "has_more": { "type": "boolean" },
            },
        }),
    );
    schemas.insert(
        "RpcRequest".to_owned(),
        json!({
            "type": "object",
            "required": ["jsonrpc", "method"],
            "properties": {
                "jsonrpc": { "const": "2.0" },
                "method": { "type": "string", "enum": COMMANDS.iter().map(|info| info.name).collect::<Vec<_>>() },
                "params": { "type": "object" },
                "id": { "type": ["string", "integer", "null"], "description": "A request without one gets no answer." },
            },
        }),
    );
    schemas.insert(
        "RpcResponse".to_owned(),
        json!({
            "type": "object",
            "required": ["jsonrpc", "id"],
            "properties": {
                "jsonrpc": { "const": "2.0" },
                "result": {},
                "error": { "type": "object", "properties": {
                    "code": { "type": "integer" }, "message": text, "data": { "type": "object" },
                } },
                "id": { "type": ["string", "integer", "null"] },
            },
        }),
    );
    schemas
}
