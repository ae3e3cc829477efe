//! gRPC: the frame around a message, the messages of `Call` and `Subscribe`, and the way from them to a command. A message
//! that can be read is answered as the runtime answers it, never with `INTERNAL` or `UNKNOWN`.
//!
//! The first byte picks the method and whether the rest is a message or a whole frame.

#![no_main]

use std::net::{IpAddr, Ipv4Addr};

use axum::body::Body;
use factum_api::AuthOptions;
use factum_api::grpc::proto::{CallRequest, CallResponse, SubscribeRequest};
use factum_fuzz::random::Random;
use factum_fuzz::samples;
use factum_fuzz::world::{self, SESSION, World};
use factum_model::commands::COMMANDS;
use factum_model::registry::Kind;
use factum_runtime::CallError;
use futures::FutureExt;
use http::{HeaderMap, HeaderValue, Request, header};
use http_body_util::BodyExt;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use prost::Message;

const SUBSCRIBE: u8 = 1;
const FRAMED: u8 = 2;
const INTERNAL: i32 = 13;
const UNKNOWN: i32 = 2;
/// Parts of an answer that are waited for at most: a stream never ends by itself.
const PARTS_MAX: usize = 32;

fuzz_target!(|data: &[u8]| {
    let Some((flags, rest)) = data.split_first().filter(|_| !world::is_foreign(data)) else { return };
    let frame = if flags & FRAMED != 0 { rest.to_vec() } else { framed(rest) };
    world::with(&AuthOptions::default(), |world| {
        world.tokio.block_on(async {
            if flags & SUBSCRIBE != 0 { subscribe(world, frame).await } else { call(world, frame).await }
        });
    });
});

fn framed(message: &[u8]) -> Vec<u8> {
    [&[0], &u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes()[..], message].concat()
}

/// The message of a frame, where it is one whole frame without compression and with a message in it.
fn message<M: Message + Default + PartialEq + std::fmt::Debug>(frame: &[u8]) -> Option<M> {
    let (prefix, rest) = frame.split_first_chunk::<5>()?;
    let len = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]) as usize;
    let message = M::decode(rest.get(..len).filter(|_| prefix[0] == 0 && rest.len() == len)?).ok()?;
    assert_eq!(M::decode(&*message.encode_to_vec()).ok().as_ref(), Some(&message), "written and read again");
    Some(message)
}

async fn call(world: &World, frame: Vec<u8>) {
    let asked: Option<CallRequest> = message(&frame);
    let direct = |asked: CallRequest| async move {
        let params = if asked.params.trim().is_empty() { "{}" } else { &asked.params };
        world.door.call(&world.caller, &asked.method, params).await
    };
    // Only what writes nothing can be asked twice.
    let reads = |name: &str| COMMANDS.iter().all(|command| command.name != name || command.kind == Kind::Read);
    let before = match asked.clone().filter(|asked| reads(&asked.method)) {
        Some(asked) => Some(direct(asked).await),
        None => None,
    };
    let (status, parts) = send(world, "Call", frame).await;
    let Some(asked) = asked else { return };
    assert!(!matches!(status, Some(INTERNAL | UNKNOWN)), "{status:?} for {asked:?}");
    let is_object = asked.params.trim().is_empty() || asked.params.trim_start().starts_with('{');
    assert!(is_object || status != Some(0), "params that are no object were taken: {asked:?}");
    let answer = parts.first().map(|part| CallResponse::decode(&part[5..]).expect("an answer is a message").result);
    assert_eq!(status == Some(0), answer.is_some(), "{status:?} for {asked:?}");
    let Some(before) = before else { return };
    // Agents work in between. Where the runtime says the same before and after, so does gRPC.
    let after = direct(asked.clone()).await;
    match (before, after) {
        (Ok(one), Ok(two)) if one.get() == two.get() => assert_eq!(answer.as_deref(), Some(one.get())),
        (Err(one), Err(two)) if one == two => {
            assert_eq!(answer, None);
            assert_eq!(one == CallError::UnknownMethod, status == Some(5) && !known(&asked.method), "{asked:?}");
        }
        _ => {}
    }
}

