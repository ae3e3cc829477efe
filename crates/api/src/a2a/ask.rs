//! One request, past the door and not yet read: who asks which agent for what, whether that may be asked here, and the asking.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use a2a::A2AError;
use factum_a2a::{
    Around, Dialect, Extensions, Name, Operation, Outcome, Version, extension_required, invalid_field, refused,
};
use factum_model::{ErrorCode, Refusal};
use factum_runtime::Caller;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::rpc::no_such_agent;
use super::{Host, card, tenant};
use crate::keyed::IDEMPOTENCY_KEY;
use crate::limits::check_depth;
use crate::state::{Credential, State, timed_out};

/// How long a message that is waited for may go on waiting while the server closes.
const CLOSING_GRACE: Duration = Duration::from_secs(1);

/// Names that are no texts to be parsed for each request: [`Version::HEADER`] and [`Extensions::HEADERS`] among them.
static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
static VERSION: HeaderName = HeaderName::from_static("a2a-version");
static EXTENSIONS: [HeaderName; 2] =
    [HeaderName::from_static("a2a-extensions"), HeaderName::from_static("x-a2a-extensions")];

/// A request that was let in.
pub(super) struct Ask<'a, H> {
    pub(super) host: &'a H,
    pub(super) state: &'a Arc<State>,
    pub(super) caller: &'a Caller,
    /// The agent of its path, or the default one where that names none.
    pub(super) agent: &'a str,
    /// Whether the path names one: then no tenant leads to another.
    pub(super) agent_is_named: bool,
    pub(super) headers: &'a HeaderMap,
    pub(super) from: IpAddr,
}

impl<H: Host> Ask<'_, H> {
    /// The credential it came with, to look at again while a stream runs.
    pub(super) fn credential(&self) -> Credential {
        Credential::of(self.headers, self.from)
    }

    /// What stands around the params, in headers.
    pub(super) fn around(&self) -> Result<Around, A2AError> {
        let text = |name: &HeaderName| match self.headers.get(name).map(|value| value.to_str()) {
            None => Ok(None),
            Some(Ok(text)) => Ok(Some(text.trim()).filter(|text| !text.is_empty())),
            Some(Err(_)) => Err(invalid_field(name.as_str(), "must be plain text")),
        };
        let after = text(&LAST_EVENT_ID)?.map(str::parse).transpose();
        let after = after.map_err(|_| invalid_field("Last-Event-ID", "must be the id of an event of this stream"))?;
        Ok(Around { idempotency_key: text(&IDEMPOTENCY_KEY)?.map(str::to_owned), after })
    }

    /// Reads the params and asks.
    pub(super) async fn read_and_run(
        &self,
        name: Name,
        dialect: Dialect,
        params: Option<&str>,
    ) -> Result<Outcome, A2AError> {
        self.offered(name, dialect)?;
        let depth = check_depth(params.unwrap_or_default().as_bytes(), self.state.limits.json_depth_max);
        depth.map_err(|refusal| refused(&refusal))?;
        let operation = dialect.read(name, params, self.around()?)?;
        pin!(self.run((name, dialect), operation)).await
    }

    /// Whether it is offered at all: what the card does not promise is refused before its params are looked at.
    pub(super) fn offered(&self, name: Name, dialect: Dialect) -> Result<(), A2AError> {
        let options = &self.state.a2a.options;
        self.activates_what_is_required()?;
        if name.is_push() && !options.push_notifications {
            return Err(no_push());
        }
        if name == Name::ExtendedCard && !card::offers_extended(self.state) {
            // 1.0 keeps the error of 0.3 for agents that promise a card and have none (§3.3.4).
            return Err(match dialect {
                Dialect::V1_0 => A2AError::unsupported_operation("this agent has no extended card"),
                _ => A2AError::extended_card_not_configured(),
            });
        }
        Ok(())
    }

    /// Refuses a request without an extension that every one has to activate, those of an extension too.
    pub(super) fn activates_what_is_required(&self) -> Result<(), A2AError> {
        let required = &self.state.a2a.options.required_extensions;
        if required.is_empty() {
            return Ok(());
        }
        extensions(self.headers).missing(required).map_or(Ok(()), |missing| Err(extension_required(missing)))
    }

    /// Asks the server, once the request is one that this caller may make.
    pub(super) async fn run(
        &self,
        (name, dialect): (Name, Dialect),
        operation: Operation,
    ) -> Result<Outcome, A2AError> {
        let other = self.agent_of_tenant(&operation)?;
        let agent = other.as_deref().unwrap_or(self.agent);
        if operation.wants_push() && !self.state.a2a.options.push_notifications {
            return Err(no_push());
        }
        let server = self.host.server(self.state, self.caller, agent);
        let mut asked = pin!(self.carry_out(&server, agent, dialect, operation));
        if name == Name::SendMessage {
            // It ends by itself, with the task as it stands by then; only a server that closes cannot wait for that.
            return tokio::select! {
                biased;
                outcome = &mut asked => outcome,
                () = closed(self.state) => Err(refused(&Refusal::unavailable(
                    "the server is shutting down; the task goes on, ask for it once the server is back",
                ))),
            };
        }
        let limit = self.state.limits.request_timeout;
        tokio::time::timeout(limit, asked).await.unwrap_or_else(|_| Err(refused(&timed_out(limit))))
    }

    async fn carry_out(
        &self,
        server: &H::Server,
        agent: &str,
        dialect: Dialect,
        operation: Operation,
    ) -> Result<Outcome, A2AError> {
        let outcome = pin!(operation.carry_out(server)).await.map_err(|error| dialect.named(error))?;
        let Outcome::Card(card) = outcome else { return Ok(outcome) };
        let card = card::at(self.state, self.headers, (agent, self.caller), dialect.into(), *card);
        Ok(Outcome::Card(Box::new(card)))
    }

    /// The agent that the tenant of a request leads to, where it names one.
    ///
    /// A tenant is an account, too, and a credential is good for one. Whether there is another account of that name is not told:
    /// every one but one's own is refused in the same words, before anything is looked up.
    fn agent_of_tenant(&self, operation: &Operation) -> Result<Option<String>, A2AError> {
        let Some(said) = operation.tenant().map(tenant::parse) else { return Ok(None) };
        if said.account.is_some_and(|account| account != &*self.caller.account) {
            let message = "this credential is not good for that tenant; leave it out, or give your own account";
            return Err(refused(&Refusal::new(ErrorCode::PermissionDenied, message)));
        }
        let Some(name) = said.agent else { return Ok(None) };
        if self.agent_is_named && name != self.agent {
            return Err(invalid_field("tenant", format!("the tenant is of {name:?}, the path of {:?}", self.agent)));
        }
        agent(self.state, Some(name)).map(|name| Some(name.to_owned())).ok_or_else(no_such_agent)
    }
}

