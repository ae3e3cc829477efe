//! What every transport shares, and the door every request goes through: who is it, and may it ask now.

use std::any::Any;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use factum_model::Refusal;
use factum_model::json::Encoded;
use factum_runtime::{CallError, Caller, Runtime};
use http::{HeaderMap, HeaderValue};

use crate::a2a::Setup;
use crate::auth::{self, Authenticator};
use crate::channels;
use crate::limits::{TransportLimits, check_depth};
use crate::metrics::{Metrics, Open, Transport};
use crate::rate::Rates;
use crate::said::{Said, check_origin};

/// Shared by every request.
pub(crate) struct State {
    pub(crate) runtime: Runtime,
    pub(crate) auth: Authenticator,
    pub(crate) dev: bool,
    pub(crate) limits: TransportLimits,
    pub(crate) heartbeat: Duration,
    pub(crate) metrics: Arc<Metrics>,
    /// Where clients reach this server, if the operator says so.
    pub(crate) public_url: Option<String>,
    /// Where it listens, if that is at one address.
    pub(crate) listen: Option<IpAddr>,
    pub(crate) a2a: Setup,
    rates: Rates,
}

/// The remote address of a request, put there by the accept loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// A connection's place among those that may be open at once, held by whoever still uses the connection: also by a
/// WebSocket, which outlives the request that opened it.
#[derive(Clone)]
pub(crate) struct Place {
    _held: Arc<dyn Any + Send + Sync>,
}

impl Place {
    pub(crate) fn new(held: impl Any + Send + Sync) -> Self {
        Self { _held: Arc::new(held) }
    }
}

/// What somebody was let in with, to look at it again later.
#[derive(Clone)]
pub(crate) struct Credential {
    authorization: Option<HeaderValue>,
    peer: IpAddr,
}

impl Credential {
    pub(crate) fn of(headers: &HeaderMap, peer: IpAddr) -> Self {
        Self { authorization: headers.get(http::header::AUTHORIZATION).cloned(), peer }
    }

    /// Whether it is an API key, which can be revoked here.
    pub(crate) fn is_key(&self) -> bool {
        self.text().is_some_and(auth::is_key)
    }

    fn text(&self) -> Option<&str> {
        self.authorization.as_ref().map(|value| value.to_str().unwrap_or_default())
    }
}

impl State {
    pub(crate) fn new(
        runtime: Runtime,
        auth: Authenticator,
        dev: bool,
        limits: TransportLimits,
        heartbeat: Duration,
        metrics: Arc<Metrics>,
    ) -> Self {
        let rates = Rates::new(&limits);
        Self {
            runtime,
            auth,
            dev,
            limits,
            heartbeat,
            metrics,
            public_url: None,
            listen: None,
            a2a: Setup::default(),
            rates,
        }
    }

    /// The caller behind a request's headers: authenticated, within its rate, with its trace context.
    pub(crate) async fn admit(&self, headers: &HeaderMap, peer: IpAddr) -> Result<Caller, Refusal> {
        self.admit_who(&Said::by(headers, self.dev), peer).await
    }

    /// The same of headers that were read before.
    pub(crate) async fn admit_who(&self, said: &Said, peer: IpAddr) -> Result<Caller, Refusal> {
        let authorization = said.authorization()?;
        let mut caller = self.auth.authenticate(authorization, peer).await?;
        self.check_rate(&caller)?;
        caller.trace = said.trace.clone();
        caller.channel = said.channel()?;
        Ok(caller)
    }

    /// In dev, refuses requests that a web page of another site made its visitor's browser send.
    pub(crate) fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if self.dev { check_origin(headers) } else { Ok(()) }
    }

    /// Whether this host, with or without a port, is the address that the server listens at.
    pub(crate) fn listens_at(&self, host: &str) -> bool {
        let address = host.parse::<IpAddr>().ok();
        let address = address.or_else(|| host.parse::<SocketAddr>().ok().map(|address| address.ip()));
        address.is_some() && address == self.listen
    }

    /// Refuses a caller who was let in before and would not be now: keys are revoked and tokens run out while streams and
    /// connections stay open. Its rate is no question here.
    pub(crate) async fn still_admits(&self, credential: &Credential) -> Result<(), Refusal> {
        self.auth.authenticate(credential.text(), credential.peer).await.map(|_| ())
    }

    /// Counts a stream while it is open.
    pub(crate) fn stream(&self, transport: Transport) -> StreamGuard {
        StreamGuard::new(&self.metrics, transport)
    }

    pub(crate) fn check_rate(&self, caller: &Caller) -> Result<(), Refusal> {
        self.rates.check(caller)
    }

    /// Forgets principals that have not called for a while.
    pub(crate) fn sweep_rates(&self) {
        self.rates.sweep();
    }

    /// Carries a command out within the time limit.
    pub(crate) async fn call(&self, caller: &Caller, method: &str, params: &str) -> Result<Encoded, CallError> {
        check_depth(params.as_bytes(), self.limits.json_depth_max)?;
        // A list of values in the order of the fields would be read as params, too.
        if !params.trim_start().starts_with('{') {
            return Err(Refusal::invalid("params must be an object").into());
        }
        if method == channels::STREAM {
            let message = "channels/stream is a stream: POST /a2a or /v1/channels/stream, or ask on a WebSocket";
            return Err(Refusal::invalid(message).into());
        }
        self.rates.check_command(caller, method)?;
        let call = self.runtime.call_by_name(caller, method, params);
        let limit = self.limits.request_timeout + self.runtime.wait_max(method);
        match tokio::time::timeout(limit, call).await {
            Ok(answer) => answer,
            Err(_) => Err(timed_out(limit).into()),
        }
    }
}

/// A stream that is open, and where what it sends is counted.
pub(crate) struct StreamGuard {
    metrics: Arc<Metrics>,
    transport: Transport,
    _open: Open,
}

impl StreamGuard {
    pub(crate) fn new(metrics: &Arc<Metrics>, transport: Transport) -> Self {
        Self { metrics: metrics.clone(), transport, _open: metrics.stream(transport) }
    }

    pub(crate) fn sent(&self, events: usize) {
        self.metrics.events_sent(self.transport, events);
    }
}

pub(crate) fn timed_out(limit: Duration) -> Refusal {
    let message = "the request took longer than request_timeout; whether it took effect is not known";
    Refusal::unavailable(message).with("request_timeout_ms", u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
}
