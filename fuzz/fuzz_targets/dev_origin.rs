//! The `Host` and `Origin` headers of `factum dev`, which asks for no credential: whoever is let in names this machine, by
//! the reading of a browser's own URL parser. The first line is the host, the second the origin.

#![no_main]

use std::net::{IpAddr, Ipv4Addr};

use axum::body::Body;
use factum_api::AuthOptions;
use factum_fuzz::world;
use http::{HeaderValue, Request, header};
use libfuzzer_sys::fuzz_target;
use url::{Host, Url};

fuzz_target!(|data: &[u8]| {
    let mut lines = data.splitn(2, |byte| *byte == b'\n');
    let host = lines.next().map(HeaderValue::from_bytes);
    let origin = lines.next().map(HeaderValue::from_bytes);
    let (Ok(host), Ok(origin)) = (host.transpose(), origin.transpose()) else { return };
    let mut request = Request::get("/v1/feed?limit=1").body(Body::empty()).expect("a request");
    for (name, value) in [(header::HOST, &host), (header::ORIGIN, &origin)] {
        if let Some(value) = value {
            request.headers_mut().insert(name, value.clone());
        }
    }
    let dev = AuthOptions { dev: true, ..AuthOptions::default() };
    let status = world::with(&dev, |world| {
        world.tokio.block_on(world.door.http(IpAddr::V4(Ipv4Addr::LOCALHOST), request)).status()
    });
    assert!(status == 200 || status == 403, "{status} for {host:?} and {origin:?}");
    if status == 200 {
        assert!(host.as_ref().is_none_or(|host| is_local(b"http://", host)), "{host:?} is let in");
        assert!(origin.as_ref().is_none_or(|origin| is_local(b"", origin)), "{origin:?} is let in");
    }
});

/// Whether the host of this address is this machine.
fn is_local(scheme: &[u8], address: &HeaderValue) -> bool {
    let text = String::from_utf8_lossy(&[scheme, address.as_bytes()].concat()).into_owned();
    // Addresses of schemes that the URL standard does not know have opaque hosts; what counts is what the host says.
    let text = match text.split_once("://") {
        Some((_, rest)) => format!("http://{rest}"),
        None => text,
    };
    // A bare IPv6 address is what some clients put into `Host`.
    let url = Url::parse(&text).ok().or_else(|| {
        let rest = text.strip_prefix("http://")?;
        Url::parse(&format!("http://[{rest}]")).ok()
    });
    match url.as_ref().and_then(Url::host) {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        // No browser goes to a name whose Punycode makes no sense.
        None => text.contains("xn--"),
    }
}
