//! Hostile spellings, each with what is said of it, and the plain ones that must go on working.

use super::*;
use crate::ranges::Range;

/// What an address comes to: its spelling is refused, or what it leads to is.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Spelling(Spelling),
    Blocked(Range),
    Fine,
}

fn judge(text: &str, policy: &Policy) -> Verdict {
    match Target::parse(text, policy) {
        Ok(_) => Verdict::Fine,
        Err(Error::Address { problem, .. }) => Verdict::Spelling(problem),
        Err(Error::Blocked { range, .. }) => Verdict::Blocked(range),
        Err(other) => panic!("{text}: {other}"),
    }
}

#[rustfmt::skip]
const HOSTILE: &[(&str, Verdict)] = {
    use Verdict::{Blocked, Spelling as S};
    &[
    // Loopback and its relatives, spelled plainly.
    ("http://127.0.0.1/", Blocked(Range::Loopback)),
    ("http://127.0.0.1:8080/", Blocked(Range::Loopback)),
    ("http://127.255.255.254/", Blocked(Range::Loopback)),
    ("http://0.0.0.0/", Blocked(Range::Unspecified)),
    ("http://0.1.2.3/", Blocked(Range::Unspecified)),
    ("http://10.0.0.1/", Blocked(Range::Private)),
    ("http://172.16.0.1/", Blocked(Range::Private)),
    ("http://192.168.1.1/", Blocked(Range::Private)),
    ("http://100.64.0.1/", Blocked(Range::Shared)),
    ("http://169.254.169.254/latest/meta-data/", Blocked(Range::LinkLocal)),
    ("http://192.0.0.192/", Blocked(Range::Protocol)),
    ("http://198.18.0.1/", Blocked(Range::Benchmarking)),
    ("http://203.0.113.9/", Blocked(Range::Documentation)),
    ("http://224.0.0.1/", Blocked(Range::Multicast)),
    ("http://240.0.0.1/", Blocked(Range::Reserved)),
    ("http://255.255.255.255/", Blocked(Range::Broadcast)),
    // The same by name.
    ("http://localhost/", S(Spelling::Localhost)),
    ("http://LOCALHOST/", S(Spelling::Localhost)),
    ("http://LocalHost:7420/", S(Spelling::Localhost)),
    ("http://api.localhost/", S(Spelling::Localhost)),
    ("http://localhost./", S(Spelling::Name)),
    ("http://localhost../", S(Spelling::Name)),
    ("http://%6cocalhost/", S(Spelling::Name)),
    ("http://local%00host/", S(Spelling::Name)),
    ("http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", S(Spelling::Character)),
    ("http://localhost。/", S(Spelling::Character)),
    // One number, or numbers that are not decimal, or too few of them.
    ("http://2130706433/", S(Spelling::Number)),
    ("http://0x7f000001/", S(Spelling::Number)),
    ("http://0X7F000001/", S(Spelling::Number)),
    ("http://017700000001/", S(Spelling::Number)),
    ("http://0x7f.1/", S(Spelling::Number)),
    ("http://0x7f.0x0.0x0.0x1/", S(Spelling::Number)),
    ("http://0177.0.0.1/", S(Spelling::Number)),
    ("http://0177.0000.0000.0001/", S(Spelling::Number)),
    ("http://127.0.0.01/", S(Spelling::Number)),
    ("http://127.0.0.0x1/", S(Spelling::Number)),
    ("http://127.1/", S(Spelling::Number)),
    ("http://127.0.1/", S(Spelling::Number)),
    ("http://127/", S(Spelling::Number)),
    ("http://0/", S(Spelling::Number)),
    ("http://0x/", S(Spelling::Number)),
    ("http://00/", S(Spelling::Number)),
    ("http://127.0.0.1.1/", S(Spelling::Number)),
    ("http://256.0.0.1/", S(Spelling::Number)),
    ("http://127.0.0.4294967297/", S(Spelling::Number)),
    ("http://4294967297/", S(Spelling::Number)),
    ("http://340282366920938463463374607431768211457/", S(Spelling::Number)),
    ("http://3232235777/", S(Spelling::Number)),
    ("http://1.2.3.4.5.6.7.8/", S(Spelling::Number)),
    ("http://example.0x7f/", S(Spelling::Number)),
    ("http://example.1/", S(Spelling::Number)),
    // A dot, a percent sign or another alphabet.
    ("http://127.0.0.1./", S(Spelling::Name)),
    ("http://127.0.0.1.%2f/", S(Spelling::Name)),
    ("http://.127.0.0.1/", S(Spelling::Number)),
    ("http://127..0.1/", S(Spelling::Number)),
    ("http://127%2e0%2e0%2e1/", S(Spelling::Name)),
    ("http://%31%32%37.0.0.1/", S(Spelling::Number)),
    ("http://１２７.０.０.１/", S(Spelling::Character)),
    ("http://127。0。0。1/", S(Spelling::Character)),
    ("http://①②⑦.⓪.⓪.①/", S(Spelling::Character)),
    ("http://١٢٧.٠.٠.١/", S(Spelling::Character)),
    ("http://exämple.com/", S(Spelling::Character)),
    ("http://example.com\u{200b}/", S(Spelling::Character)),
    ("http://example\u{ad}.com/", S(Spelling::Character)),
    // Brackets.
    ("http://[::1]/", Blocked(Range::Loopback)),
    ("http://[0:0:0:0:0:0:0:1]/", Blocked(Range::Loopback)),
    ("http://[0000:0000:0000:0000:0000:0000:0000:0001]/", Blocked(Range::Loopback)),
    ("http://[::]/", Blocked(Range::Unspecified)),
    ("http://[::127.0.0.1]/", Blocked(Range::Tunnel)),
    ("http://[::ffff:127.0.0.1]/", Blocked(Range::Loopback)),
    ("http://[::ffff:7f00:1]/", Blocked(Range::Loopback)),
    ("http://[::FFFF:7F00:0001]/", Blocked(Range::Loopback)),
    ("http://[0:0:0:0:0:ffff:127.0.0.1]/", Blocked(Range::Loopback)),
    ("http://[::ffff:169.254.169.254]/", Blocked(Range::LinkLocal)),
    ("http://[::ffff:10.0.0.1]:80/", Blocked(Range::Private)),
    ("http://[64:ff9b::127.0.0.1]/", Blocked(Range::Loopback)),
    ("http://[64:ff9b::a9fe:a9fe]/", Blocked(Range::LinkLocal)),
    ("http://[64:ff9b:1::8.8.8.8]/", Blocked(Range::Tunnel)),
    ("http://[2002:7f00:1::]/", Blocked(Range::Tunnel)),
    ("http://[2002:a9fe:a9fe::1]/", Blocked(Range::Tunnel)),
    ("http://[2001:0:7f00:1::]/", Blocked(Range::Tunnel)),
    ("http://[fc00::1]/", Blocked(Range::UniqueLocal)),
    ("http://[fd00:ec2::254]/", Blocked(Range::UniqueLocal)),
    ("http://[fe80::1]/", Blocked(Range::LinkLocal)),
    ("http://[fec0::1]/", Blocked(Range::SiteLocal)),
    ("http://[ff02::1]/", Blocked(Range::Multicast)),
    ("http://[2001:db8::1]/", Blocked(Range::Documentation)),
    ("http://[100::1]/", Blocked(Range::Reserved)),
    ("http://[fe80::1%25eth0]/", S(Spelling::Brackets)),
    ("http://[fe80::1%eth0]/", S(Spelling::Brackets)),
    ("http://[::1%251]/", S(Spelling::Brackets)),
    ("http://[::1", S(Spelling::Brackets)),
    ("http://[::1]x/", S(Spelling::Brackets)),
    ("http://[127.0.0.1]/", S(Spelling::Brackets)),
    ("http://[localhost]/", S(Spelling::Brackets)),
    ("http://[]/", S(Spelling::Brackets)),
    ("http://[[::1]]/", S(Spelling::Brackets)),
    ("http://[v1.fe80::a+en1]/", S(Spelling::Brackets)),
    ("http://::1/", S(Spelling::NoHost)),
    // Users, passwords, and what only looks like them.
    ("http://user@example.com/", S(Spelling::Credentials)),
    ("http://user:password@example.com/", S(Spelling::Credentials)),
    ("http://example.com@127.0.0.1/", S(Spelling::Credentials)),
    ("http://example.com:80@127.0.0.1/", S(Spelling::Credentials)),
    ("http://@127.0.0.1/", S(Spelling::Credentials)),
    ("http://:@127.0.0.1/", S(Spelling::Credentials)),
    ("http://127.0.0.1\\@example.com/", S(Spelling::Unsafe)),
    ("http://example.com%40127.0.0.1/", S(Spelling::Number)),
    ("http://example.com#@127.0.0.1/", S(Spelling::Fragment)),
    ("http://127.0.0.1#.example.com/", S(Spelling::Fragment)),
    // Ports.
    ("http://example.com:0/", S(Spelling::Port)),
    ("http://example.com:/", S(Spelling::Port)),
    ("http://example.com:080/", S(Spelling::Port)),
    ("http://example.com:+80/", S(Spelling::Port)),
    ("http://example.com:65536/", S(Spelling::Port)),
    ("http://example.com:80:80/", S(Spelling::Port)),
    ("http://example.com:0x50/", S(Spelling::Port)),
    ("http://:80/", S(Spelling::NoHost)),
    // Characters that some readers drop and some turn into others.
    ("http://127.0.0.1\t/", S(Spelling::Character)),
    ("ht\ntp://example.com/", S(Spelling::Character)),
    ("http://exam\nple.com/", S(Spelling::Character)),
    ("http://example.com\r\nHost: 127.0.0.1/", S(Spelling::Character)),
    ("http://example.com\0.127.0.0.1/", S(Spelling::Character)),
    (" http://example.com/", S(Spelling::Unsafe)),
    ("http://example.com /", S(Spelling::Unsafe)),
    ("http://example.com/a b", S(Spelling::Unsafe)),
    ("http:\\\\127.0.0.1\\", S(Spelling::Unsafe)),
    ("http:/\\127.0.0.1/", S(Spelling::Unsafe)),
    // Names that are none.
    ("http://-example.com/", S(Spelling::Name)),
    ("http://example-.com/", S(Spelling::Name)),
    ("http://example..com/", S(Spelling::Name)),
    ("http://example.com./", S(Spelling::Name)),
    ("http://exa$mple.com/", S(Spelling::Name)),
    ("http://a,b/", S(Spelling::Name)),
    ("http://*.example.com/", S(Spelling::Name)),
    ("http://", S(Spelling::NoHost)),
    ("http:///path", S(Spelling::NoHost)),
    ("http://?query", S(Spelling::NoHost)),
    // Other schemes, and none.
    ("", S(Spelling::Scheme)),
    ("example.com", S(Spelling::Scheme)),
    ("//example.com/", S(Spelling::Scheme)),
    ("http:example.com", S(Spelling::Scheme)),
    ("http:/example.com", S(Spelling::Scheme)),
    ("HTTP://example.com/", S(Spelling::Scheme)),
    ("ftp://example.com/", S(Spelling::Scheme)),
    ("file:///etc/passwd", S(Spelling::Scheme)),
    ("gopher://127.0.0.1:6379/_INFO", S(Spelling::Scheme)),
    ("javascript:alert(1)", S(Spelling::Scheme)),
    ("data:text/plain,hello", S(Spelling::Scheme)),
    ("unix:///run/docker.sock", S(Spelling::Scheme)),
    ("http+unix://%2frun%2fdocker.sock/", S(Spelling::Scheme)),
    ("wss://example.com/", S(Spelling::Scheme)),
    ]
};

