//! Reading an address strictly: one spelling for each, and everything that two readers could read differently is refused.
//!
//! Libraries are kind to odd spellings: `0x7f.1`, `127.1`, `%6c`ocalhost, full-width digits, tabs and backslashes all lead
//! somewhere. A guard that is as kind has to be kind in exactly the same way, so this one is not kind at all. What it
//! accepts is read again by the library that sends the request, and both must see the same host and port.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use reqwest::Url;

use crate::error::Error;
use crate::policy::Policy;

/// The most characters of an address.
const URL_CHARS_MAX: usize = 2048;
/// RFC 1035 §2.3.4.
const NAME_CHARS_MAX: usize = 253;
const LABEL_CHARS_MAX: usize = 63;

/// What is wrong with how an address is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Spelling {
    #[error("it must begin with http:// or https://, in small letters")]
    Scheme,
    #[error("it holds a character that is not printable ASCII; write names in Punycode and paths percent-encoded")]
    Character,
    #[error("it holds a space, a backslash or another character that addresses do not hold")]
    Unsafe,
    #[error("it is longer than {URL_CHARS_MAX} characters")]
    TooLong,
    #[error("it names a user or a password; give credentials in the configuration instead")]
    Credentials,
    #[error("it names no host")]
    NoHost,
    #[error("its host is not a name: letters, digits and hyphens between dots, without a dot at the end")]
    Name,
    #[error("its host is a number, but no plain IPv4 address; write four decimal numbers without leading zeros")]
    Number,
    #[error("its host in brackets is no plain IPv6 address; write it without a zone")]
    Brackets,
    #[error("its port is not a number from 1 to 65535")]
    Port,
    #[error("it has a part behind #, which is never sent; leave it out")]
    Fragment,
    #[error(
        "it names this machine, which is not reached from here; where that is meant, add 127.0.0.0/8 to allow below [outbound]"
    )]
    Localhost,
    #[error("it can be read in more than one way")]
    Ambiguous,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

/// Where an address leads before anything is looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// In small letters.
    Name(String),
    Address(IpAddr),
}

/// An address that may be asked, as far as its spelling tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    url: Url,
    scheme: Scheme,
    host: Host,
    port: u16,
}

impl Target {
    /// Reads an address and judges what can be judged without a lookup.
    pub fn parse(text: &str, policy: &Policy) -> Result<Self, Error> {
        let target = read(text).map_err(|problem| bad(text, problem))?;
        match &target.host {
            Host::Address(address) => policy.check(&address.to_string(), &[*address])?,
            Host::Name(name) if is_localhost(name) && !policy.names_loopback() => {
                return Err(bad(text, Spelling::Localhost));
            }
            Host::Name(_) => {}
        }
        Ok(target)
    }

    pub fn url(&self) -> &Url {
        &self.url
    }

    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    pub fn host(&self) -> &Host {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The host as it is shown.
    pub fn host_name(&self) -> String {
        match &self.host {
            Host::Name(name) => name.clone(),
            Host::Address(address) => address.to_string(),
        }
    }

    /// Whether a secret may be sent there: not in the clear, except within a network that configuration names.
    pub fn keeps_secrets(&self, policy: &Policy) -> bool {
        match (&self.scheme, &self.host) {
            (Scheme::Https, _) => true,
            (Scheme::Http, Host::Address(address)) => policy.names(*address),
            (Scheme::Http, Host::Name(name)) => is_localhost(name) && policy.names_loopback(),
        }
    }
}

fn bad(text: &str, problem: Spelling) -> Error {
    // What is shown may end up in a log: without what stands before an `@`, and not endless.
    let shown: String = match (problem, text.rsplit_once('@')) {
        (Spelling::Credentials, Some((_, rest))) => format!("…@{}", rest.chars().take(80).collect::<String>()),
        _ => text.chars().take(120).collect(),
    };
    Error::Address { url: shown, problem }
}

fn read(text: &str) -> Result<Target, Spelling> {
    check_characters(text)?;
    let (scheme, rest) = match (text.strip_prefix("http://"), text.strip_prefix("https://")) {
        (Some(rest), _) => (Scheme::Http, rest),
        (_, Some(rest)) => (Scheme::Https, rest),
        _ => return Err(Spelling::Scheme),
    };
    if rest.contains('#') {
        return Err(Spelling::Fragment);
    }
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(Spelling::Credentials);
    }
    let (host, port) = split_port(authority)?;
    let host = read_host(host)?;
    let port = match (port, scheme) {
        (Some(port), _) => read_port(port)?,
        (None, Scheme::Http) => 80,
        (None, Scheme::Https) => 443,
    };
    let url = Url::parse(text).map_err(|_| Spelling::Ambiguous)?;
    if !same(&url, &host, port) {
        return Err(Spelling::Ambiguous);
    }
    Ok(Target { url, scheme, host, port })
}

