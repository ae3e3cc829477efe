//! What every transport shares, and the door every request goes through: who is it, and may it ask now.

use std::any::Any;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use factum_model::json::Encoded;
use factum_model::{ErrorCode, Refusal, Trace};
use factum_runtime::{CallError, Caller, Runtime};
use http::{HeaderMap, HeaderValue};

use crate::a2a::Setup;
use crate::auth::{self, Authenticator, unauthenticated};
use crate::channels;
use crate::limits::{TransportLimits, check_depth};
use crate::metrics::{Metrics, Open, Transport};
use crate::peers;
use crate::rate::Rates;

/// The longest `traceparent` that is looked at.
const TRACEPARENT_BYTES: usize = 55;

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
        self.check_origin(headers)?;
        let authorization = match headers.get(http::header::AUTHORIZATION) {
            None => None,
            Some(value) => Some(value.to_str().map_err(|_| unauthenticated())?),
        };
        let mut caller = self.auth.authenticate(authorization, peer).await?;
        self.check_rate(&caller)?;
        caller.trace = trace_of(headers);
        caller.channel = peers::channel_of(headers)?;
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

/// `factum dev` needs no credential, so a page of some web site must not be able to speak for its visitor: a foreign
/// `Origin`, or a `Host` that is not this machine (DNS rebinding), is refused. Over HTTP/2 the host is `:authority`, which the
/// listener puts in front of what `Host` says; all of them have to name this machine.
fn check_origin(headers: &HeaderMap) -> Result<(), Refusal> {
    let refuse = |what: &str| {
        let message = format!("factum dev answers only this machine, and the {what} header names another one");
        Err(Refusal::new(ErrorCode::PermissionDenied, message))
    };
    for origin in headers.get_all(http::header::ORIGIN) {
        let host = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
        if !host.is_some_and(is_loopback_host) {
            return refuse("Origin");
        }
    }
    let mut hosts = headers.get_all(http::header::HOST).iter();
    let local = hosts.all(|host| host.to_str().is_ok_and(is_loopback_host));
    if local { Ok(()) } else { refuse("Host") }
}

pub(crate) fn is_loopback_host(host: &str) -> bool {
    // A bare IPv6 address has colons of its own, which are no port.
    if let Ok(address) = host.parse::<IpAddr>() {
        return address.is_loopback();
    }
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    if let Some(inside) = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        return inside.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback());
    }
    if let Ok(address) = name.parse::<Ipv4Addr>() {
        return address.is_loopback();
    }
    // Anything but a plain name could be read in two ways: `evil.example/.localhost` ends like one of ours.
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    plain && (name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost"))
}

/// Reads W3C trace context; anything malformed is no context.
pub(crate) fn trace_of(headers: &HeaderMap) -> Trace {
    let parse = || {
        let value = headers.get("traceparent")?.to_str().ok().filter(|value| value.len() >= TRACEPARENT_BYTES)?;
        let mut parts = value.split('-');
        let (version, trace_id, span_id) = (parts.next()?, parts.next()?, parts.next()?);
        let hex = |text: &str, len| {
            text.len() == len && text.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase())
        };
        let zero = |text: &str| text.bytes().all(|b| b == b'0');
        // `ff` is no version, now or later.
        (hex(version, 2)
            && version != "ff"
            && hex(trace_id, 32)
            && hex(span_id, 16)
            && !zero(trace_id)
            && !zero(span_id))
        .then(|| Trace { trace_id: Some(trace_id.into()), span_id: Some(span_id.into()) })
    };
    parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_counts_as_local() {
        for (host, local) in [
            ("localhost", true),
            ("localhost:7420", true),
            ("app.localhost:3000", true),
            ("127.0.0.1:7420", true),
            ("127.9.9.9", true),
            ("[::1]:7420", true),
            ("::1", true),
            ("evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("localhost.evil.example", false),
            ("0.0.0.0", false),
            ("evil.example/.localhost", false),
            ("evil.example#.localhost", false),
            ("user@.localhost", false),
            ("::1.localhost", false),
            ("[[::1]]", false),
            ("[127.0.0.1]", false),
            ("[localhost]", false),
            ("localhost:", false),
            ("localhost:65536", false),
            ("", false),
        ] {
            assert_eq!(is_loopback_host(host), local, "{host}");
        }
    }

    #[test]
    fn every_host_that_is_named_has_to_be_this_machine() {
        for (hosts, local) in [
            (&[][..], true),
            (&["localhost:7420"], true),
            (&["localhost:7420", "127.0.0.1"], true),
            (&["evil.example", "localhost"], false),
            (&["localhost", "evil.example"], false),
        ] {
            let mut headers = HeaderMap::new();
            for host in hosts {
                headers.append(http::header::HOST, host.parse().unwrap());
            }
            assert_eq!(check_origin(&headers).is_ok(), local, "{hosts:?}");
        }
    }

    #[test]
    fn trace_context_is_taken_only_when_well_formed() {
        let trace = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("traceparent", value.parse().unwrap());
            trace_of(&headers).trace_id.map(|id| id.to_string())
        };
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        assert_eq!(trace(&format!("00-{id}-00f067aa0ba902b7-01")).as_deref(), Some(id));
        assert_eq!(trace("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"), None);
        assert_eq!(trace("00-00000000000000000000000000000000-00f067aa0ba902b7-01"), None);
        assert_eq!(trace(&format!("ff-{id}-00f067aa0ba902b7-01")), None);
        assert_eq!(trace(&format!("0-{id}-00f067aa0ba902b7-01x")), None);
        assert_eq!(trace("junk"), None);
    }
}
