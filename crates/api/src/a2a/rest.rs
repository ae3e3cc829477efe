//! HTTP+JSON: 1.0 right below `/a2a/`, 0.3 below `/a2a/v1/`, and both for every agent below `/a2a/agents/{name}/`.

use std::sync::Arc;

use a2a::A2AError;
use axum::body::{Body, Bytes};
use axum::extract::State as Extract;
use axum::response::Response;
use factum_a2a::{Dialect, Kind, Name, Operation, Outcome, StreamWriter, Version, invalid_field, not_here, refused};
use factum_model::peer::Transport::HttpJson;
use http::{HeaderMap, HeaderValue, header};
use serde_json::error::Category;
use serde_json::{Map, Value};

use super::answer::{http_error, http_error_as, http_result};
use super::ask::{Ask, activated, agent, echo, version};
use super::path::{self, Place, Resource, Target};
use super::status::counted;
use super::stream::{self, Framing};
use super::{Host, card, rpc};
use crate::body::{discard, read_body};
use crate::http::peer;
use crate::limits::check_depth;
use crate::metrics::Transport;
use crate::state::State;

/// Everything below `/a2a/`.
pub(super) async fn routed<H: Host>(
    host: H,
    Extract(state): Extract<Arc<State>>,
    request: http::Request<Body>,
) -> Response {
    let (head, body) = request.into_parts();
    let rest = head.uri.path().strip_prefix("/a2a/").unwrap_or_default().to_owned();
    let said = version(&head.headers, head.uri.query());
    let place = path::parse(&rest, said.as_ref().ok().copied().flatten());
    let Some(Place { agent: name, target }) = place else { return nothing_here(&rest) };
    match target {
        Target::Rpc if head.method == http::Method::POST => {
            rpc::serve(&host, &state, name.as_deref(), &head, peer(&head), body).await
        }
        Target::Card(form) if head.method == http::Method::GET => match agent(&state, name.as_deref()) {
            Some(agent) => card::respond(&state, &head.headers, agent, form),
            None => http_error(Dialect::V1_0, &rpc::no_such_agent()),
        },
        Target::Rpc => wrong_method(Dialect::V1_0, "POST"),
        Target::Card(_) => wrong_method(Dialect::V1_0, "GET"),
        Target::Operation { version, tenant, resource } => {
            let called = Called { name, version, said, tenant, resource };
            let mut response = operation(&host, &state, called, &head, body).await;
            if let Some(activated) = activated(&state, &head.headers) {
                echo(&activated, &head.headers, response.headers_mut());
            }
            response
        }
    }
}

/// `/a2a` itself takes JSON-RPC and nothing else.
pub(super) async fn not_posted() -> Response {
    wrong_method(Dialect::V1_0, "POST")
}

/// Whoever asks below `/a2a/` speaks A2A: the answer is an error of A2A, in the version that the path is of.
fn nothing_here(rest: &str) -> Response {
    let dialect = if rest.starts_with("v1/") { Dialect::V0_3Http } else { Dialect::V1_0 };
    http_error(dialect, &not_here("there is nothing at this path; the agent card names what there is"))
}

/// An operation as its path says it.
struct Called {
    name: Option<String>,
    version: Version,
    said: Result<Option<Version>, A2AError>,
    tenant: Option<String>,
    resource: Resource,
}

async fn operation<H: Host>(
    host: &H,
    state: &Arc<State>,
    called: Called,
    head: &http::request::Parts,
    mut body: Body,
) -> Response {
    let dialect = if called.version == Version::V1_0 { Dialect::V1_0 } else { Dialect::V0_3Http };
    let name = match called.resource.name(&head.method) {
        Ok(name) => name,
        Err(allowed) => return wrong_method(dialect, allowed),
    };
    let started = state.metrics.start();
    let outcome = run(host, state, &called, (name, dialect), head, &mut body).await;
    if outcome.is_err() {
        discard(body).await;
    }
    let code = outcome.as_ref().err().map(|error| counted(Kind::of(error)));
    state.metrics.request(Transport::A2a, "", code, started);
    outcome.unwrap_or_else(|error| http_error(dialect, &error))
}