fn no_push() -> A2AError {
    let message = "this agent sends no push notifications; stream, subscribe or poll instead";
    A2AError::new(a2a::error_code::PUSH_NOTIFICATION_NOT_SUPPORTED, message)
}

async fn closed(state: &State) {
    state.runtime.closing().cancelled().await;
    tokio::time::sleep(CLOSING_GRACE).await;
}

/// The version that a request says: the header, or the query parameter of the same name.
pub(super) fn version(headers: &HeaderMap, query: Option<&str>) -> Result<Option<Version>, A2AError> {
    let said = headers.get(&VERSION).map(|value| value.to_str().unwrap_or("?"));
    let queried = query.unwrap_or_default().split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.eq_ignore_ascii_case(Version::HEADER).then_some(value)
    });
    Version::parse(said.or(queried))
}

pub(super) fn extensions(headers: &HeaderMap) -> Extensions {
    let said = EXTENSIONS.iter().flat_map(|name| headers.get_all(name));
    Extensions::parse(said.filter_map(|value| value.to_str().ok()))
}

/// What is activated of the extensions, as the answer echoes it.
pub(super) fn activated(state: &State, headers: &HeaderMap) -> Option<HeaderValue> {
    let activated = extensions(headers).activated(&state.a2a.options.required_extensions)?;
    HeaderValue::from_str(&activated).ok()
}

/// Echoes what is activated, under each name that the request has for it: 0.3 knows another than 1.0.
pub(super) fn echo(activated: &HeaderValue, asked: &HeaderMap, answer: &mut HeaderMap) {
    for name in EXTENSIONS.iter().filter(|name| asked.contains_key(*name)) {
        answer.insert(name, activated.clone());
    }
}

/// The agent of a name, or the default one.
pub(super) fn agent<'a>(state: &'a State, name: Option<&'a str>) -> Option<&'a str> {
    let agents = state.runtime.agents();
    match name {
        None => Some(agents.default_name()),
        Some(name) => agents.get(name).map(|_| name),
    }
}
