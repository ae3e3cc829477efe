//! The agent cards: what strangers may read, what callers may, and the keys that they are signed with.

use std::hash::Hasher;
use std::sync::Arc;

use a2a::{AgentCard, AgentCardSignature};
use axum::body::{Body, Bytes};
use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use factum_a2a::{Card, CardKey, Form, Skill};
use factum_model::registry::Scope;
use factum_runtime::Caller;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHasher};
use serde_json::{Value, json};

use super::ask::version;
use super::tenant;
use crate::http::json_response;
use crate::problem::Problem;
use crate::said::is_loopback_host;
use crate::state::State;

const JWKS: &str = "/.well-known/jwks.json";

/// Cards that are kept, at most. There is one for each agent, form and name by which clients reach this server; who makes up
/// names makes cards be written again, and nothing else.
const CARDS_MAX: usize = 64;

/// What a credential needs to be good for, to have messages answered and tasks looked at.
const SCOPES: [Scope; 4] = [Scope::SessionsRead, Scope::SessionsWrite, Scope::TasksRead, Scope::TasksWrite];

/// `GET /.well-known/agent-card.json`: 1.0 for who asks for it, both 1.0 and 0.3 in one for everybody else.
pub(crate) async fn card(Extract(state): Extract<Arc<State>>, request: http::Request<Body>) -> Response {
    let (head, _) = request.into_parts();
    usual(&state, &head, state.runtime.agents().default_name())
}

/// The same for one agent.
pub(super) fn usual(state: &State, head: &http::request::Parts, agent: &str) -> Response {
    let said = version(&head.headers, head.uri.query()).ok().flatten();
    respond(state, &head.headers, agent, said.map_or(Form::V0_3, Form::from))
}

/// `GET /.well-known/agent.json`: the card of April 2025.
pub(crate) async fn card_of_april_2025(Extract(state): Extract<Arc<State>>, headers: HeaderMap) -> Response {
    respond(&state, &headers, state.runtime.agents().default_name(), Form::April2025)
}

pub(super) fn respond(state: &State, headers: &HeaderMap, agent: &str, form: Form) -> Response {
    if let Err(refusal) = state.check_origin(headers) {
        return Problem(refusal).into_response();
    }
    let kept = state.a2a.cards.get(state, agent, form, base_url(state, headers));
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|said| matches_etag(said, &kept.etag));
    let mut response =
        if known { StatusCode::NOT_MODIFIED.into_response() } else { json_response(StatusCode::OK, kept.body.clone()) };
    let answer = response.headers_mut();
    answer.insert(header::ETAG, kept.etag.clone());
    answer.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=60"));
    answer.insert(header::VARY, HeaderValue::from_static("A2A-Version, Host"));
    response
}

/// `If-None-Match` may name several, or all there are.
fn matches_etag(said: &HeaderValue, etag: &HeaderValue) -> bool {
    let (Ok(said), Ok(etag)) = (said.to_str(), etag.to_str()) else { return false };
    said.split(',').map(str::trim).any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == etag)
}

/// `GET /.well-known/jwks.json`: the public part of the key that signs the cards.
pub(crate) async fn jwks(Extract(state): Extract<Arc<State>>) -> Response {
    let keys: Vec<Value> = state.a2a.options.card_key.iter().map(|key| key.jwk()).collect();
    let mut response = json_response(StatusCode::OK, json!({ "keys": keys }).to_string().into());
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    response
}

/// Cards as they were sent. A signature is another one each time it is made, so a card is signed once and kept.
#[derive(Default)]
pub(crate) struct Cache {
    public: Mutex<FxHashMap<(String, Form, String), Kept>>,
    /// Of extended cards, by what they say: each caller's is another.
    signatures: Mutex<FxHashMap<(Form, String), Vec<AgentCardSignature>>>,
}

#[derive(Clone)]
struct Kept {
    body: Bytes,
    etag: HeaderValue,
}

impl Cache {
    fn get(&self, state: &State, agent: &str, form: Form, base_url: String) -> Kept {
        let place = (agent.to_owned(), form, base_url);
        if let Some(kept) = self.public.lock().get(&place) {
            return kept.clone();
        }
        let made = make(state, agent, form, &place.2);
        let mut cards = self.public.lock();
        if cards.len() >= CARDS_MAX {
            cards.clear();
        }
        cards.entry(place).or_insert(made).clone()
    }

    /// The signatures of a card that has none yet, in the form that it is given in.
    fn signatures(&self, key: &CardKey, form: Form, card: &AgentCard, base_url: &str) -> Vec<AgentCardSignature> {
        let mut written = form.write(card);
        let place = (form, written.to_string());
        if let Some(kept) = self.signatures.lock().get(&place) {
            return kept.clone();
        }
        key.sign(&mut written, form.read_as_1_0(card).as_ref(), &format!("{base_url}{JWKS}"));
        let made: Vec<AgentCardSignature> = serde_json::from_value(written["signatures"].take()).unwrap_or_default();
        let mut signatures = self.signatures.lock();
        if signatures.len() >= CARDS_MAX {
            signatures.clear();
        }
        signatures.entry(place).or_insert(made).clone()
    }
}

