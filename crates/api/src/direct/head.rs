//! Which requests are answered here, told from the first bytes of a connection.
//!
//! Only what is plain enough to be read in one way is: everything else is not ours, whether it is fine or not.

use std::ops::Range;

use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};

use crate::http::direct_command;

/// More headers than anybody sends with a command.
const HEADERS_MAX: usize = 32;

pub(super) const A2A: &str = "/a2a";
const RPC: &str = "/rpc";
const COMMANDS: &str = "/v1/";

/// The head of a request that is answered here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(super) route: Route,
    /// Where the path stands.
    pub(crate) path: Range<usize>,
    /// Where it says how long the body is, if it does.
    pub(super) digits: Range<usize>,
    pub(super) len: usize,
    pub(super) body_len: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route {
    Here(Here),
    /// The router knows.
    Router(Method, Uri),
}

/// What needs no router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Here {
    Command,
    Rpc,
    A2a,
}

impl Head {
    /// Where the name of a command stands.
    pub(super) fn command(&self) -> Range<usize> {
        self.path.start + COMMANDS.len()..self.path.end
    }

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
    if request.version? != 1 {
        return None;
    }
    let path = request.path?;
    let route = route(request.method?, path)?;
    let digits = fill(headers, request.headers)?;
    let body_len = match (digits.map(length), &route) {
        (None | Some(Some(0)), Route::Router(Method::GET, _)) => 0,
        (_, Route::Router(Method::GET, _)) => return None,
        (length, _) => length??,
    };
    if body_len > body_bytes_max {
        return None;
    }
    let range = |part: &[u8]| {
        let at = part.as_ptr().addr() - bytes.as_ptr().addr();
        at..at + part.len()
    };
    Some(Head { route, path: range(path.as_bytes()), digits: digits.map_or(0..0, range), len, body_len })
}

fn route(method: &str, path: &str) -> Option<Route> {
    let method = match method {
        "POST" => Method::POST,
        "GET" => Method::GET,
        _ => return None,
    };
    match path {
        A2A if method == Method::POST => Some(Route::Here(Here::A2a)),
        RPC if method == Method::POST => Some(Route::Here(Here::Rpc)),
        _ if direct_command(&method, path).is_some_and(|name| !name.is_empty()) => Some(Route::Here(Here::Command)),
        _ if path.starts_with('/') => Some(Route::Router(method, path.parse().ok()?)),
        _ => None,
    }
}

/// Takes the headers over; gives what they say is the length of the body, if they do, or `None` where one of them asks for more
/// than is done here.
fn fill<'a>(headers: &mut HeaderMap, given: &[httparse::Header<'a>]) -> Option<Option<&'a [u8]>> {
    headers.clear();
    let mut digits = None;
    for header in given {
        let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        match name {
            // Two of them, or one that says two things, is how requests are smuggled.
            header::CONTENT_LENGTH if digits.is_some() => return None,
            header::CONTENT_LENGTH => digits = Some(header.value),
            header::CONNECTION if header.value.eq_ignore_ascii_case(b"keep-alive") => {}
            header::CONNECTION | header::TRANSFER_ENCODING | header::EXPECT | header::UPGRADE | header::TE => {
                return None;
            }
            _ => {}
        }
        headers.append(name, HeaderValue::from_bytes(header.value).ok()?);
    }
    Some(digits)
}

/// The number that these digits say, which are nothing else.
pub(super) fn length(digits: &[u8]) -> Option<usize> {
    let plain = (1..=10).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    plain.then(|| digits.iter().fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked(text: &str) -> Option<(Route, String, String)> {
        let head = look(text.as_bytes(), &mut HeaderMap::new(), 100)?;
        let command = if head.route == Route::Here(Here::Command) { &text[head.command()] } else { "" };
        let body = text.get(head.body()).unwrap_or("?").to_owned();
        Some((head.route, command.to_owned(), body))
    }

    #[test]
    fn a_plain_request_is_ours() {
        let here = Route::Here;
        let other = |method: Method, path: &'static str| Route::Router(method, Uri::from_static(path));
        for (text, route, command, body) in [
            ("POST /v1/get_task HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", here(Here::Command), "get_task", "{}"),
            (
                "POST /v1/channels/publish HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\nPOST",
                here(Here::Command),
                "channels/publish",
                "",
            ),
            ("POST /rpc HTTP/1.1\r\nConnection: Keep-Alive\r\ncontent-length: 2\r\n\r\n[]", here(Here::Rpc), "", "[]"),
            ("POST /a2a HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}x", here(Here::A2a), "", "{}"),
            ("\r\nPOST /v1/ping HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}", here(Here::Command), "ping", "{}"),
            // The body has not arrived yet.
            ("POST /rpc HTTP/1.1\r\ncontent-length: 100\r\n\r\n", here(Here::Rpc), "", "?"),
            ("GET /v1/feed?from=1 HTTP/1.1\r\n\r\nGET", other(Method::GET, "/v1/feed?from=1"), "", ""),
            ("GET /rpc HTTP/1.1\r\ncontent-length: 0\r\n\r\n", other(Method::GET, "/rpc"), "", ""),
            (
                "POST /v1/channels/stream HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}",
                other(Method::POST, "/v1/channels/stream"),
                "",
                "{}",
            ),
            ("POST /v1/ HTTP/1.1\r\ncontent-length: 0\r\n\r\n", other(Method::POST, "/v1/"), "", ""),
        ] {
            assert_eq!(looked(text), Some((route, command.to_owned(), body.to_owned())), "{text}");
        }
    }

    #[test]
    fn whatever_could_mean_more_is_not_ours() {
        let with = |header: &str| format!("POST /v1/get_task HTTP/1.1\r\ncontent-length: 2\r\n{header}\r\n\r\n{{}}");
        let others = [
            "HEAD /v1/feed HTTP/1.1\r\n\r\n".to_owned(),
            "GET /v1/feed HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}".to_owned(),
            "GET /v1/feed HTTP/1.0\r\n\r\n".to_owned(),
            "GET /rpc HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n".to_owned(),
            "GET http://localhost/v1/feed HTTP/1.1\r\n\r\n".to_owned(),
            "POST /v1/get_task HTTP/1.0\r\ncontent-length: 0\r\n\r\n".to_owned(),
            "POST /v1/get_task HTTP/1.1\r\n\r\n".to_owned(),
            "POST http://localhost/v1/get_task HTTP/1.1\r\ncontent-length: 0\r\n\r\n".to_owned(),
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
