//! Every range at its edges and inside, against what the standard library says of addresses and against plain arithmetic.

use proptest::prelude::*;

use super::*;

fn check(address: &str, expected: Option<Range>) {
    assert_eq!(range_of(address.parse().unwrap()), expected, "{address}");
}

/// The last address before a range, its two ends, and the first one after it.
#[test]
fn ranges_end_where_they_end() {
    let table: &[(&str, &str, Range)] = &[
        ("0.0.0.0", "0.255.255.255", Range::Unspecified),
        ("10.0.0.0", "10.255.255.255", Range::Private),
        ("100.64.0.0", "100.127.255.255", Range::Shared),
        ("127.0.0.0", "127.255.255.255", Range::Loopback),
        ("169.254.0.0", "169.254.255.255", Range::LinkLocal),
        ("172.16.0.0", "172.31.255.255", Range::Private),
        ("192.0.0.0", "192.0.0.255", Range::Protocol),
        ("192.0.2.0", "192.0.2.255", Range::Documentation),
        ("192.88.99.0", "192.88.99.255", Range::Tunnel),
        ("192.168.0.0", "192.168.255.255", Range::Private),
        ("198.18.0.0", "198.19.255.255", Range::Benchmarking),
        ("198.51.100.0", "198.51.100.255", Range::Documentation),
        ("203.0.113.0", "203.0.113.255", Range::Documentation),
    ];
    for (first, last, range) in table {
        let (first, last): (Ipv4Addr, Ipv4Addr) = (first.parse().unwrap(), last.parse().unwrap());
        assert_eq!(range_of(first.into()), Some(*range), "{first}");
        assert_eq!(range_of(last.into()), Some(*range), "{last}");
        if let Some(before) = first.to_bits().checked_sub(1) {
            assert_eq!(range_of(Ipv4Addr::from(before).into()), None, "before {first}");
        }
        assert_eq!(range_of(Ipv4Addr::from(last.to_bits() + 1).into()), None, "after {last}");
    }
    check("223.255.255.255", None);
    check("224.0.0.0", Some(Range::Multicast));
    check("239.255.255.255", Some(Range::Multicast));
    check("240.0.0.0", Some(Range::Reserved));
    check("255.255.255.254", Some(Range::Reserved));
    check("255.255.255.255", Some(Range::Broadcast));
}

#[test]
fn the_ranges_of_ipv6() {
    let table: &[(&str, Option<Range>)] = &[
        ("::", Some(Range::Unspecified)),
        ("::1", Some(Range::Loopback)),
        ("::2", Some(Range::Tunnel)),
        ("::7f00:1", Some(Range::Tunnel)),
        ("::ffff:127.0.0.1", Some(Range::Loopback)),
        ("::ffff:169.254.169.254", Some(Range::LinkLocal)),
        ("::ffff:8.8.8.8", None),
        ("64:ff9b::8.8.8.8", None),
        ("64:ff9b::127.0.0.1", Some(Range::Loopback)),
        ("64:ff9b::10.1.2.3", Some(Range::Private)),
        ("64:ff9b:1::8.8.8.8", Some(Range::Tunnel)),
        ("64:ff9b:0:1::8.8.8.8", Some(Range::Reserved)),
        ("100::1", Some(Range::Reserved)),
        ("1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Some(Range::Reserved)),
        ("2000::", None),
        ("2001::1", Some(Range::Tunnel)),
        ("2001:2::1", Some(Range::Benchmarking)),
        ("2001:10::1", Some(Range::Protocol)),
        ("2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", Some(Range::Protocol)),
        ("2001:200::", None),
        ("2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", None),
        ("2001:db8::", Some(Range::Documentation)),
        ("2001:db9::", None),
        ("2001:4860:4860::8888", None),
        ("2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None),
        ("2002::", Some(Range::Tunnel)),
        ("2002:7f00:1::", Some(Range::Tunnel)),
        ("2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Some(Range::Tunnel)),
        ("2003::", None),
        ("3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None),
        ("3fff::", Some(Range::Documentation)),
        ("3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", Some(Range::Documentation)),
        ("3fff:1000::", None),
        ("4000::", Some(Range::Reserved)),
        ("5f00::1", Some(Range::Protocol)),
        ("fbff::", Some(Range::Reserved)),
        ("fc00::", Some(Range::UniqueLocal)),
        ("fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Some(Range::UniqueLocal)),
        ("fe00::", Some(Range::Reserved)),
        ("fe80::", Some(Range::LinkLocal)),
        ("febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Some(Range::LinkLocal)),
        ("fec0::1", Some(Range::SiteLocal)),
        ("ff02::1", Some(Range::Multicast)),
    ];
    for (address, expected) in table {
        check(address, *expected);
    }
}

/// Written without the table: what the standard library knows, and arithmetic for what it does not.
fn not_public(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 198 && (18..20).contains(&b))
        || (a, b, c) == (192, 0, 0)
        || (a, b, c) == (192, 88, 99)
}

/// Near the edges, where mistakes are: a first octet that matters, and the rest at random.
fn address() -> impl Strategy<Value = Ipv4Addr> {
    let first = prop_oneof![
        any::<u8>(),
        Just(0u8),
        Just(9),
        Just(10),
        Just(11),
        Just(100),
        Just(127),
        Just(128),
        Just(169),
        Just(172),
        Just(192),
        Just(198),
        Just(203),
        Just(224),
        Just(239),
        Just(240),
        Just(255)
    ];
    let second = prop_oneof![
        any::<u8>(),
        Just(0u8),
        Just(15),
        Just(16),
        Just(17),
        Just(18),
        Just(19),
        Just(20),
        Just(31),
        Just(32),
        Just(51),
        Just(63),
        Just(64),
        Just(88),
        Just(127),
        Just(128),
        Just(168),
        Just(254)
    ];
    let third = prop_oneof![any::<u8>(), Just(0u8), Just(2), Just(99), Just(100), Just(113)];
    (first, second, third, any::<u8>()).prop_map(|(a, b, c, d)| Ipv4Addr::new(a, b, c, d))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn the_table_agrees_with_arithmetic(address in address()) {
        prop_assert_eq!(range_of(address.into()).is_some(), not_public(address));
    }

    #[test]
    fn an_address_inside_an_address_is_no_way_around(address in address()) {
        let plain = range_of(address.into());
        let [a, b, c, d] = address.octets().map(u16::from);
        let (high, low) = (a << 8 | b, c << 8 | d);
        prop_assert_eq!(range_of(address.to_ipv6_mapped().into()), plain);
        prop_assert_eq!(range_of(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low).into()), plain);
        for tunnel in [
            Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
            Ipv6Addr::new(0x2001, 0, high, low, 0, 0, !high, !low),
            Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low),
        ] {
            prop_assert_eq!(range_of(tunnel.into()), Some(Range::Tunnel));
        }
        prop_assert!(range_of(Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low).into()).is_some());
    }

    #[test]
    fn outside_of_global_unicast_nothing_is_public(bits in any::<u128>()) {
        let address = Ipv6Addr::from(bits);
        let global = address.segments()[0] >> 13 == 1;
        let translated = meant(address.into()) != IpAddr::from(address);
        prop_assert!(global || translated || range_of(address.into()).is_some());
    }
}