fn wrong_method(dialect: Dialect, allowed: &'static str) -> Response {
    let error = A2AError::invalid_request(format!("this path does not take this method; it takes {allowed}"));
    let mut response = http_error_as(dialect, &error, 405);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}

async fn run<H: Host>(
    host: &H,
    state: &Arc<State>,
    called: &Called,
    (name, dialect): (Name, Dialect),
    head: &http::request::Parts,
    body: &mut Body,
) -> Result<Response, A2AError> {
    let from = peer(head);
    let caller = state.admit(&head.headers, from).await.map_err(|refusal| refused(&refusal))?.over(HttpJson);
    let agent = agent(state, called.name.as_deref()).ok_or_else(rpc::no_such_agent)?;
    let said = called.said.clone()?;
    if let Some(said) = said.filter(|said| *said != called.version) {
        return Err(elsewhere(said));
    }
    let agent_is_named = called.name.is_some();
    let ask = Ask { host, state, caller: &caller, agent, agent_is_named, headers: &head.headers, from };
    ask.offered(name, dialect)?;
    let body = read_body(state, body).await.map_err(|refusal| refused(&refusal))?;
    check_body(state, &head.headers, &body)?;
    let operation = read(&ask, called, (name, dialect), &body, head.uri.query())?;
    Ok(match ask.run((name, dialect), operation).await? {
        Outcome::Updates(updates) => {
            stream::open(state, ask.credential(), updates, StreamWriter::new(dialect), Framing::Plain(dialect))
        }
        outcome => {
            let mut out = Vec::with_capacity(512);
            dialect.write(&outcome, &mut out);
            match outcome {
                Outcome::Card(_) => card::kept_by_caller(&head.headers, http_result(dialect, out.clone()), &out),
                _ => http_result(dialect, out),
            }
        }
    })
}

/// A version that this path does not speak.
fn elsewhere(said: Version) -> A2AError {
    let place = if said == Version::V0_3 { "0.3 stands below v1/" } else { "1.0 does not stand below v1/" };
    let message = format!("this path does not speak A2A {}: {place}", said.as_str());
    A2AError::new(a2a::error_code::VERSION_NOT_SUPPORTED, message)
}

/// A body is JSON and says so. Where there is none it does not matter what it says to be.
fn check_body(state: &State, headers: &HeaderMap, body: &[u8]) -> Result<(), A2AError> {
    if body.is_empty() {
        return Ok(());
    }
    if let Some(said) = headers.get(header::CONTENT_TYPE) {
        let media_type = said.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
        let known =
            ["application/json", "application/a2a+json"].iter().any(|known| media_type.eq_ignore_ascii_case(known));
        if !known {
            let message = format!("the body must be application/a2a+json or application/json, not {media_type:?}");
            return Err(A2AError::new(a2a::error_code::CONTENT_TYPE_NOT_SUPPORTED, message));
        }
    }
    check_depth(body, state.limits.json_depth_max).map_err(|refusal| refused(&refusal))
}

