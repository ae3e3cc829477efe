//! One request and its answer.

use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;

use crate::body;
use crate::client::{Client, describe};
use crate::error::{Error, Phase};
use crate::frames::Frames;
use crate::sse::Events;
use crate::target::Target;

/// A request to an address that was judged.
pub struct Request {
    client: Client,
    method: Method,
    target: Target,
    headers: HeaderMap,
    body: Bytes,
    timeout: Duration,
    body_bytes_max: usize,
    broken: Option<Error>,
}

/// A whole answer. A status that is no success is an answer too.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// What a request for a stream is answered with.
pub enum Streaming {
    /// `text/event-stream`, with what its headers say.
    Events(HeaderMap, Box<Events>),
    /// Anything else, read as a whole.
    Answer(Answer),
}

impl Request {
    pub(crate) fn new(client: Client, method: Method, target: Target) -> Self {
        let (timeout, body_bytes_max) = (client.options.timeout, client.options.body_bytes_max);
        let (headers, body) = (HeaderMap::new(), Bytes::new());
        Self { client, method, target, headers, body, timeout, body_bytes_max, broken: None }
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            (Ok(name), Ok(value)) => {
                self.headers.insert(name, value);
            }
            _ => self.broken = Some(Error::Request(format!("{name:?} is no header, or its value cannot be sent"))),
        }
        self
    }

    /// A header whose value is a secret: never shown, and sent in the clear only within networks that were allowed.
    #[must_use]
    pub fn secret_header(mut self, name: &str, value: &SecretString) -> Self {
        if !self.target.keeps_secrets(&self.client.policy) {
            let host = self.target.host_name();
            self.broken = Some(Error::Request(format!("a credential is not sent to {host} in the clear; use https")));
            return self;
        }
        match (HeaderName::try_from(name), HeaderValue::try_from(value.expose_secret())) {
            (Ok(name), Ok(mut value)) => {
                value.set_sensitive(true);
                self.headers.insert(name, value);
            }
            _ => self.broken = Some(Error::Request(format!("the credential for the header {name:?} cannot be sent"))),
        }
        self
    }

    #[must_use]
    pub fn bearer(self, token: &SecretString) -> Self {
        let value = SecretString::from(format!("Bearer {}", token.expose_secret()));
        self.secret_header(AUTHORIZATION.as_str(), &value)
    }

    #[must_use]
    pub fn body(mut self, media_type: &str, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self.header(CONTENT_TYPE.as_str(), media_type)
    }

    /// For the whole answer, instead of the client's usual time.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    #[must_use]
    pub fn body_bytes_max(mut self, max: usize) -> Self {
        self.body_bytes_max = max;
        self
    }

    /// The whole answer, within the time and size there are for it.
    pub async fn send(self) -> Result<Answer, Error> {
        let (host, timeout, max) = (self.target.host_name(), self.timeout, self.body_bytes_max);
        let whole = async {
            let http = self.client.http.clone();
            let response = self.start(http).await?;
            answer(response, &host, max).await
        };
        let late = Error::TimedOut { host: host.clone(), phase: Phase::Answering, after: timeout };
        tokio::time::timeout(timeout, whole).await.unwrap_or(Err(late))
    }

    /// A stream of events without an end to its time, but never silent for long; or an answer that is none.
    pub async fn stream(self) -> Result<Streaming, Error> {
        let (host, timeout, max) = (self.target.host_name(), self.timeout, self.body_bytes_max);
        let (idle, event_bytes_max) = (self.client.options.idle_timeout, self.client.options.event_bytes_max);
        let begin = async {
            let http = self.client.http.clone();
            let response = self.start(http).await?;
            if response.status().is_success() && is_event_stream(response.headers()) {
                let headers = response.headers().clone();
                let events = Events::new(response, host.clone(), idle, event_bytes_max);
                return Ok(Streaming::Events(headers, Box::new(events)));
            }
            answer(response, &host, max).await.map(Streaming::Answer)
        };
        let late = Error::TimedOut { host: host.clone(), phase: Phase::Answering, after: timeout };
        tokio::time::timeout(timeout, begin).await.unwrap_or(Err(late))
    }

    /// One answer over HTTP/2, frame by frame and with its trailers; all of it within the time and size of an answer.
    pub async fn call(self) -> Result<http::Response<Frames>, Error> {
        let (host, after, bytes_max) = (self.target.host_name(), self.timeout, self.body_bytes_max);
        let deadline = Instant::now() + after;
        let response = self.begin(deadline).await?;
        Ok(Frames::within(response, host, deadline, after, bytes_max))
    }

    /// A stream over HTTP/2 without an end to its time, but never silent for long. How large one message of it may be is
    /// for whoever knows where one ends.
    pub async fn call_streaming(self) -> Result<http::Response<Frames>, Error> {
        let (host, idle) = (self.target.host_name(), self.client.options.idle_timeout);
        let deadline = Instant::now() + self.timeout;
        let response = self.begin(deadline).await?;
        Ok(Frames::never_silent(response, host, idle))
    }

    /// Waits for the head of an answer over HTTP/2.
    async fn begin(self, deadline: Instant) -> Result<reqwest::Response, Error> {
        let late = Error::TimedOut { host: self.target.host_name(), phase: Phase::Answering, after: self.timeout };
        let http2 = self.client.http2.clone();
        tokio::time::timeout_at(deadline, self.start(http2)).await.unwrap_or(Err(late))
    }

    /// Sends, and judges what answered: the address once more, and where it points to.
    async fn start(self, http: reqwest::Client) -> Result<reqwest::Response, Error> {
        if let Some(broken) = self.broken {
            return Err(broken);
        }
        let host = self.target.host_name();
        let request = http.request(self.method, self.target.url().clone());
        let sent = request.headers(self.headers).body(self.body).send().await;
        let response = sent.map_err(|error| failed(&host, self.client.options.connect_timeout, error))?;
        // The second of a pair: the first was before the connection, in the resolver or when the address was read.
        if let Some(address) = response.remote_addr() {
            self.client.policy.check(&host, &[address.ip()])?;
        }
        if is_redirect(response.status()) {
            let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let to = to.map(|to| to.chars().take(200).collect());
            return Err(Error::Redirected { host, status: response.status().as_u16(), to });
        }
        Ok(response)
    }
}

