//! Addresses of push notifications: which are refused when they are set, and what is said of them.

use factum_outbound::LOOPBACK;

use super::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Secrets {
    None,
    Empty,
    Token,
    Credentials,
}

fn config(url: &str, secrets: Secrets) -> TaskPushNotificationConfig {
    let (token, credentials) = match secrets {
        Secrets::None => (None, None),
        Secrets::Empty => (Some(String::new()), Some(String::new())),
        Secrets::Token => (Some("t".to_owned()), None),
        Secrets::Credentials => (None, Some("c".to_owned())),
    };
    TaskPushNotificationConfig {
        url: url.to_owned(),
        id: None,
        task_id: "t".to_owned(),
        token,
        authentication: Some(AuthenticationInfo { scheme: "Bearer".to_owned(), credentials }),
        tenant: None,
    }
}

fn policy(allow: &[&str]) -> Policy {
    Policy::new(allow.iter().map(|network| network.parse().expect("a network")).collect())
}

/// What is said of an address, and nothing where it is taken. The field is named each time.
fn said(url: &str, secrets: Secrets, policy: &Policy) -> Option<String> {
    let error = check("the.field", &config(url, secrets), policy).err()?;
    assert_eq!(error.code, a2a::error_code::INVALID_PARAMS, "{url}");
    let violations = error.details.iter().flatten().find_map(|detail| detail.value.get("fieldViolations").cloned());
    assert_eq!(violations.expect("fields")[0]["field"], "the.field", "{url}");
    Some(error.message.strip_prefix("the.field: ").expect("the field first").to_owned())
}

#[test]
fn what_can_never_be_delivered_to_is_refused() {
    let public = policy(&[]);
    let table = [
        ("", "it must begin with http:// or https://"),
        ("nonsense", "it must begin with http:// or https://"),
        ("/relative", "it must begin with http:// or https://"),
        ("//example.com/", "it must begin with http:// or https://"),
        ("ftp://example.com/", "it must begin with http:// or https://"),
        ("HTTPS://example.com/", "it must begin with http:// or https://"),
        ("https://", "it names no host"),
        ("https:///hook", "it names no host"),
        ("https://:443/", "it names no host"),
        ("https://user@example.com/", "it names a user or a password"),
        ("https://user:secret@example.com/", "it names a user or a password"),
        ("https://example.com:0/", "its port is not a number"),
        ("https://example.com:99999/", "its port is not a number"),
        ("https://example.com/#part", "it has a part behind #"),
        ("https://exa mple.com/", "it holds a space"),
        ("https://example.com\\@evil.example/", "it holds a space, a backslash"),
        ("https://exämple.com/", "it holds a character that is not printable ASCII"),
        ("https://127.0.0.1/", "a loopback address, which is not reached from here"),
        ("https://[::1]/", "a loopback address"),
        ("https://[::ffff:127.0.0.1]/", "a loopback address"),
        ("https://10.0.0.1/", "a private address"),
        ("https://192.168.1.1:8443/", "a private address"),
        ("http://169.254.169.254/latest/meta-data/", "a link-local address"),
        ("https://0.0.0.0/", "an unspecified address"),
        ("https://[fd00::1]/", "a unique local address"),
        ("https://localhost/", "it names this machine"),
        ("https://api.localhost/", "it names this machine"),
        ("https://2130706433/", "its host is a number, but no plain IPv4 address"),
        ("https://0x7f.1/", "its host is a number, but no plain IPv4 address"),
        ("https://127.1/", "its host is a number, but no plain IPv4 address"),
        ("https://0177.0.0.1/", "its host is a number, but no plain IPv4 address"),
        ("https://127.0.0.1./", "its host is not a name"),
        ("https://%6cocalhost/", "its host is not a name"),
        ("https://[fe80::1%25eth0]/", "its host in brackets is no plain IPv6 address"),
    ];
    for (url, why) in table {
        let said = said(url, Secrets::None, &public).unwrap_or_else(|| panic!("{url} was taken"));
        assert!(said.contains(why), "{url}: {said}");
        assert!(!said.contains("secret"), "{said}");
    }
}

#[test]
fn what_may_be_reached_is_taken_without_a_lookup() {
    let (public, dev, office) = (policy(&[]), policy(&LOOPBACK), policy(&["10.1.0.0/16"]));
    let table = [
        (&public, "https://example.com/hook?task=1"),
        (&public, "https://nobody.has.this.name.invalid/"),
        (&public, "https://8.8.8.8:8443/"),
        (&public, "http://example.com/"),
        (&dev, "http://127.0.0.1:9/hook"),
        (&dev, "http://[::1]:9/"),
        (&dev, "http://localhost:9/"),
        (&dev, "https://example.com/"),
        (&office, "http://10.1.2.3/"),
    ];
    for (policy, url) in table {
        assert_eq!(said(url, Secrets::None, policy), None, "{url}");
    }
    assert!(said("http://10.1.2.3/", Secrets::None, &dev).is_some());
    assert!(said("http://127.0.0.1/", Secrets::None, &office).is_some());
}

#[test]
fn secrets_are_not_sent_in_the_clear() {
    let (public, dev) = (policy(&[]), policy(&LOOPBACK));
    for secrets in [Secrets::Token, Secrets::Credentials] {
        let refused = said("http://example.com/", secrets, &public).expect("a refusal");
        assert_eq!(refused, "a token or credentials are not sent in the clear; give an https address");
        assert_eq!(said("http://example.com/", secrets, &dev), Some(refused));
        assert_eq!(said("https://example.com/", secrets, &public), None);
        assert_eq!(said("http://127.0.0.1:9/", secrets, &dev), None);
    }
    assert_eq!(said("http://example.com/", Secrets::Empty, &public), None);
}