#[test]
fn hostile_spellings_are_refused() {
    let policy = Policy::default();
    assert!(HOSTILE.len() >= 80);
    for (text, expected) in HOSTILE {
        assert_eq!(judge(text, &policy), *expected, "{text:?}");
    }
}

/// What configuration allows is allowed in its plain spelling only.
#[test]
fn an_allowed_network_allows_no_odd_spelling() {
    let all = Policy::new(vec!["0.0.0.0/0".parse().unwrap(), "::/0".parse().unwrap()]);
    for (text, expected) in HOSTILE {
        let odd = matches!(expected, Verdict::Spelling(problem) if *problem != Spelling::Localhost);
        let verdict = judge(text, &all);
        assert_eq!(verdict != Verdict::Fine, odd, "{text:?}: {verdict:?}");
    }
}

#[test]
fn plain_addresses_are_read() {
    let table = [
        ("https://example.com", "example.com", 443),
        ("https://example.com/", "example.com", 443),
        ("http://example.com:8080/a/b?c=d&e=%20", "example.com", 8080),
        ("https://EXAMPLE.com/Path", "example.com", 443),
        ("https://xn--exmple-cua.com/", "xn--exmple-cua.com", 443),
        ("https://a2a.agents.example.co.uk/x@y", "a2a.agents.example.co.uk", 443),
        ("https://my_service/", "my_service", 443),
        ("https://1password.example/", "1password.example", 443),
        ("https://0xdeadbeef.example/", "0xdeadbeef.example", 443),
        ("https://8.8.8.8/", "8.8.8.8", 443),
        ("https://[2001:4860:4860::8888]:8443/", "2001:4860:4860::8888", 8443),
        ("https://[64:ff9b::8.8.8.8]/", "64:ff9b::808:808", 443),
        ("http://localhost.example.com/", "localhost.example.com", 80),
        ("http://notlocalhost/", "notlocalhost", 80),
    ];
    for (text, host, port) in table {
        let target = Target::parse(text, &Policy::default()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((target.host_name().as_str(), target.port()), (host, port), "{text}");
    }
}

#[test]
fn a_secret_travels_in_the_clear_only_where_configuration_says_so() {
    let policy = Policy::new(["127.0.0.0/8", "10.0.0.0/8"].map(|network| network.parse().unwrap()).to_vec());
    let table = [
        ("https://example.com/", true),
        ("http://example.com/", false),
        ("http://8.8.8.8/", false),
        ("http://10.1.1.1/", true),
        ("http://127.0.0.1:7420/", true),
        ("http://localhost:7420/", true),
    ];
    for (text, expected) in table {
        assert_eq!(Target::parse(text, &policy).unwrap().keeps_secrets(&policy), expected, "{text}");
    }
}

#[test]
fn a_password_is_not_shown() {
    let error = Target::parse("http://user:hunter2@example.com/", &Policy::default()).unwrap_err();
    assert!(!error.to_string().contains("hunter2"), "{error}");
}

proptest::proptest! {
    /// Whatever the bytes: no panic, and what is accepted is read the same way by the library that sends it.
    #[test]
    fn what_is_accepted_is_read_alike(text in "(https?://)?[\\[\\]0-9a-fx.:%@/\\\\#?A-Z_-]{0,24}") {
        if let Ok(target) = Target::parse(&text, &Policy::default()) {
            proptest::prop_assert_eq!(target.url().port_or_known_default(), Some(target.port()));
            let theirs = target.url().host_str().unwrap().trim_start_matches('[').trim_end_matches(']').to_owned();
            let ours = target.host_name();
            let same = theirs == ours || theirs.parse::<IpAddr>().is_ok_and(|address| Ok(address) == ours.parse());
            proptest::prop_assert!(same, "{} {}", theirs, ours);
        }
    }
}
