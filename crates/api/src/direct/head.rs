//! Which requests are answered here, told from the first bytes of a connection.
//!
//! Only what is plain enough to be read in one way is: everything else is not ours, whether it is fine or not.

use std::ops::Range;

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};

use crate::http::direct_command;

/// More headers than anybody sends with a command.
const HEADERS_MAX: usize = 32;

pub(super) const A2A: &str = "/a2a";
const RPC: &str = "/rpc";

/// The head of a request that is answered here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(super) route: Route,
    /// Where the name of the command stands; empty for other routes.
    pub(crate) command: Range<usize>,
    len: usize,
    body_len: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Command,
    Rpc,
    A2a,
}

impl Head {
    pub(crate) fn body(&self) -> Range<usize> {
        self.len..self.end()
    }

    /// Where the next request begins.
    pub(super) fn end(&self) -> usize {
        self.len + self.body_len
    }
}

/// The head that these bytes begin with, if it is whole and ours. `headers` are made its own.
pub(crate) fn look(bytes: &[u8], headers: &mut HeaderMap, body_bytes_max: usize) -> Option<Head> {
    let mut room = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut room);
    let httparse::Status::Complete(len) = request.parse(bytes).ok()? else { return None };
    if request.method? != "POST" || request.version? != 1 {
        return None;
    }
    let path = request.path?;
    let (route, command) = route(path)?;
    let body_len = fill(headers, request.headers)?;
    if body_len > body_bytes_max {
        return None;
    }
    let at = path.as_ptr().addr() - bytes.as_ptr().addr();
    Some(Head { route, command: at + command.start..at + command.end, len, body_len })
}

fn route(path: &str) -> Option<(Route, Range<usize>)> {
    match path {
        A2A => Some((Route::A2a, 0..0)),
        RPC => Some((Route::Rpc, 0..0)),
        _ => {
            let name = direct_command(&Method::POST, path).filter(|name| !name.is_empty())?;
            Some((Route::Command, path.len() - name.len()..path.len()))
        }
    }
}

/// Takes the headers over; gives the length of the body, or `None` where one of them asks for more than is done here.
fn fill(headers: &mut HeaderMap, given: &[httparse::Header<'_>]) -> Option<usize> {
    headers.clear();
    let mut body_len = None;
    for header in given {
        let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        match name {
            // Two of them, or one that says two things, is how requests are smuggled.
            header::CONTENT_LENGTH if body_len.is_some() => return None,
            header::CONTENT_LENGTH => body_len = Some(length(header.value)?),
            header::CONNECTION if header.value.eq_ignore_ascii_case(b"keep-alive") => {}
            header::CONNECTION | header::TRANSFER_ENCODING | header::EXPECT | header::UPGRADE | header::TE => {
                return None;
            }
            _ => {}
        }
        headers.append(name, HeaderValue::from_bytes(header.value).ok()?);
    }
    body_len
}

fn length(digits: &[u8]) -> Option<usize> {
    let plain = (1..=10).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    plain.then(|| digits.iter().fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked(text: &str) -> Option<(Route, String, String)> {
        let head = look(text.as_bytes(), &mut HeaderMap::new(), 100)?;
        Some((head.route, text[head.command.clone()].to_owned(), text.get(head.body()).unwrap_or("?").to_owned()))
    }

    #[test]
    fn a_plain_request_is_ours() {
        for (text, route, command, body) in [
            ("POST /v1/get_task HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", Route::Command, "get_task", "{}"),
            (
                "POST /v1/channels/publish HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\nPOST",
                Route::Command,
                "channels/publish",
                "",
            ),
            ("POST /rpc HTTP/1.1\r\nConnection: Keep-Alive\r\ncontent-length: 2\r\n\r\n[]", Route::Rpc, "", "[]"),
            ("POST /a2a HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}x", Route::A2a, "", "{}"),
            ("\r\nPOST /v1/ping HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}", Route::Command, "ping", "{}"),
            // The body has not arrived yet.
            ("POST /rpc HTTP/1.1\r\ncontent-length: 100\r\n\r\n", Route::Rpc, "", "?"),
        ] {
            assert_eq!(looked(text), Some((route, command.to_owned(), body.to_owned())), "{text}");
        }
    }

    #[test]
    fn whatever_could_mean_more_is_not_ours() {
        let with = |header: &str| format!("POST /v1/get_task HTTP/1.1\r\ncontent-length: 2\r\n{header}\r\n\r\n{{}}");
        let others = [
            "GET /v1/get_task HTTP/1.1\r\ncontent-length: 0\r\n\r\n".to_owned(),
            "POST /v1/get_task HTTP/1.0\r\ncontent-length: 0\r\n\r\n".to_owned(),
            "POST /v1/get_task HTTP/1.1\r\n\r\n".to_owned(),
            "POST /v1/get_task?x HTTP/1.1\r\ncontent-length: 0\r\n\r\n".to_owned(),
            "POST http://localhost/v1/get_task HTTP/1.1\r\ncontent-length: 0\r\n\r\n".to_owned(),
            "POST /v1/channels/stream HTTP/1.1\r\ncontent-length: 0\r\n\r\n".to_owned(),
            "POST /v1/ HTTP/1.1\r\ncontent-length: 0\r\n\r\n".to_owned(),
            "POST /v1/get_task HTTP/1.1\r\ncontent-length: 101\r\n\r\n".to_owned(),
            "POST /v1/get_task HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n".to_owned(),
            "POST /v1/get_task HTTP/1.1\r\ncontent-length: +2\r\n\r\n{}".to_owned(),
            "POST /v1/get_task HTTP/1.1\r\ncontent-length: 2, 2\r\n\r\n{}".to_owned(),
            "POST /v1/get_task HTTP/1.1\r\ncontent-length:\r\n\r\n".to_owned(),
            "POST /v1/get_task HTTP/1.1\r\ncontent-len".to_owned(),
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
            "\u{0}\u{0}".to_owned(),
            with("Content-Length: 2"),
            with("Content-Length: 3"),
            with("Transfer-Encoding: chunked"),
            with("Connection: close"),
            with("Connection: keep-alive, close"),
            with("Expect: 100-continue"),
            with("Upgrade: websocket"),
            with("bad header"),
            with(&vec!["a: b"; HEADERS_MAX].join("\r\n")),
        ];
        for text in others {
            assert_eq!(looked(&text), None, "{text}");
        }
    }
}
