//! `GET /v1/sessions/{id}/events` and `GET /v1/feed`: the query and `Last-Event-ID`. A page or a stream begins right behind
//! what the client saw last, holds nothing of another account, and whatever cannot be read is refused as such.
//!
//! The first byte says what is asked for; then come the query and, on the next line, the header.

#![no_main]

use std::net::{IpAddr, Ipv4Addr};

use axum::body::Body;
use factum_api::AuthOptions;
use factum_fuzz::world::{self, SESSION, World};
use futures::FutureExt;
use http::{HeaderValue, Request, Response, header};
use http_body_util::BodyExt;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

const STREAM: u8 = 1;
const FEED: u8 = 2;
const HEADER: u8 = 4;
/// Frames read of a stream at most: there is always another heartbeat.
const FRAMES_MAX: usize = 64;

fuzz_target!(|data: &[u8]| {
    let Some((flags, text)) = data.split_first() else { return };
    let mut lines = text.splitn(2, |byte| *byte == b'\n');
    let Ok(query) = std::str::from_utf8(lines.next().unwrap_or_default()) else { return };
    let last_id = lines.next().filter(|_| flags & HEADER != 0);
    let Ok(last_id) = last_id.map(HeaderValue::from_bytes).transpose() else { return };
    let path = if flags & FEED != 0 { "/v1/feed".to_owned() } else { format!("/v1/sessions/{SESSION}/events") };
    let Ok(uri) = format!("{path}?{query}").parse::<http::Uri>() else { return };
    // What a `#` is followed by never reaches a server.
    let query = uri.query().unwrap_or_default().to_owned();
    let mut request = Request::get(uri).body(Body::empty()).expect("a request");
    if flags & STREAM != 0 {
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
    }
    if let Some(id) = &last_id {
        request.headers_mut().insert("last-event-id", id.clone());
    }
    let asked =
        Asked { feed: flags & FEED != 0, stream: flags & STREAM != 0, query: &query, last_id: last_id.as_ref() };
    world::with(&AuthOptions::default(), |world| {
        let bearer = HeaderValue::from_str(&format!("Bearer {}", world.key)).expect("a header");
        request.headers_mut().insert(header::AUTHORIZATION, bearer);
        world.tokio.block_on(ask(world, request, &asked));
    });
});

struct Asked<'a> {
    feed: bool,
    stream: bool,
    query: &'a str,
    last_id: Option<&'a HeaderValue>,
}

async fn ask(world: &World, request: Request<Body>, asked: &Asked<'_>) {
    let response = world.door.http(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)), request).await;
    match response.status().as_u16() {
        200 if asked.stream => judge_events(asked, &stream(response).await),
        200 => judge_page(asked, response).await,
        400 => {
            let body = response.into_body().collect().await.expect("a body").to_bytes();
            let problem: Value = serde_json::from_slice(&body).expect("a problem is JSON");
            assert_eq!(problem["code"], "invalid_params", "{problem}");
            assert!(asked.is_doubtful(), "{:?} was refused: {problem}", asked.query);
        }
        other => panic!("{other} for {:?}", asked.query),
    }
}

impl Asked<'_> {
    /// The values the query gives to a name.
    fn values(&self, name: &str) -> Vec<String> {
        let pairs = url::form_urlencoded::parse(self.query.as_bytes());
        pairs.filter(|(key, _)| key == name).map(|(_, value)| value.into_owned()).collect()
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.values(name).first().and_then(|text| text.trim().parse().ok())
    }

    /// What the client says it saw last, if that is a sequence. A header counts before the query.
    fn after(&self) -> Option<u64> {
        let header = self.last_id.filter(|id| self.stream && !id.is_empty());
        match (header, self.values("after").first()) {
            (Some(id), _) => id.to_str().ok()?.trim().parse().ok(),
            (None, Some(text)) => text.trim().parse().ok(),
            (None, None) => Some(0),
        }
    }

    /// Whether there is anything in the request that may be refused.
    fn is_doubtful(&self) -> bool {
        !self.query.is_empty() || self.last_id.is_some_and(|id| !id.is_empty())
    }
}

/// The frames of a stream that are there without waiting.
async fn stream(response: Response<Body>) -> Vec<Value> {
    assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream");
    let mut body = response.into_body();
    let mut text = Vec::new();
    for _ in 0..FRAMES_MAX {
        tokio::task::yield_now().await;
        let Some(Some(frame)) = body.frame().now_or_never() else { break };
        text.extend_from_slice(&frame.expect("a frame").into_data().expect("data"));
    }
    let text = String::from_utf8(text).expect("a stream is UTF-8");
    let mut frames = text.split_terminator("\n\n");
    assert_eq!(frames.next(), Some("retry: 1000"));
    let event = |frame: &str| {
        let (id, data) = frame.split_once("\ndata: ").unwrap_or_else(|| panic!("a frame: {frame:?}"));
        let id = id.strip_prefix("id: ").unwrap_or_else(|| panic!("an id: {frame:?}")).to_owned();
        let event: Value = serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"));
        (id, event)
    };
    let events: Vec<(String, Value)> = frames.filter(|frame| !frame.starts_with(':')).map(event).collect();
    events
        .into_iter()
        .map(|(id, event)| {
            if let Ok(id) = id.parse::<u64>() {
                assert_eq!(event["sequence"].as_u64(), Some(id), "the id of a frame is its event's sequence");
            }
            event
        })
        .collect()
}

async fn judge_page(asked: &Asked<'_>, response: Response<Body>) {
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    let page: Value = serde_json::from_slice(&body).unwrap_or_else(|error| panic!("{error}: {body:?}"));
    let events = page["events"].as_array().expect("events");
    assert!(page["has_more"].is_boolean());
    let most = asked.number("limit").unwrap_or(100);
    assert!(events.len() as u64 <= most, "{} events, {most} were asked for", events.len());
    if asked.feed {
        assert!(page["next_after"].is_string());
    } else {
        assert!(page["next_after"].is_u64());
    }
    if let (false, Some(before)) = (asked.feed, asked.number("before")) {
        assert!(sequences(events).iter().all(|sequence| *sequence < before));
        return;
    }
    judge_events(asked, events);
}

/// Everything comes in order, from right behind what was seen.
fn judge_events(asked: &Asked<'_>, events: &[Value]) {
    assert!(!events.iter().any(|event| world::is_foreign(event.to_string().as_bytes())), "another account's event");
    let camel = asked.values("casing").first().is_some_and(|casing| casing == "camel");
    assert!(events.iter().all(|event| event.get("eventId").is_some() == camel), "the casing of the events");
    if asked.feed {
        // There is one session, but its events may follow others of the account's.
        return;
    }
    let after = asked.after().unwrap_or_else(|| panic!("{:?} and {:?} are no sequence", asked.query, asked.last_id));
    let expected: Vec<u64> = (after.saturating_add(1)..).take(events.len()).collect();
    assert_eq!(sequences(events), expected);
}

fn sequences(events: &[Value]) -> Vec<u64> {
    events.iter().map(|event| event["sequence"].as_u64().expect("a sequence")).collect()
}
