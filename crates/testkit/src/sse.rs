//! Server-sent events: a small parser of our own, so that the server is not checked with its own client, and a reader that
//! records what it saw and goes on behind it.

use std::pin::Pin;

use futures::{Stream, StreamExt};
use reqwest::Response;
use serde_json::Value;

use crate::clients::Http;
use crate::wait::within;

/// One event as it came: the id of its frame and its content.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Empty where the frame had none.
    pub id: String,
    /// What the frame says it is, where it says anything.
    pub name: Option<String>,
    pub data: Value,
}

impl Event {
    pub fn sequence(&self) -> u64 {
        self.data["sequence"].as_u64().unwrap_or_else(|| panic!("no sequence: {}", self.data))
    }

    pub fn kind(&self) -> &str {
        self.data["type"].as_str().unwrap_or_default()
    }
}

/// What a line of the stream can complete.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame {
    Event(Event),
    /// A comment: a heartbeat.
    Comment(String),
}

type Bytes = Pin<Box<dyn Stream<Item = Vec<u8>> + Send>>;

/// An open stream.
pub struct Reader {
    bytes: Bytes,
    parser: Parser,
    ready: std::collections::VecDeque<Frame>,
    /// Everything it has seen, in order.
    pub seen: Vec<Event>,
}

impl Reader {
    /// Opens a stream behind an id; `None` is the beginning. Gives the response back where it is none.
    pub async fn open(http: &Http, path: &str, last_event_id: Option<&str>) -> Result<Self, Response> {
        let mut request = http.get(path).header("accept", "text/event-stream");
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let response = within("the head of a stream", request.send()).await.unwrap();
        if response.status() != 200 { Err(response) } else { Ok(Self::new(response)) }
    }

    /// Reads the stream that a response is.
    pub fn new(response: Response) -> Self {
        let media_type = response.headers().get("content-type").map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(media_type.as_deref(), Some("text/event-stream"));
        // A stream that breaks has ended, as far as a reader can tell.
        let whole = response.bytes_stream().take_while(|piece| std::future::ready(piece.is_ok()));
        let bytes = whole.filter_map(|piece| std::future::ready(piece.ok().map(|piece| piece.to_vec())));
        Self { bytes: Box::pin(bytes), parser: Parser::default(), ready: Default::default(), seen: Vec::new() }
    }

    /// The same for a stream of a messaging channel, where only messages have an id.
    pub fn of_channel(response: Response) -> Self {
        let mut reader = Self::new(response);
        reader.parser.ids = Ids::OfMessages;
        reader
    }

    /// The events of a session from behind an id.
    pub async fn session(http: &Http, session_id: &str, last_event_id: Option<&str>) -> Self {
        let path = format!("/v1/sessions/{session_id}/events");
        Self::open(http, &path, last_event_id).await.unwrap_or_else(|response| panic!("{path}: {}", response.status()))
    }

    /// The next frame, comments too. `None` once the stream has ended.
    pub async fn frame(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                if let Frame::Event(event) = &frame {
                    self.seen.push(event.clone());
                }
                return Some(frame);
            }
            let piece = self.bytes.next().await?;
            self.ready.extend(self.parser.feed(&piece));
        }
    }

    /// The next event. `None` once the stream has ended.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Frame::Event(event) = self.frame().await? {
                return Some(event);
            }
        }
    }

    /// The next event of this type; the stream must not end before it.
    pub async fn wait_for(&mut self, kind: &str) -> Event {
        within(kind, async {
            loop {
                match self.next().await {
                    Some(event) if event.kind() == kind => return event,
                    Some(_) => {}
                    None => panic!("the stream ended before {kind}; seen: {:?}", self.kinds()),
                }
            }
        })
        .await
    }

    /// Reads up to and including a sequence.
    pub async fn read_to(&mut self, sequence: u64) {
        within("a sequence", async {
            while self.seen.last().is_none_or(|event| event.sequence() < sequence) {
                assert!(self.next().await.is_some(), "the stream ended before {sequence}; seen: {:?}", self.kinds());
            }
        })
        .await;
    }

    /// The types of everything seen.
    pub fn kinds(&self) -> Vec<&str> {
        self.seen.iter().map(Event::kind).collect()
    }

    /// The id to go on behind.
    pub fn last_id(&self) -> Option<String> {
        self.seen.last().map(|event| event.id.clone())
    }
}

/// Which frames have to have an id.
#[derive(Clone, Copy, Default, PartialEq)]
enum Ids {
    #[default]
    OfAll,
    OfMessages,
}

/// Puts frames together from whatever pieces arrive. Only what our server sends is understood; the rest panics.
#[derive(Default)]
struct Parser {
    ids: Ids,
    line: Vec<u8>,
    id: Option<String>,
    name: Option<String>,
    data: Option<String>,
}

impl Parser {
    fn feed(&mut self, bytes: &[u8]) -> Vec<Frame> {
        let mut frames = Vec::new();
        for byte in bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = String::from_utf8(std::mem::take(&mut self.line)).expect("a stream is UTF-8");
            frames.extend(self.line(&line));
        }
        frames
    }

    fn line(&mut self, line: &str) -> Option<Frame> {
        if line.is_empty() {
            let data = self.data.take()?;
            let (id, name) = (self.id.take(), self.name.take());
            // Why a stream ends has a name instead.
            assert!(id.is_some() || name.is_some() || self.ids == Ids::OfMessages, "an event without an id: {data}");
            let data = serde_json::from_str(&data).unwrap_or_else(|error| panic!("{error}: {data}"));
            return Some(Frame::Event(Event { id: id.unwrap_or_default(), name, data }));
        }
        let (field, value) = line.split_once(": ").unwrap_or_else(|| panic!("not a field: {line:?}"));
        match field {
            "" => return Some(Frame::Comment(value.to_owned())),
            "id" => assert_eq!(self.id.replace(value.to_owned()), None),
            "event" => assert_eq!((value, self.name.replace(value.to_owned())), ("error", None)),
            "data" => assert_eq!(self.data.replace(value.to_owned()), None),
            "retry" => assert!(value.parse::<u64>().is_ok(), "{value}"),
            other => panic!("a field nobody spoke of: {other}"),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn streams_of_channels_have_ids_for_messages_only() {
        let mut parser = Parser { ids: Ids::OfMessages, ..Default::default() };
        let text = "id: 7\ndata: 1\n\n: heartbeat\ndata: 2\n\nevent: error\ndata: 3\n\n";
        let event = |id: &str, name: Option<&str>, data: Value| {
            Frame::Event(Event { id: id.into(), name: name.map(str::to_owned), data })
        };
        let comment = Frame::Comment("heartbeat".into());
        let expected =
            vec![event("7", None, json!(1)), comment, event("", None, json!(2)), event("", Some("error"), json!(3))];
        assert_eq!(parser.feed(text.as_bytes()), expected);
    }

    #[test]
    fn frames_are_the_same_however_the_bytes_are_cut() {
        let text = "retry: 1000\n\nid: 1\ndata: {\"a\":1}\n\n: heartbeat\n\nid: 2\ndata: \"ü\"\n\nid: 3\ndata: 1\n";
        let event = |id: &str, data: Value| Frame::Event(Event { id: id.into(), name: None, data });
        let expected = vec![event("1", json!({ "a": 1 })), Frame::Comment("heartbeat".into()), event("2", json!("ü"))];
        for size in 1..text.len() {
            let mut parser = Parser::default();
            let frames: Vec<Frame> = text.as_bytes().chunks(size).flat_map(|piece| parser.feed(piece)).collect();
            assert_eq!(frames, expected, "pieces of {size}");
        }
    }
}
