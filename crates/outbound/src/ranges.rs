//! Which addresses are nobody's but ours: every range that the registries of special addresses (RFC 6890 and what
//! followed it) keep off the public internet.
//!
//! IPv6 is judged the other way round: only global unicast (`2000::/3`) is public, and parts of it are not. An address
//! that stands for another one, because it is mapped or translated, is judged by that one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What kind of address is not public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    Unspecified,
    Private,
    Shared,
    Loopback,
    LinkLocal,
    Protocol,
    Documentation,
    Benchmarking,
    Multicast,
    Broadcast,
    Reserved,
    /// An address inside an address: 6to4, Teredo, IPv4-compatible, and translation that a network made for itself.
    Tunnel,
    UniqueLocal,
    SiteLocal,
}

impl Range {
    /// What a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "an unspecified address",
            Self::Private => "a private address",
            Self::Shared => "a carrier's shared address",
            Self::Loopback => "a loopback address",
            Self::LinkLocal => "a link-local address",
            Self::Protocol => "an address kept for protocols",
            Self::Documentation => "an address of documentation",
            Self::Benchmarking => "an address for benchmarks",
            Self::Multicast => "a multicast address",
            Self::Broadcast => "the broadcast address",
            Self::Reserved => "a reserved address",
            Self::Tunnel => "an address inside a tunnel",
            Self::UniqueLocal => "a unique local address",
            Self::SiteLocal => "a site-local address",
        }
    }
}

type V4 = ([u8; 4], u32, Range);
type V6 = ([u16; 8], u32, Range);

/// In the order of the addresses; the first that fits names the range.
const V4_RANGES: &[V4] = &[
    ([0, 0, 0, 0], 8, Range::Unspecified),
    ([10, 0, 0, 0], 8, Range::Private),
    ([100, 64, 0, 0], 10, Range::Shared),
    ([127, 0, 0, 0], 8, Range::Loopback),
    ([169, 254, 0, 0], 16, Range::LinkLocal),
    ([172, 16, 0, 0], 12, Range::Private),
    ([192, 0, 0, 0], 24, Range::Protocol),
    ([192, 0, 2, 0], 24, Range::Documentation),
    ([192, 88, 99, 0], 24, Range::Tunnel),
    ([192, 168, 0, 0], 16, Range::Private),
    ([198, 18, 0, 0], 15, Range::Benchmarking),
    ([198, 51, 100, 0], 24, Range::Documentation),
    ([203, 0, 113, 0], 24, Range::Documentation),
    ([224, 0, 0, 0], 4, Range::Multicast),
    ([255, 255, 255, 255], 32, Range::Broadcast),
    ([240, 0, 0, 0], 4, Range::Reserved),
];

/// The same. What none of them names and `2000::/3` does not hold is reserved.
const V6_RANGES: &[V6] = &[
    ([0, 0, 0, 0, 0, 0, 0, 0], 128, Range::Unspecified),
    ([0, 0, 0, 0, 0, 0, 0, 1], 128, Range::Loopback),
    ([0, 0, 0, 0, 0, 0, 0, 0], 96, Range::Tunnel),
    ([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, Range::Tunnel),
    ([0x100, 0, 0, 0, 0, 0, 0, 0], 64, Range::Reserved),
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 32, Range::Tunnel),
    ([0x2001, 2, 0, 0, 0, 0, 0, 0], 48, Range::Benchmarking),
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, Range::Protocol),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, Range::Documentation),
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, Range::Tunnel),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, Range::Documentation),
    ([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16, Range::Protocol),
    ([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, Range::UniqueLocal),
    ([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, Range::LinkLocal),
    ([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, Range::SiteLocal),
    ([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, Range::Multicast),
];

const GLOBAL_UNICAST: ([u16; 8], u32) = ([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);
/// The well-known prefix of NAT64 (RFC 6052): the last 32 bits are where the packets end up.
const NAT64: ([u16; 8], u32) = ([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);

/// What keeps an address off the public internet. `None` for a public one.
pub fn range_of(address: IpAddr) -> Option<Range> {
    match meant(address) {
        IpAddr::V4(address) => {
            let named = V4_RANGES.iter().find(|(net, bits, _)| v4_within(address, *net, *bits));
            named.map(|(_, _, range)| *range)
        }
        IpAddr::V6(address) => {
            let named = V6_RANGES.iter().find(|(net, bits, _)| v6_within(address, *net, *bits));
            let global = v6_within(address, GLOBAL_UNICAST.0, GLOBAL_UNICAST.1);
            named.map(|(_, _, range)| *range).or((!global).then_some(Range::Reserved))
        }
    }
}

/// The address that packets end up at: a mapped or translated one stands for the IPv4 address in it.
pub(crate) fn meant(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    if let Some(mapped) = v6.to_ipv4_mapped() {
        return mapped.into();
    }
    if v6_within(v6, NAT64.0, NAT64.1) {
        let [.., a, b, c, d] = v6.octets();
        return Ipv4Addr::new(a, b, c, d).into();
    }
    address
}

fn v4_within(address: Ipv4Addr, net: [u8; 4], bits: u32) -> bool {
    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
    (address.to_bits() ^ u32::from_be_bytes(net)) & mask == 0
}

fn v6_within(address: Ipv6Addr, net: [u16; 8], bits: u32) -> bool {
    let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
    (address.to_bits() ^ Ipv6Addr::from(net).to_bits()) & mask == 0
}

#[cfg(test)]
mod tests;
