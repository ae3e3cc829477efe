//! What a request's head says of who sends it, before anybody is looked up and whatever is asked.
//!
//! It is a function of the headers alone (and of whether this is `factum dev`), so a head that comes again says the same, and a
//! connection keeps what it said. Whose the credential is, whether it is still good and how often they ask is asked each time.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use factum_model::id::ChannelId;
use factum_model::{ErrorCode, Refusal, Trace};
use http::{HeaderMap, HeaderName};

use crate::auth::unauthenticated;
use crate::peers::channel_of;

/// The longest `traceparent` that is looked at.
const TRACEPARENT_BYTES: usize = 55;

/// A name that is no text to be parsed for each request.
static TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// What was said, or what is wrong with it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Said {
    authorization: Result<Option<Box<str>>, Refusal>,
    pub(crate) trace: Trace,
    channel: Result<Option<ChannelId>, Refusal>,
}

impl Said {
    pub(crate) fn by(headers: &HeaderMap, dev: bool) -> Self {
        let origin = if dev { check_origin(headers) } else { Ok(()) };
        let authorization = origin.and_then(|()| authorization_of(headers));
        Self { authorization, trace: trace_of(headers), channel: channel_of(headers) }
    }

    /// The credential. Refused where it is no text, and whatever it is where a request must not come from there.
    pub(crate) fn authorization(&self) -> Result<Option<&str>, Refusal> {
        self.authorization.as_ref().map(Option::as_deref).map_err(Refusal::clone)
    }

    /// The remote channel that it comes through.
    pub(crate) fn channel(&self) -> Result<Option<ChannelId>, Refusal> {
        self.channel.clone()
    }
}

fn authorization_of(headers: &HeaderMap) -> Result<Option<Box<str>>, Refusal> {
    let value = headers.get(http::header::AUTHORIZATION);
    value.map(|value| value.to_str().map(Box::from)).transpose().map_err(|_| unauthenticated())
}

/// `factum dev` needs no credential, so a page of some web site must not be able to speak for its visitor: a foreign
/// `Origin`, or a `Host` that is not this machine (DNS rebinding), is refused. Over HTTP/2 the host is `:authority`, which the
/// listener puts in front of what `Host` says; all of them have to name this machine.
pub(crate) fn check_origin(headers: &HeaderMap) -> Result<(), Refusal> {
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
fn trace_of(headers: &HeaderMap) -> Trace {
    let parse = || {
        let value = headers.get(&TRACEPARENT)?.to_str().ok().filter(|value| value.len() >= TRACEPARENT_BYTES)?;
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

    /// What is wrong is refused in the same words for each of the ways there are to be let in.
    #[test]
    fn a_request_from_elsewhere_is_refused_before_its_credential_is_read() {
        let said = |fields: &[(&'static str, &[u8])], dev| {
            let value = |value: &[u8]| http::HeaderValue::from_bytes(value).unwrap();
            let headers = fields.iter().map(|(name, text)| (HeaderName::from_static(name), value(text)));
            Said::by(&headers.collect(), dev)
        };
        let bad: [(&'static str, &[u8]); 2] = [("host", b"evil.example"), ("authorization", b"\xff")];
        let code =
            |said: Said| said.authorization().map(|text| text.map(str::to_owned)).map_err(|refusal| refusal.code);
        assert_eq!(code(said(&bad, true)), Err(ErrorCode::PermissionDenied));
        assert_eq!(code(said(&bad, false)), Err(ErrorCode::Unauthenticated));
        assert_eq!(code(said(&bad[..1], false)), Ok(None));
        assert_eq!(code(said(&[("authorization", b"Bearer x")], true)), Ok(Some("Bearer x".to_owned())));
        assert!(said(&[("factum-channel", b"\xff")], true).channel().is_err());
    }
}
