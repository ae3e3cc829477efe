//! Why a request was not sent or not answered, by what somebody can do about it.

use std::net::IpAddr;
use std::time::Duration;

use crate::ranges::Range;
use crate::target::Spelling;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address itself: nothing was looked up and nothing was sent.
    #[error("the address {url:?} cannot be used: {problem}")]
    Address { url: String, problem: Spelling },
    /// What the address leads to: nothing was sent.
    #[error(
        "{}, which is not reached from here; where that is meant, add its network to allow below [outbound]",
        leads_to(.host, *.address, *.range)
    )]
    Blocked { host: String, address: IpAddr, range: Range },
    #[error("the name {host} cannot be looked up: {problem}; check its spelling and the resolver of this machine")]
    Unresolved { host: String, problem: String },
    /// There is no connection, so nothing was sent: nobody listens, or TLS is not agreed upon.
    #[error("{host} cannot be reached: {problem}")]
    Unreachable { host: String, problem: String },
    /// A connection that broke. What was sent by then may have arrived.
    #[error("the connection to {host} broke: {problem}")]
    Broken { host: String, problem: String },
    #[error("{host} took longer than {} ms {phase}", .after.as_millis())]
    TimedOut { host: String, phase: Phase, after: Duration },
    /// Redirects are not followed: whoever answers must not choose where we go.
    #[error("{host} answers {status} and points elsewhere{}; give the final address instead", .to.as_ref().map_or(String::new(), |to| format!(" ({to})")))]
    Redirected { host: String, status: u16, to: Option<String> },
    #[error("the answer of {host} has {what} of more than {max} bytes")]
    TooLarge { host: String, what: &'static str, max: usize },
    /// What was asked for cannot be put into a request.
    #[error("the request cannot be made: {0}")]
    Request(String),
    /// The client could not be made: no certificates, no sockets.
    #[error("the client for outbound requests cannot be made: {0}")]
    Setup(String),
}

/// Where a host leads: a name is at an address, an address is one.
fn leads_to(host: &str, address: IpAddr, range: Range) -> String {
    if host.parse() == Ok(address) {
        format!("{address} is {}", range.name())
    } else {
        format!("{host} is at {address}, {}", range.name())
    }
}

/// What took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Connecting,
    Answering,
    /// Between two pieces of a stream.
    Silent,
}

impl std::fmt::Display for Phase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Connecting => "to be connected to",
            Self::Answering => "to answer",
            Self::Silent => "without saying anything",
        })
    }
}

impl Error {
    /// Whether nothing of the request can have reached the other side.
    pub fn is_before_sending(&self) -> bool {
        match self {
            Self::Address { .. }
            | Self::Blocked { .. }
            | Self::Unresolved { .. }
            | Self::Unreachable { .. }
            | Self::Request(_)
            | Self::Setup(_)
            | Self::TimedOut { phase: Phase::Connecting, .. } => true,
            Self::Broken { .. } | Self::TimedOut { .. } | Self::Redirected { .. } | Self::TooLarge { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_is_an_address_is_named_once() {
        let said = |host: &str, address: &str| {
            let (host, address) = (host.to_owned(), address.parse().unwrap());
            let text = Error::Blocked { host, address, range: Range::Loopback }.to_string();
            text.split(", which").next().unwrap_or_default().to_owned()
        };
        assert_eq!(said("127.0.0.1", "127.0.0.1"), "127.0.0.1 is a loopback address");
        assert_eq!(said("::1", "::1"), "::1 is a loopback address");
        assert_eq!(said("0:0:0:0:0:0:0:1", "::1"), "::1 is a loopback address");
        assert_eq!(said("inside.example", "127.0.0.1"), "inside.example is at 127.0.0.1, a loopback address");
    }
}
