//! Which path is what.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use factum_model::{ErrorCode, Refusal};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use tower::util::MapResponse;

use crate::asked::Named;
use crate::grpc::{self, RuntimeServer, Service};
use crate::http::json_response;
use crate::problem::Problem;
use crate::state::State;
use crate::undecoded::{self, GrpcResponse};
use crate::{a2a, channels, events, http as commands, openapi, peers, ws};

pub(crate) fn router(state: Arc<State>) -> Router {
    router_with(a2a::OfRuntime, state)
}

/// The same in front of any server of A2A.
pub(crate) fn router_with(host: impl a2a::Host, state: Arc<State>) -> Router {
    let a2a = a2a::routes(host, &state);
    let max = state.limits.body_bytes_max;
    let grpc = RuntimeServer::new(Service::new(state.clone())).max_decoding_message_size(max);
    let grpc = MapResponse::new(grpc, move |response: GrpcResponse| undecoded::reworded(response, max, grpc::lost));
    Router::new()
        .route("/rpc", post(commands::rpc).get(ws::upgrade))
        .route("/v1/{command}", post(commands::routed_command))
        .route("/v1/channels/stream", post(channels::stream))
        .route("/v1/channels/{method}", post(commands::routed_channel_command))
        .route("/v1/channels/{channel_id}/events", get(channels::channel_events))
        .route("/v1/remote_channels/{channel_id}/events", get(peers::events))
        .route("/v1/sessions/{session_id}/events", get(events::session_events))
        .route("/v1/feed", get(events::feed))
        .route("/.well-known/agent-card.json", get(a2a::card))
        .route("/.well-known/agent.json", get(a2a::card_of_april_2025))
        .route("/.well-known/jwks.json", get(a2a::jwks))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(openapi_json))
        .route("/schemas", get(schemas))
        .route("/schemas/{*name}", get(schema))
        .route_service("/factum.v1.Runtime/{method}", grpc)
        .merge(a2a)
        .fallback(not_here)
        .method_not_allowed_fallback(wrong_method)
        .with_state(state)
}

pub(crate) async fn not_here() -> Response {
    Problem(Refusal::new(ErrorCode::NotFound, "there is nothing at this path; GET /openapi.json lists what there is"))
        .into_response()
}

pub(crate) async fn wrong_method() -> Response {
    let refusal = Refusal::invalid("this path does not take this method; GET /openapi.json lists what there is");
    Problem(refusal).with_status(StatusCode::METHOD_NOT_ALLOWED)
}

/// The process is alive.
async fn healthz() -> &'static str {
    "ok\n"
}

/// Commands are accepted: the store takes writes and the server is not closing.
async fn readyz(Extract(state): Extract<Arc<State>>) -> Response {
    if let Some(reason) = state.runtime.store_poisoned() {
        return Problem(Refusal::unavailable(format!("the store does not accept writes: {reason}"))).into_response();
    }
    if state.runtime.closing().is_cancelled() {
        return Problem(Refusal::unavailable("the server is shutting down")).into_response();
    }
    "ready\n".into_response()
}

async fn metrics(Extract(state): Extract<Arc<State>>, headers: HeaderMap) -> Response {
    if let Err(refusal) = state.check_origin(&headers) {
        return Problem(refusal).into_response();
    }
    let mut response = Response::new(Body::from(state.metrics.render()));
    let text = HeaderValue::from_static(crate::metrics::CONTENT_TYPE);
    response.headers_mut().insert(header::CONTENT_TYPE, text);
    response
}

async fn openapi_json() -> Response {
    static PAGE: LazyLock<Bytes> = LazyLock::new(|| openapi::openapi(None).to_string().into());
    json_response(StatusCode::OK, PAGE.clone())
}

async fn schemas() -> Response {
    static PAGE: LazyLock<Bytes> = LazyLock::new(|| factum_model::schema::bundle().to_string().into());
    json_response(StatusCode::OK, PAGE.clone())
}

/// `/schemas/events/{type}` and `/schemas/commands/{name}`, with or without `.json`.
async fn schema(Named(name): Named) -> Response {
    let name = name.strip_suffix(".json").unwrap_or(&name);
    let found = match name.split_once('/') {
        Some(("events", class)) => factum_model::schema::event_schema(class),
        Some(("commands", command)) => factum_model::schema::command_schema(command)
            .map(|schema| serde_json::json!({ "params": schema.params, "result": schema.result })),
        _ => None,
    };
    match found {
        Some(schema) => json_response(StatusCode::OK, schema.to_string().into()),
        None => not_here().await,
    }
}