/// The operation, from the path, the query and the body.
fn read<H: Host>(
    ask: &Ask<'_, H>,
    called: &Called,
    (name, dialect): (Name, Dialect),
    body: &Bytes,
    query: Option<&str>,
) -> Result<Operation, A2AError> {
    let around = ask.around()?;
    let pairs = path::query(query);
    let tenant = tenant(called, &pairs)?;
    let params = match (&called.resource, name) {
        // A message is read right from the body, and the path only says whose it is.
        (Resource::Send | Resource::Stream, _) => {
            let mut operation = dialect.read(name, Some(text(body)?), around)?;
            if let (Some(tenant), Operation::SendMessage(sent) | Operation::StreamMessage(sent)) =
                (tenant, &mut operation)
            {
                same("tenant", sent.request.tenant.as_deref(), &tenant)?;
                sent.request.tenant = Some(tenant);
            }
            return Ok(operation);
        }
        (Resource::Tasks, _) => return factum_a2a::list_tasks(tenant, &pairs),
        (Resource::Task(id), _) => return factum_a2a::get_task(id.clone(), tenant, &pairs),
        (Resource::PushConfigs(id), Name::ListPushConfigs) => {
            return factum_a2a::list_push_configs(id.clone(), tenant, &pairs);
        }
        (Resource::PushConfigs(id), _) if dialect == Dialect::V0_3Http => {
            let body = object(body)?;
            for name in ["taskId", "task_id"] {
                same(name, body.get(name).and_then(Value::as_str), id)?;
            }
            factum_a2a::push_params_0_3(id, body)
        }
        (Resource::PushConfigs(id), _) => with(object(body)?, &[("taskId", Some(id)), ("tenant", tenant.as_ref())])?,
        (Resource::PushConfig(id, config), _) => {
            let names = if dialect == Dialect::V1_0 { ["taskId", "id"] } else { ["id", "pushNotificationConfigId"] };
            with(Map::new(), &[(names[0], Some(id)), (names[1], Some(config)), ("tenant", tenant.as_ref())])?
        }
        (Resource::Cancel(id), _) => with(object(body)?, &[("id", Some(id)), ("tenant", tenant.as_ref())])?,
        (Resource::Subscribe(id), _) => with(object(body)?, &[("id", Some(id)), ("tenant", tenant.as_ref())])?,
        (Resource::ExtendedCard, _) => with(Map::new(), &[("tenant", tenant.as_ref())])?,
    };
    dialect.read(name, Some(&params), around)
}

/// Whose it is, as its path or its query says.
fn tenant(called: &Called, query: &[(String, String)]) -> Result<Option<String>, A2AError> {
    let asked = query.iter().find(|(name, value)| name == "tenant" && !value.is_empty()).map(|(_, value)| value);
    match (&called.tenant, asked) {
        (Some(in_path), Some(asked)) if in_path != asked => {
            Err(invalid_field("tenant", format!("the query says {asked:?}, the path {in_path:?}")))
        }
        (in_path, asked) => Ok(in_path.as_ref().or(asked).cloned()),
    }
}

fn text(body: &[u8]) -> Result<&str, A2AError> {
    std::str::from_utf8(body).map_err(|_| A2AError::parse_error("the body is not UTF-8"))
}

fn object(body: &[u8]) -> Result<Map<String, Value>, A2AError> {
    if body.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_slice(body).map_err(|error| match error.classify() {
        Category::Syntax | Category::Eof => A2AError::parse_error(format!("this is not JSON: {error}")),
        _ => A2AError::invalid_params(format!("the body must be a JSON object: {error}")),
    })
}

/// Adds what the path, or its query, says. What the body says of the same must be the same.
fn with(mut params: Map<String, Value>, more: &[(&str, Option<&String>)]) -> Result<String, A2AError> {
    for (name, value) in more {
        if let Some(value) = value {
            same(name, params.get(*name).and_then(Value::as_str), value)?;
            params.insert((*name).to_owned(), value.as_str().into());
        }
    }
    Ok(Value::Object(params).to_string())
}

/// Refuses a body that names another one than its address does: one of the two was meant, and nobody can tell which. An empty
/// text is a field that is not there.
fn same(name: &str, in_body: Option<&str>, in_path: &str) -> Result<(), A2AError> {
    match in_body.filter(|said| !said.is_empty() && *said != in_path) {
        Some(said) => Err(invalid_field(name, format!("the body says {said:?}, the address {in_path:?}"))),
        None => Ok(()),
    }
}
