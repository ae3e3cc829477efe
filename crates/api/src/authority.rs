//! Whom a request is for, as it says itself. HTTP/1.1 says it in `Host`; HTTP/2, and so gRPC, in `:authority`, which arrives in
//! the URI, as the absolute form of HTTP/1.1 does. Everything behind the listener looks at `Host`, so it is made to say both.

use http::{HeaderValue, Request, header};

/// Puts the authority of the URI first among the `Host` headers. It counts before them (RFC 9110 §7.2), and what they say
/// besides stays: whoever checks for whom a request is has to check all of them.
pub(crate) fn name_host<B>(request: &mut Request<B>) {
    let Some(authority) = request.uri().authority() else { return };
    let Ok(authority) = HeaderValue::from_str(authority.as_str()) else { return };
    let headers = request.headers_mut();
    let others = headers.get_all(header::HOST).iter().filter(|host| **host != authority).cloned();
    let others: Vec<HeaderValue> = others.collect();
    headers.insert(header::HOST, authority);
    for other in others {
        headers.append(header::HOST, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_authority_counts_first_and_hides_nothing() {
        for (uri, hosts, named) in [
            ("/a2a", &["localhost:1"][..], &["localhost:1"][..]),
            ("/a2a", &[], &[]),
            ("http://localhost:2/a2a", &[], &["localhost:2"]),
            ("http://localhost:2/a2a", &["localhost:2"], &["localhost:2"]),
            ("http://localhost:2/a2a", &["evil.example"], &["localhost:2", "evil.example"]),
            ("http://evil.example/a2a", &["a", "b"], &["evil.example", "a", "b"]),
        ] {
            let mut request = Request::get(uri);
            for host in hosts {
                request = request.header(header::HOST, *host);
            }
            let mut request = request.body(()).unwrap();
            name_host(&mut request);
            let found: Vec<&str> =
                request.headers().get_all("host").iter().map(|host| host.to_str().unwrap()).collect();
            assert_eq!(found, named, "{uri} {hosts:?}");
        }
    }
}
