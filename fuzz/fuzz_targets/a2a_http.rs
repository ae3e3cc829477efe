//! Everything below `/a2a/` over HTTP+JSON: paths, queries and bodies. Whatever comes is answered, never as a fault of the
//! server, and every error of an operation carries `ErrorInfo`.
//!
//! The first byte picks the method and the version, the first line is the path with its query, the rest is the body.

#![no_main]

use std::net::{IpAddr, Ipv4Addr};

use axum::body::Body;
use factum_api::AuthOptions;
use factum_fuzz::world::{self, World};
use http::{HeaderValue, Method, Request, header};
use http_body_util::{BodyExt, Limited};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// Of an answer, at most. Streams of what is there already end by themselves.
const ANSWER_BYTES_MAX: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let Some((flags, text)) = data.split_first() else { return };
    let mut lines = text.splitn(2, |byte| *byte == b'\n');
    let Ok(path) = std::str::from_utf8(lines.next().unwrap_or_default()) else { return };
    let body = lines.next().unwrap_or_default();
    let Ok(uri) = format!("/a2a/{path}").parse::<http::Uri>() else { return };
    let method = [Method::GET, Method::POST, Method::DELETE, Method::PUT][usize::from(flags & 3)].clone();
    let mut request = Request::builder().method(method).uri(uri).body(Body::from(body.to_vec())).expect("a request");
    let headers = request.headers_mut();
    let version = [None, Some("1.0"), Some("0.3"), Some("9.9")][usize::from(flags >> 2 & 3)];
    if let Some(version) = version {
        headers.insert("a2a-version", HeaderValue::from_static(version));
    }
    if flags & 16 != 0 {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/a2a+json"));
    }
    world::with(&AuthOptions::default(), |world| {
        let bearer = HeaderValue::from_str(&format!("Bearer {}", world.key)).expect("a header");
        request.headers_mut().insert(header::AUTHORIZATION, bearer);
        world.tokio.block_on(ask(world, request));
    });
});

async fn ask(world: &World, request: Request<Body>) {
    let response = world.door.http(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)), request).await;
    let status = response.status().as_u16();
    assert!(status < 500, "{status}");
    let kind = response.headers().get(header::CONTENT_TYPE).cloned();
    if status < 400 || kind != Some(HeaderValue::from_static("application/a2a+json")) {
        return;
    }
    let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await.expect("an answer").to_bytes();
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    let error = &body["error"];
    assert_eq!(error["code"], status);
    assert_eq!(error["details"][0]["domain"], "a2a-protocol.org", "{error}");
}
