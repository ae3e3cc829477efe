//! Which addresses may be reached: public ones, and those of networks that configuration names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use crate::error::Error;
use crate::ranges::{Range, meant, range_of};

/// What `factum dev` allows, as one would write it in the configuration.
pub const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1/128"];

/// The networks that are allowed besides the public internet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    allow: Vec<IpNet>,
}

impl Policy {
    pub fn new(allow: Vec<IpNet>) -> Self {
        Self { allow }
    }

    /// Whether configuration names this address's network.
    pub fn names(&self, address: IpAddr) -> bool {
        let address = meant(address);
        self.allow.iter().any(|network| network.contains(&address))
    }

    /// What keeps this address from being reached.
    pub fn refusal(&self, address: IpAddr) -> Option<Range> {
        range_of(address).filter(|_| !self.names(address))
    }

    /// Whether names such as `localhost` may be asked for at all.
    pub(crate) fn names_loopback(&self) -> bool {
        let own = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        own.into_iter().any(|address| self.names(address))
    }

    /// All of them, or none: a name with one good and one bad address is somebody's attempt.
    pub(crate) fn check(&self, host: &str, addresses: &[IpAddr]) -> Result<(), Error> {
        let refused = addresses.iter().find_map(|address| Some((*address, self.refusal(*address)?)));
        match refused {
            None => Ok(()),
            Some((address, range)) => Err(Error::Blocked { host: host.to_owned(), address, range }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(allow: &[&str]) -> Policy {
        Policy::new(allow.iter().map(|network| network.parse().unwrap()).collect())
    }

    #[test]
    fn only_the_networks_that_are_named_are_allowed_besides_public_ones() {
        let office = policy(&["10.1.0.0/16", "fd00:1::/32"]);
        let table = [
            ("8.8.8.8", None),
            ("10.1.2.3", None),
            ("10.2.0.1", Some(Range::Private)),
            ("::ffff:10.1.2.3", None),
            ("::ffff:10.2.0.1", Some(Range::Private)),
            ("fd00:1::7", None),
            ("fd00:2::7", Some(Range::UniqueLocal)),
            ("127.0.0.1", Some(Range::Loopback)),
            ("169.254.169.254", Some(Range::LinkLocal)),
        ];
        for (address, expected) in table {
            assert_eq!(office.refusal(address.parse().unwrap()), expected, "{address}");
        }
        assert!(!office.names_loopback());
        assert!(policy(&LOOPBACK).names_loopback());
    }

    #[test]
    fn one_bad_address_is_enough() {
        let addresses = ["8.8.8.8", "10.0.0.1"].map(|address| address.parse().unwrap());
        let refused = policy(&[]).check("two.example", &addresses).unwrap_err();
        assert!(matches!(refused, Error::Blocked { range: Range::Private, .. }), "{refused}");
        assert!(policy(&["10.0.0.0/8"]).check("two.example", &addresses).is_ok());
    }
}
