//! Server-sent events, read with a bound on each event and on the silence between two pieces.
//!
//! Follows the HTML standard's parsing: lines end with LF, CR or both, a line that begins with a colon is a comment, an
//! empty line ends an event, and an event that was not ended is dropped. An `id` holds until the next one.

use std::pin::Pin;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::time::{Instant, Sleep};

use crate::client::describe;
use crate::error::{Error, Phase};

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Where to go on behind it: what `Last-Event-ID` carries.
    pub id: Option<String>,
    /// Its type, where it has one.
    pub event: Option<String>,
    pub data: String,
}

/// The events of one answer, in order.
pub struct Events {
    response: reqwest::Response,
    host: String,
    idle_timeout: Duration,
    /// When it was silent for too long. It runs on while nobody waits: whoever reads gives up and comes back as often as they
    /// like.
    timer: Pin<Box<Sleep>>,
    /// Whether the timer runs for the piece that comes next. A reader that is slow itself is not kept waiting.
    waiting: bool,
    parser: Parser,
}

impl Events {
    pub(crate) fn new(response: reqwest::Response, host: String, idle_timeout: Duration, max: usize) -> Self {
        let timer = Box::pin(tokio::time::sleep_until(Instant::now() + idle_timeout));
        Self { response, host, idle_timeout, timer, waiting: false, parser: Parser::new(max) }
    }

    /// The next event; `None` at the end of the stream. Comments count as a sign of life and are not shown.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            match self.parser.next() {
                Ok(Some(event)) => return Ok(Some(event)),
                Ok(None) => {}
                Err(max) => return Err(Error::TooLarge { host: self.host.clone(), what: "an event", max }),
            }
            let Some(chunk) = self.chunk().await? else { return Ok(None) };
            self.parser.push(&chunk);
        }
    }

    async fn chunk(&mut self) -> Result<Option<bytes::Bytes>, Error> {
        if !std::mem::replace(&mut self.waiting, true) {
            self.timer.as_mut().reset(Instant::now() + self.idle_timeout);
        }
        let (host, after) = (self.host.clone(), self.idle_timeout);
        tokio::select! {
            biased;
            chunk = self.response.chunk() => {
                self.waiting = false;
                chunk.map_err(|error| Error::Broken { host, problem: describe(&error) })
            }
            () = self.timer.as_mut() => Err(Error::TimedOut { host, phase: Phase::Silent, after }),
        }
    }
}

/// From bytes to events. Holds no more than one event and one piece of what came in.
struct Parser {
    buffer: BytesMut,
    /// How far into the buffer there is no end of a line.
    searched: usize,
    skip_line_feed: bool,
    begun: bool,
    id: Option<String>,
    event: Option<String>,
    data: String,
    has_data: bool,
    bytes: usize,
    max: usize,
}

impl Parser {
    fn new(max: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            searched: 0,
            skip_line_feed: false,
            begun: false,
            id: None,
            event: None,
            data: String::new(),
            has_data: false,
            bytes: 0,
            max,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next event that is there in full. The error is the bound that was passed.
    fn next(&mut self) -> Result<Option<Event>, usize> {
        while let Some(line) = self.line() {
            self.bytes += line.len();
            if self.bytes > self.max {
                return Err(self.max);
            }
            if let Some(event) = self.take(&line) {
                return Ok(Some(event));
            }
        }
        if self.bytes + self.buffer.len() > self.max { Err(self.max) } else { Ok(None) }
    }

    /// The next whole line, without its end.
    fn line(&mut self) -> Option<Vec<u8>> {
        if self.skip_line_feed && self.buffer.first() == Some(&b'\n') {
            self.buffer.advance(1);
            self.skip_line_feed = false;
        }
        let found = memchr::memchr2(b'\n', b'\r', self.buffer.get(self.searched..)?);
        let Some(end) = found.map(|end| end + self.searched) else {
            self.searched = self.buffer.len();
            return None;
        };
        self.searched = 0;
        let line = self.buffer.split_to(end).to_vec();
        self.skip_line_feed = self.buffer.first() == Some(&b'\r');
        self.buffer.advance(1);
        if !self.begun {
            self.begun = true;
            return Some(line.strip_prefix("\u{feff}".as_bytes()).map(<[u8]>::to_vec).unwrap_or(line));
        }
        Some(line)
    }

    fn take(&mut self, line: &[u8]) -> Option<Event> {
        if line.is_empty() {
            return self.dispatch();
        }
        let bytes = line.len();
        let line = String::from_utf8_lossy(line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.has_data = true;
                self.data.push_str(value);
            }
            "event" => self.event = Some(value.to_owned()),
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            // Comments do not add up to an event that is too large. As they came: what is no text is longer once it is read.
            "" => self.bytes -= bytes,
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Event> {
        self.bytes = 0;
        let event = self.event.take();
        let data = std::mem::take(&mut self.data);
        if !std::mem::take(&mut self.has_data) {
            return None;
        }
        Some(Event { id: self.id.clone(), event, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: Option<&str>, name: Option<&str>, data: &str) -> Event {
        Event { id: id.map(str::to_owned), event: name.map(str::to_owned), data: data.to_owned() }
    }

    fn parse(pieces: &[&[u8]], max: usize) -> Result<Vec<Event>, usize> {
        let mut parser = Parser::new(max);
        let mut events = Vec::new();
        for piece in pieces {
            parser.push(piece);
            while let Some(event) = parser.next()? {
                events.push(event);
            }
        }
        Ok(events)
    }

    #[test]
    fn events_are_read_as_the_standard_says() {
        let table: &[(&str, Vec<Event>)] = &[
            ("data: a\n\n", vec![event(None, None, "a")]),
            (
                "data:a\r\n\r\ndata: b\r\rdata: c\n\n",
                vec![event(None, None, "a"), event(None, None, "b"), event(None, None, "c")],
            ),
            ("\u{feff}data: a\n\n", vec![event(None, None, "a")]),
            (": hello\n\ndata: a\ndata:  b\n\n", vec![event(None, None, "a\n b")]),
            (
                "id: 7\nevent: x\ndata\n\ndata: y\n\n",
                vec![event(Some("7"), Some("x"), ""), event(Some("7"), None, "y")],
            ),
            ("event: lonely\n\ndata: a\n\n", vec![event(None, None, "a")]),
            ("data: never ended\n", vec![]),
        ];
        for (text, expected) in table {
            assert_eq!(parse(&[text.as_bytes()], 1000).as_ref(), Ok(expected), "{text:?}");
            let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(parse(&single, 1000).as_ref(), Ok(expected), "{text:?} byte by byte");
        }
    }

    #[test]
    fn an_event_is_bounded_and_comments_are_not_counted() {
        assert_eq!(parse(&[b"data: 12345\n\n"], 11), Ok(vec![event(None, None, "12345")]));
        assert_eq!(parse(&[b"data: 123456\n\n"], 11), Err(11));
        assert_eq!(parse(&[b"data: 1\ndata: 2\n\n"], 11), Err(11), "all lines of an event together");
        assert_eq!(parse(&[b"data: 123456"], 11), Err(11), "before its line has ended");
        // Neither does what is no text: it is longer as it is read than as it came.
        let noise = [b"data: 1\n:".as_slice(), &[0xff; 500], b"\n"].concat();
        assert_eq!(parse(&[noise.as_slice(); 200], 1000), Err(1000));
        let beats = ": beat\n".repeat(100);
        assert_eq!(parse(&[beats.as_bytes(), b"data: 1\n\n"], 1000), Ok(vec![event(None, None, "1")]));
    }
}