fn check_characters(text: &str) -> Result<(), Spelling> {
    if text.len() > URL_CHARS_MAX {
        return Err(Spelling::TooLong);
    }
    if !text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return Err(Spelling::Character);
    }
    if text.contains([' ', '\\', '<', '>', '"', '{', '}', '|', '^', '`']) {
        return Err(Spelling::Unsafe);
    }
    Ok(())
}

/// The host, in its brackets where it has some, and what stands behind its colon.
fn split_port(authority: &str) -> Result<(&str, Option<&str>), Spelling> {
    if authority.is_empty() {
        return Err(Spelling::NoHost);
    }
    if authority.starts_with('[') {
        let end = authority.find(']').ok_or(Spelling::Brackets)? + 1;
        let (host, rest) = authority.split_at(end);
        return match rest.strip_prefix(':') {
            None if rest.is_empty() => Ok((host, None)),
            Some(port) => Ok((host, Some(port))),
            None => Err(Spelling::Brackets),
        };
    }
    match authority.split_once(':') {
        None => Ok((authority, None)),
        Some(("", _)) => Err(Spelling::NoHost),
        Some((host, port)) => Ok((host, Some(port))),
    }
}

fn read_port(text: &str) -> Result<u16, Spelling> {
    let plain = !text.is_empty() && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| plain && *port > 0).ok_or(Spelling::Port)
}

fn read_host(text: &str) -> Result<Host, Spelling> {
    if let Some(inside) = text.strip_prefix('[') {
        let address = inside.strip_suffix(']').and_then(|inside| Ipv6Addr::from_str(inside).ok());
        return address.map(|address| Host::Address(address.into())).ok_or(Spelling::Brackets);
    }
    let labels: Vec<&str> = text.split('.').collect();
    if labels.last().is_some_and(|last| is_number(last)) {
        return Ipv4Addr::from_str(text).map(|address| Host::Address(address.into())).map_err(|_| Spelling::Number);
    }
    if text.len() > NAME_CHARS_MAX || !labels.iter().all(|label| is_label(label)) {
        return Err(Spelling::Name);
    }
    Ok(Host::Name(text.to_ascii_lowercase()))
}

/// What a library takes for a part of an IPv4 address when it is the last one: digits, or hexadecimal behind `0x`.
fn is_number(label: &str) -> bool {
    let hex = label.strip_prefix("0x").or(label.strip_prefix("0X"));
    let hex = hex.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    hex || (!label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_label(label: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=LABEL_CHARS_MAX).contains(&label.len())
        && label.bytes().all(inside)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// RFC 6761 §6.3: the name and everything below it.
fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// Whether the library that sends the request reads the same.
fn same(url: &Url, host: &Host, port: u16) -> bool {
    let shown = match host {
        Host::Name(name) => name.clone(),
        Host::Address(IpAddr::V4(address)) => address.to_string(),
        Host::Address(IpAddr::V6(address)) => {
            let theirs = url.host_str().and_then(|host| host.strip_prefix('[')?.strip_suffix(']')?.parse().ok());
            return theirs == Some(*address) && url.port_or_known_default() == Some(port);
        }
    };
    url.host_str() == Some(shown.as_str()) && url.port_or_known_default() == Some(port) && url.username().is_empty()
}

#[cfg(test)]
mod tests;
