//! The head that was read last, to know it again: who keeps a connection sends nearly the same bytes in front of every body, and
//! only the length of the body is another.
//!
//! It owns the headers of the request at hand, and what they say of who sends it. What a head means is `head.rs`'s to say, and it said it of the one that is kept:
//! a head that is the same but for the digits of that length differs from it in nothing else.

use std::ops::Range;

use http::{HeaderMap, HeaderValue, header};

use super::head::{Head, Here, Route, length, look};
use crate::said::Said;

/// A longer head is read anew each time: each connection that waits keeps as much.
const KEPT_HEAD_BYTES_MAX: usize = 1 << 10;

#[derive(Default)]
pub(super) struct Known {
    pub(super) headers: HeaderMap,
    /// The head that is kept, as it came.
    text: Vec<u8>,
    kept: Option<Kept>,
    /// Read once for as long as the head is the same.
    said: Option<Box<Said>>,
}

/// What is known of that head.
struct Kept {
    here: Here,
    path: Range<usize>,
    /// Where it says how long the body is.
    digits: Range<usize>,
}

impl Known {
    /// The head that these bytes begin with, if it is whole and ours.
    pub(super) fn look(&mut self, bytes: &[u8], body_bytes_max: usize) -> Option<Head> {
        if let Some(head) = self.again(bytes) {
            return (head.body_len <= body_bytes_max).then_some(head);
        }
        (self.kept, self.said) = (None, None);
        let head = look(bytes, &mut self.headers, body_bytes_max)?;
        if let Route::Here(here) = head.route
            && head.len <= KEPT_HEAD_BYTES_MAX
        {
            let Head { path, digits, .. } = &head;
            self.text.clear();
            self.text.extend_from_slice(&bytes[..head.len]);
            self.kept = Some(Kept { here, path: path.clone(), digits: digits.clone() });
        }
        Some(head)
    }

    /// The headers of the request at hand, and what they say.
    pub(super) fn request(&mut self, dev: bool) -> (&HeaderMap, &Said) {
        let Self { headers, said, .. } = self;
        let said = said.get_or_insert_with(|| Box::new(Said::by(headers, dev)));
        (headers, said)
    }

    /// The head that is kept, where these bytes begin with it.
    fn again(&mut self, bytes: &[u8]) -> Option<Head> {
        let kept = self.kept.as_ref()?;
        let (before, behind) = (&self.text[..kept.digits.start], &self.text[kept.digits.end..]);
        let rest = bytes.strip_prefix(before)?;
        let digits = &rest[..rest.iter().position(|byte| !byte.is_ascii_digit())?];
        if !rest[digits.len()..].starts_with(behind) {
            return None;
        }
        let body_len = length(digits)?;
        if self.headers.get(header::CONTENT_LENGTH).is_none_or(|said| said.as_bytes() != digits) {
            self.headers.insert(header::CONTENT_LENGTH, HeaderValue::from_bytes(digits).ok()?);
        }
        let start = kept.digits.start;
        Some(Head {
            route: Route::Here(kept.here),
            path: kept.path.clone(),
            digits: start..start + digits.len(),
            len: before.len() + digits.len() + behind.len(),
            body_len,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 100;

    /// Reads each as the next request of one connection, and holds it to what is read of it alone.
    fn check(heads: &[&str]) -> usize {
        let mut known = Known::default();
        let mut again = 0;
        for text in heads {
            again += usize::from(known.again(text.as_bytes()).is_some());
            let (seen, mut headers) = (known.look(text.as_bytes(), MAX), HeaderMap::new());
            let alone = look(text.as_bytes(), &mut headers, MAX);
            assert_eq!(seen, alone, "{text:?} of {heads:?}");
            if alone.is_some() {
                assert_eq!(known.request(true), (&headers, &Said::by(&headers, true)), "{text:?} of {heads:?}");
            }
        }
        again
    }

    #[test]
    fn what_comes_again_is_read_as_it_was() {
        let publish = |digits: &str| {
            format!("POST /v1/channels/publish HTTP/1.1\r\nhost: a\r\ncontent-length: {digits}\r\nx-y: z\r\n\r\n{{}}")
        };
        let heads = ["2", "2", "37", "2", "100", "0", "007"].map(publish);
        assert_eq!(check(&heads.each_ref().map(String::as_str)), 6);
        let a2a = "POST /a2a HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(check(&[a2a, a2a, &a2a.replace('2', "2 "), a2a]), 1);
    }

    #[test]
    fn what_differs_in_anything_else_is_read_anew() {
        let head = |middle: &str| format!("POST /rpc HTTP/1.1\r\ncontent-length: 2\r\n{middle}\r\n{{}}");
        let plain = head("");
        let others = [
            head("host: a\r\n"),
            head("host: localhost\r\n"),
            head("Authorization: Bearer a\r\n"),
            head("Authorization: Bearer b\r\n"),
            head("Factum-Channel: ops\r\n"),
            head("traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n"),
            head("Content-Length: 2\r\n"),
            head("Transfer-Encoding: chunked\r\n"),
            plain.replace("/rpc", "/a2a"),
            plain.replace("/rpc", "/rpd"),
            plain.replace("POST", "GET"),
            plain.replace("1.1", "1.0"),
            plain.replace(": 2", ": +2"),
            plain.replace(": 2", ": 2, 2"),
            plain.replace(": 2", ":"),
            plain.replace(": 2", ": 101"),
            plain.replace(": 2", ": 99999999999"),
            plain.replace("\r\n\r\n", "\r\n"),
            plain[..plain.len() - 4].to_owned(),
            plain[..20].to_owned(),
            String::new(),
        ];
        for other in &others {
            check(&[&plain, other, &plain, &plain, other]);
        }
    }

    #[test]
    fn a_long_head_is_not_kept() {
        let long = format!("POST /rpc HTTP/1.1\r\na: {}\r\ncontent-length: 0\r\n\r\n", "b".repeat(KEPT_HEAD_BYTES_MAX));
        assert_eq!(check(&[&long, &long]), 0);
    }
}