fn known(method: &str) -> bool {
    COMMANDS.iter().any(|command| command.name == method)
}

async fn subscribe(world: &World, frame: Vec<u8>) {
    let asked: Option<SubscribeRequest> = message(&frame);
    let (status, parts) = send(world, "Subscribe", frame).await;
    let Some(asked) = asked else { return };
    assert!(!matches!(status, Some(INTERNAL | UNKNOWN)), "{status:?} for {asked:?}");
    let mut expected = asked.after;
    for part in parts {
        let event = factum_api::grpc::proto::EventMessage::decode(&part[5..]).expect("an event is a message");
        assert!(!world::is_foreign(event.event.as_bytes()), "another account's event");
        assert_eq!(event.event.contains("\"eventId\""), asked.casing == "camel");
        if asked.session_id.is_empty() {
            assert!(!event.cursor.is_empty() && event.sequence == 0, "{event:?}");
        } else {
            expected += 1;
            assert_eq!((event.sequence, event.cursor.as_str()), (expected, ""), "{asked:?}");
        }
    }
}

/// The status, where the answer has ended, and the frames of the answer.
async fn send(world: &World, method: &str, frame: Vec<u8>) -> (Option<i32>, Vec<Vec<u8>>) {
    let mut request = Request::post(format!("/factum.v1.Runtime/{method}")).body(Body::from(frame)).expect("a request");
    let headers = request.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(header::TE, HeaderValue::from_static("trailers"));
    let bearer = HeaderValue::from_str(&format!("Bearer {}", world.key)).expect("a header");
    headers.insert(header::AUTHORIZATION, bearer);
    let response = world.door.http(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)), request).await;
    assert_eq!(response.status(), 200);
    let mut status = status_of(response.headers());
    let (mut body, mut parts) = (response.into_body(), Vec::new());
    for _ in 0..PARTS_MAX {
        tokio::task::yield_now().await;
        match body.frame().now_or_never() {
            Some(Some(frame)) => match frame.expect("a part").into_data() {
                Ok(data) => parts.extend(split(&data)),
                Err(frame) => status = frame.trailers_ref().and_then(status_of),
            },
            Some(None) => break,
            None => {}
        }
    }
    (status, parts)
}

fn split(mut data: &[u8]) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while let Some(prefix) = data.first_chunk::<5>() {
        let len = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]) as usize;
        frames.push(data[..5 + len].to_vec());
        data = &data[5 + len..];
    }
    frames
}

fn status_of(headers: &HeaderMap) -> Option<i32> {
    headers.get("grpc-status")?.to_str().ok()?.parse().ok()
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut random = Random::new(seed);
    if !random.one_in(4) {
        return fuzzer_mutate(data, size, max_size);
    }
    let (flags, message) = if random.one_in(2) {
        let (method, params) = samples::command(&mut random);
        (0, CallRequest { method: method.to_owned(), params: params.to_string() }.encode_to_vec())
    } else {
        let session_id = if random.one_in(3) { String::new() } else { SESSION.to_owned() };
        let casing = (*random.pick(&["", "snake", "camel", "x"])).to_owned();
        let after = random.below(20) as u64;
        (SUBSCRIBE, SubscribeRequest { session_id, after, casing, ..SubscribeRequest::default() }.encode_to_vec())
    };
    let bytes = if random.one_in(2) { framed(&message) } else { message };
    let flags = flags | if bytes.first() == Some(&0) { FRAMED } else { 0 };
    match data.get_mut(..1 + bytes.len()) {
        Some(room) => {
            room[0] = flags;
            room[1..].copy_from_slice(&bytes);
            1 + bytes.len()
        }
        None => fuzzer_mutate(data, size, max_size),
    }
});