async fn answer(response: reqwest::Response, host: &str, max: usize) -> Result<Answer, Error> {
    let (status, headers) = (response.status(), response.headers().clone());
    Ok(Answer { status, headers, body: body::read(response, host, max).await? })
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    media_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream")
}

/// `304` is no redirect: it says that what we have is still good.
fn is_redirect(status: StatusCode) -> bool {
    status.is_redirection() && status != StatusCode::NOT_MODIFIED
}

/// What the library says, in our words. What the guard said inside of it comes out as it was.
pub(crate) fn failed(host: &str, connect_timeout: Duration, error: reqwest::Error) -> Error {
    if let Some(ours) = said_by_guard(&error) {
        return ours;
    }
    if error.is_timeout() && error.is_connect() {
        return Error::TimedOut { host: host.to_owned(), phase: Phase::Connecting, after: connect_timeout };
    }
    let (host, problem) = (host.to_owned(), describe(&error));
    if error.is_connect() { Error::Unreachable { host, problem } } else { Error::Broken { host, problem } }
}

fn said_by_guard(error: &reqwest::Error) -> Option<Error> {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if let Some(ours) = cause.downcast_ref::<Error>() {
            return again(ours);
        }
        source = cause.source();
    }
    None
}

/// Errors are not cloned; those that the resolver says can be said again.
fn again(error: &Error) -> Option<Error> {
    match error {
        Error::Blocked { host, address, range } => {
            Some(Error::Blocked { host: host.clone(), address: *address, range: *range })
        }
        Error::Unresolved { host, problem } => Some(Error::Unresolved { host: host.clone(), problem: problem.clone() }),
        Error::TimedOut { host, phase, after } => {
            Some(Error::TimedOut { host: host.clone(), phase: *phase, after: *after })
        }
        _ => None,
    }
}
