//! The head of a request that is read right from its connection. Whatever is taken there, hyper reads in the same way from the same
//! bytes: the same path, the same headers, the same body. Two readers that disagree are how requests are smuggled.

#![no_main]

use std::cell::RefCell;
use std::convert::Infallible;

use factum_api::fuzzing::plain_request;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use libfuzzer_sys::fuzz_target;
use tokio::io::AsyncWriteExt;
use tokio::runtime::{Builder, Runtime};

thread_local! {
    static TOKIO: Runtime = Builder::new_current_thread().build().expect("a runtime");
}

fuzz_target!(|data: &[u8]| {
    let Some((path, headers, body)) = plain_request(data) else { return };
    // A body that has not arrived is waited for.
    let Some(body) = data.get(body) else { return };
    let read = TOKIO.with(|tokio| tokio.block_on(read_by_hyper(data)));
    let read = read.expect("a request that is taken is one");
    assert!([Method::POST, Method::GET].contains(&read.method), "{}", read.method);
    // A fragment is no part of a URI, and of no meaning to anybody.
    assert_eq!(read.path, path.split('#').next().unwrap_or_default());
    assert_eq!(read.headers, headers);
    assert_eq!(read.body, body);
});

struct Read {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Bytes,
}

/// The first request of a connection on which these bytes arrive, and then nothing.
async fn read_by_hyper(data: &[u8]) -> Option<Read> {
    // Nobody reads the answers: there is room for all of them.
    let (mut client, server) = tokio::io::duplex(data.len() * 4 + 4_096);
    client.write_all(data).await.expect("room for all of it");
    client.shutdown().await.expect("an end");
    let first = RefCell::new(None);
    let service = service_fn(async |request: Request<Incoming>| {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map(|body| body.to_bytes());
        let path = head.uri.to_string();
        let read = body.ok().map(|body| Read { method: head.method, path, headers: head.headers, body });
        first.borrow_mut().get_or_insert(read);
        Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
    });
    // What comes behind the first request may be anything.
    drop(http1::Builder::new().half_close(true).serve_connection(TokioIo::new(server), service).await);
    first.into_inner().flatten()
}
