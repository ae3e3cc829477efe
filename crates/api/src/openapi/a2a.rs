//! A2A and messaging streams in the description: which paths there are and what they are for. What goes over them is A2A's own
//! definition, which is not repeated here.

use factum_model::ErrorCode;
use serde_json::{Map, Value, json};

use super::parts::{query, stream_responses};
use super::{json_body, response_ref};
use crate::status::http_status;

/// A path, its method, its name and what it does.
type Row = (&'static str, &'static str, &'static str, &'static str);

/// HTTP+JSON of 1.0, below `/a2a` and below `/a2a/agents/{agent}`.
const OPERATIONS: [Row; 12] = [
    ("/message:send", "post", "a2a_send_message", "Sends a message to the agent, and waits for what comes of it."),
    ("/message:stream", "post", "a2a_stream_message", "Sends a message and streams what comes of it."),
    ("/tasks", "get", "a2a_list_tasks", "The caller's tasks with the agent."),
    ("/tasks/{id}", "get", "a2a_get_task", "One task."),
    ("/tasks/{id}:cancel", "post", "a2a_cancel_task", "Cancels a task."),
    ("/tasks/{id}:subscribe", "get", "a2a_subscribe", "Streams a task that is under way."),
    ("/tasks/{id}:subscribe", "post", "a2a_subscribe_post", "The same."),
    ("/tasks/{id}/pushNotificationConfigs", "get", "a2a_list_push_configs", "Where a task's changes are pushed to."),
    ("/tasks/{id}/pushNotificationConfigs", "post", "a2a_create_push_config", "Has a task's changes pushed."),
    ("/tasks/{id}/pushNotificationConfigs/{config_id}", "get", "a2a_get_push_config", "One of those."),
    ("/tasks/{id}/pushNotificationConfigs/{config_id}", "delete", "a2a_delete_push_config", "Pushes there no longer."),
    ("/extendedAgentCard", "get", "a2a_extended_card", "What there is, for a caller who is known."),
];

const CARDS: [Row; 5] = [
    (
        "/.well-known/agent-card.json",
        "get",
        "agent_card",
        "The default agent's card, in the version that `A2A-Version` asks for.",
    ),
    ("/.well-known/agent.json", "get", "agent_card_april_2025", "The same in the form of April 2025."),
    ("/.well-known/jwks.json", "get", "jwks", "The public keys that cards and push notifications are signed with."),
    ("/a2a/agents/{agent}/.well-known/agent-card.json", "get", "agent_card_of", "An agent's card."),
    (
        "/a2a/agents/{agent}/.well-known/agent.json",
        "get",
        "agent_card_of_april_2025",
        "The same in the form of April 2025.",
    ),
];

pub(super) fn paths() -> Map<String, Value> {
    let mut paths = Map::new();
    let mut add = |path: String, method: &str, operation: Value| {
        let at = paths.entry(path).or_insert_with(|| json!({}));
        at[method] = operation;
    };
    for (root, suffix) in [("/a2a", ""), ("/a2a/agents/{agent}", "_of")] {
        add(root.to_owned(), "post", rpc(root, suffix));
        for (path, method, id, summary) in OPERATIONS {
            let path = format!("{root}{path}");
            add(path.clone(), method, operation(&path, &format!("{id}{suffix}"), summary));
        }
    }
    for (path, method, id, summary) in CARDS {
        let mut card = operation(path, id, summary);
        card["security"] = json!([]);
        add(path.to_owned(), method, card);
    }
    add("/v1/channels/stream".to_owned(), "post", channels_stream());
    add("/v1/channels/{channel_id}/events".to_owned(), "get", channel_events());
    paths
}