fn make(state: &State, agent: &str, form: Form, base_url: &str) -> Kept {
    let public = public(state, agent, base_url).agent_card();
    let mut card = form.write(&public);
    if let Some(key) = signer(state, base_url) {
        key.sign(&mut card, form.read_as_1_0(&public).as_ref(), &format!("{base_url}{JWKS}"));
    }
    let body = Bytes::from(card.to_string());
    Kept { etag: etag(&body), body }
}

/// What anybody may know about an agent: itself.
fn public(state: &State, agent: &str, base_url: &str) -> Card {
    let skill = skill(state, agent);
    let default = state.runtime.agents().default_name() == agent;
    let options = &state.a2a.options;
    Card {
        name: agent.to_owned(),
        description: skill.description.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        base_url: base_url.to_owned(),
        path: if default { "/a2a".to_owned() } else { format!("/a2a/agents/{agent}") },
        grpc_tenant: (!default).then(|| tenant::of_agent(agent)),
        skills: vec![skill],
        accepts: state.runtime.agents().get(agent).map(|agent| agent.accepts.clone()).unwrap_or_default(),
        scopes: (!state.dev).then(|| SCOPES.map(|scope| scope.as_str().to_owned()).to_vec()),
        push_notifications: options.push_notifications,
        extended: offers_extended(state),
        required_extensions: options.required_extensions.clone(),
        tenant: None,
    }
}

/// Whether there is an extended card. It is for those who were let in by a credential (§13.3), so where none is asked for nobody
/// is offered it.
pub(super) fn offers_extended(state: &State) -> bool {
    state.a2a.options.extended_card && !state.dev
}

/// The extended card: what a caller may know besides, which is every agent there is and what to give as tenant. Where it says
/// that this server is reached is what the operator says; [`at`] puts where this caller did, and signs it.
pub(crate) fn extended(state: &State, caller: &Caller, agent: &str) -> AgentCard {
    let base_url = base_url(state, &HeaderMap::new());
    let others = state.runtime.agents().names().filter(|name| *name != agent).map(|name| skill(state, name));
    let mut card = public(state, agent, &base_url);
    card.skills.extend(others);
    card.tenant = Some(caller.account.to_string());
    card.agent_card()
}

/// A card for one who reached this server by the host in these headers, signed in the form that they get it in.
pub(super) fn at(
    state: &State,
    headers: &HeaderMap,
    (agent, caller): (&str, &Caller),
    form: Form,
    card: AgentCard,
) -> AgentCard {
    let base_url = base_url(state, headers);
    let mut here = public(state, agent, &base_url);
    here.tenant = Some(caller.account.to_string());
    let card = AgentCard { supported_interfaces: here.agent_card().supported_interfaces, ..card };
    let signatures = signer(state, &base_url).map(|key| state.a2a.cards.signatures(key, form, &card, &base_url));
    AgentCard { signatures, ..card }
}

/// What HTTP says of an answer that is an extended card: it is this caller's, and may be kept for a while. A card that the caller has
/// already is not sent again.
pub(super) fn kept_by_caller(headers: &HeaderMap, mut response: Response, body: &[u8]) -> Response {
    let etag = etag(body);
    if headers.get(header::IF_NONE_MATCH).is_some_and(|said| matches_etag(said, &etag)) {
        response = StatusCode::NOT_MODIFIED.into_response();
    }
    let answer = response.headers_mut();
    answer.insert(header::ETAG, etag);
    answer.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, max-age=60"));
    answer.insert(header::VARY, HeaderValue::from_static("Authorization, A2A-Version, Host"));
    response
}

fn skill(state: &State, name: &str) -> Skill {
    let described = state.runtime.agents().get(name).map(|agent| agent.description.clone());
    // A card must not have empty fields, and an agent need not be described.
    let description = described.filter(|text| !text.is_empty()).unwrap_or_else(|| name.to_owned());
    Skill { id: name.to_owned(), description }
}

/// The key for a card that says it is reached there. Anybody may name any host, and what is signed is what this server vouches
/// for: where the operator says it is, or else the address that it listens at and the names of its own machine.
fn signer<'a>(state: &'a State, base_url: &str) -> Option<&'a CardKey> {
    let host = base_url.split_once("://").map_or(base_url, |(_, host)| host);
    let own = state.public_url.is_some() || is_loopback_host(host) || state.listens_at(host);
    state.a2a.options.card_key.as_ref().filter(|_| own)
}

/// Where clients reach this server: what the operator says, else where this one did, which the listener puts into the first
/// `Host` whatever way it was said.
fn base_url(state: &State, headers: &HeaderMap) -> String {
    if let Some(url) = &state.public_url {
        return url.trim_end_matches('/').to_owned();
    }
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    format!("http://{host}")
}

/// Only to tell one card from another.
fn etag(body: &[u8]) -> HeaderValue {
    let mut hasher = FxHasher::default();
    hasher.write(body);
    let etag = format!("\"{:016x}\"", hasher.finish());
    HeaderValue::from_str(&etag).unwrap_or(HeaderValue::from_static("\"\""))
}
