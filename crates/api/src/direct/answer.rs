//! An answer as the bytes of one write, with the headers that hyper would give it.

use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::response::Response;
use factum_model::Timestamp;
use http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use memchr::memmem::Finder;

/// The connection is over.
#[derive(Debug)]
pub(super) struct Ended;

/// The answer to one request after the other.
#[derive(Default)]
pub(super) struct Answer {
    status: StatusCode,
    /// Whether it is what nearly all are, JSON and fine. There is nothing else to say then.
    plain: bool,
    headers: HeaderMap,
    body: Vec<u8>,
    /// Whether the body is whole, so that its length can be told. Otherwise it follows in chunks.
    whole: bool,
    text: Vec<u8>,
    date: Date,
}

const PLAIN: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";

impl Answer {
    /// A result: JSON, and nothing to say about it.
    pub(super) fn json(&mut self, json: Vec<u8>) {
        (self.plain, self.whole) = (true, true);
        self.body = json;
    }

    /// Any response. The body of one that is a stream is given back.
    pub(super) async fn response(&mut self, response: Response) -> Option<Body> {
        let (head, mut body) = response.into_parts();
        self.begin(head.status);
        self.headers.extend(head.headers);
        if body.size_hint().exact().is_none() {
            self.whole = false;
            return Some(body);
        }
        while let Some(Ok(frame)) = body.frame().await {
            self.body.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
        }
        None
    }

    fn begin(&mut self, status: StatusCode) {
        self.plain = false;
        self.status = status;
        self.headers.clear();
        self.body.clear();
        self.whole = true;
    }

    /// The bytes to send.
    pub(super) fn finish(&mut self, now: Timestamp, close: bool) -> &[u8] {
        let Self { status, plain, headers, body, whole, text, date } = self;
        text.clear();
        if *plain {
            text.extend_from_slice(PLAIN);
        } else {
            begin_with(text, *status, headers);
        }
        // RFC 9110 §8.6: no length where there is no content.
        if !*whole {
            line(text, "transfer-encoding", b"chunked");
        } else if *plain || *status != StatusCode::NO_CONTENT {
            line(text, "content-length", itoa::Buffer::new().format(body.len()).as_bytes());
        }
        if close {
            line(text, "connection", b"close");
        }
        line(text, "date", date.text(now).as_bytes());
        text.extend_from_slice(b"\r\n");
        text.extend_from_slice(body);
        text
    }

    /// Lets go of buffers that are larger than this.
    pub(super) fn shrink(&mut self, max: usize) {
        for buffer in [&mut self.text, &mut self.body] {
            if buffer.capacity() > max {
                *buffer = Vec::new();
            }
        }
    }
}

fn begin_with(text: &mut Vec<u8>, status: StatusCode, headers: &HeaderMap) {
    text.extend_from_slice(b"HTTP/1.1 ");
    text.extend_from_slice(status.as_str().as_bytes());
    text.push(b' ');
    text.extend_from_slice(status.canonical_reason().unwrap_or("<none>").as_bytes());
    text.extend_from_slice(b"\r\n");
    for (name, value) in headers.iter().filter(|(name, _)| *name != header::CONTENT_LENGTH) {
        line(text, name.as_str(), value.as_bytes());
    }
}

fn line(text: &mut Vec<u8>, name: &str, value: &[u8]) {
    text.extend_from_slice(name.as_bytes());
    text.extend_from_slice(b": ");
    text.extend_from_slice(value);
    text.extend_from_slice(b"\r\n");
}

/// The time as HTTP writes it, made anew each second.
#[derive(Default)]
struct Date {
    second: i64,
    text: String,
}

impl Date {
    fn text(&mut self, now: Timestamp) -> &str {
        let second = now.as_second();
        if second != self.second || self.text.is_empty() {
            let since = Duration::from_secs(u64::try_from(second).unwrap_or_default());
            self.text = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + since);
            self.second = second;
        }
        &self.text
    }
}

/// Whether an A2A request may ask for a stream, which then has a task of its own. A method in disguise (`\u0053tream`) is
/// answered all the same, and only takes more room than it had to.
pub(super) fn may_stream(body: &[u8]) -> bool {
    static WORDS: LazyLock<[Finder<'static>; 2]> = LazyLock::new(|| ["tream", "ubscribe"].map(Finder::new));
    WORDS.iter().any(|word| word.find(body).is_some())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const NOW: &str = "2026-01-02T03:04:05.6Z";

    fn text(answer: &mut Answer, close: bool) -> String {
        String::from_utf8(answer.finish(NOW.parse().unwrap(), close).to_vec()).unwrap()
    }

    #[tokio::test]
    async fn an_answer_is_written_as_hyper_writes_it() {
        let mut answer = Answer::default();
        answer.json("{}".into());
        let expected = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\
                        date: Fri, 02 Jan 2026 03:04:05 GMT\r\n\r\n{}";
        assert_eq!(text(&mut answer, false), expected);
        let mut response = Response::new(Body::from("no"));
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        response.headers_mut().insert("retry-after", HeaderValue::from(3));
        assert!(answer.response(response).await.is_none());
        let expected = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 3\r\ncontent-length: 2\r\nconnection: close\r\n\
                        date: Fri, 02 Jan 2026 03:04:05 GMT\r\n\r\nno";
        assert_eq!(text(&mut answer, true), expected);
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        assert!(answer.response(response).await.is_none());
        let expected = "HTTP/1.1 204 No Content\r\ndate: Fri, 02 Jan 2026 03:04:05 GMT\r\n\r\n";
        assert_eq!(text(&mut answer, false), expected);
    }

    #[tokio::test]
    async fn a_stream_is_given_back_and_has_no_length() {
        let frames = futures::stream::iter([Ok::<_, std::convert::Infallible>("a"), Ok("b")]);
        let mut answer = Answer::default();
        let rest = answer.response(Response::new(Body::from_stream(frames))).await;
        let rest = rest.expect("a stream").collect().await.unwrap().to_bytes();
        assert_eq!(rest, "ab");
        let expected = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ndate: Fri, 02 Jan 2026 03:04:05 GMT\r\n\r\n";
        assert_eq!(text(&mut answer, false), expected);
    }
}