fn operation(path: &str, id: &str, summary: &str) -> Value {
    let streams = path.ends_with(":stream") || path.ends_with(":subscribe");
    let content = if streams { "text/event-stream" } else { "application/json" };
    let answer = json!({ "description": "A2A's answer.", "content": { content: { "schema": {} } } });
    let refused = json_body(
        "A2A's error: `google.rpc.Status` with `ErrorInfo`, beside the members of a problem.",
        &json!({ "type": "object" }),
    );
    let mut described = json!({
        "operationId": id,
        "summary": summary,
        "description": "A2A over HTTP+JSON; see `docs/guides/a2a.md`. 0.3 stands below `v1/`.",
        "tags": ["a2a"],
        "responses": { "200": answer, "default": refused },
    });
    let parameters = path_parameters(path);
    if !parameters.is_empty() {
        described["parameters"] = parameters.into();
    }
    if path.ends_with(":send") || path.ends_with(":stream") {
        described["requestBody"] =
            json!({ "required": true, "content": { "application/a2a+json": { "schema": { "type": "object" } } } });
    }
    described
}

fn path_parameters(path: &str) -> Vec<Value> {
    let names = path.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name);
    let parameter =
        |name: &str| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } });
    names.map(parameter).collect()
}

fn rpc(path: &str, suffix: &str) -> Value {
    let mut rpc = json!({
        "operationId": format!("a2a{suffix}"),
        "summary": "A2A as JSON-RPC 2.0, every version, and the messaging extension: one, a batch, or notifications.",
        "description": "Methods that stream answer with `text/event-stream`. Errors have A2A's numbers, and `ErrorInfo` in \
                        `data`; those of `channels/*` are the extension's.",
        "tags": ["a2a"],
        "requestBody": { "required": true, "content": { "application/json": { "schema": { "type": ["object", "array"] } } } },
        "responses": {
            "200": { "description": "The answers.", "content": {
                "application/json": { "schema": {} }, "text/event-stream": { "schema": { "type": "string" } },
            } },
            "204": { "description": "There were only notifications." },
        },
    });
    for code in [ErrorCode::Unauthenticated, ErrorCode::NotFound, ErrorCode::LimitExceeded, ErrorCode::RateLimited] {
        let refused = json_body(&format!("`{}`", code.as_str()), &json!({ "type": ["object", "array"] }));
        rpc["responses"][http_status(code).to_string()] = refused;
    }
    let parameters = path_parameters(path);
    if !parameters.is_empty() {
        rpc["parameters"] = parameters.into();
    }
    rpc
}

fn stream_only() -> Value {
    let mut responses = stream_responses("EventPage");
    responses["200"] = json!({ "description": "A stream of envelopes, each a `StreamEnvelope`.", "content": {
        "text/event-stream": { "schema": { "type": "string" } },
    } });
    responses[http_status(ErrorCode::Conflict).to_string()] = response_ref(ErrorCode::Conflict);
    responses
}

const CHANNEL_STREAM: &str = "A stream that stays open. Each message's `id:` is its sequence, a change's is the sequence before \
                              it, a dot and the version it made; `Last-Event-ID` goes on behind either. Needs the scope `messaging:read`.";

fn channels_stream() -> Value {
    json!({
        "operationId": "channels/stream",
        "summary": "A messaging channel as it happens. The body is the params.",
        "description": CHANNEL_STREAM,
        "tags": ["streams"],
        "x-scope": "messaging:read",
        "x-kind": "read",
        "requestBody": { "required": true, "content": { "application/json": {
            "schema": { "$ref": "#/components/schemas/StreamChannel" },
        } } },
        "responses": stream_only(),
    })
}

fn channel_events() -> Value {
    let (number, flag) = (json!({ "type": "integer", "minimum": 0 }), json!({ "type": "boolean" }));
    let mut parameters = path_parameters("{channel_id}");
    parameters.extend([
        query("sinceSequence", "What comes behind this message; only what is new where absent.", &number),
        query("sinceVersion", "Of the changes behind that message only those behind this version.", &number),
        query("heartbeatIntervalMs", "How often a quiet stream says that it is alive.", &number),
        query("controlEvents", "Changes of the channel, too.", &flag),
        query("presence", "Who comes and goes, too.", &flag),
    ]);
    json!({
        "operationId": "channel_events",
        "summary": "The same for clients that can only GET, such as `EventSource`.",
        "description": CHANNEL_STREAM,
        "tags": ["streams"],
        "x-scope": "messaging:read",
        "x-kind": "read",
        "parameters": parameters,
        "responses": stream_only(),
    })
}
