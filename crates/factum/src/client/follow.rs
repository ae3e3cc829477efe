//! Following a session's events: a stream that survives lost connections, without a gap and without a duplicate.
//!
//! The sequence of the last event handed out is all the state there is. A connection starts behind it; an event that is
//! not the next one is either an old one, which is dropped, or a sign that something is missing, which reconnects.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use reqwest::{Response, StatusCode, header};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep_until, timeout};

use super::Client;
use super::retry::Retry;
use super::sse::{Message, Parser};
use crate::failure::Problem;

/// Without even a heartbeat for so long, a connection is taken for dead.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(60);
/// Events a page asks for.
const PAGE_EVENTS: usize = 500;

/// An event as it was stored, with its number.
pub(crate) struct Followed {
    pub(crate) sequence: u64,
    pub(crate) json: String,
}

/// A page of events.
pub(crate) struct Page {
    pub(crate) events: Vec<Followed>,
    pub(crate) has_more: bool,
}

/// A session that is being followed.
pub(crate) struct Follow {
    client: Client,
    session: String,
    last: u64,
    live: Option<Live>,
    ready: VecDeque<Followed>,
    retry: Retry,
}

struct Live {
    response: Response,
    parser: Parser,
}

#[derive(Deserialize)]
struct WirePage<'a> {
    #[serde(borrow)]
    events: Vec<&'a RawValue>,
    has_more: bool,
}

#[derive(Deserialize)]
struct Numbered {
    sequence: u64,
}

impl Follow {
    /// Follows from behind `after`.
    pub(crate) fn new(client: Client, session: &str, after: u64) -> Self {
        let (session, live, ready) = (session.to_owned(), None, VecDeque::new());
        Self { client, session, last: after, live, ready, retry: Retry::default() }
    }

    /// The next event, however long it takes. Fails where the server refuses, or stays away for too long.
    pub(crate) async fn next(&mut self) -> Result<Followed> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.last = event.sequence;
                self.retry.progressed();
                return Ok(event);
            }
            match self.more().await {
                Ok(()) => {}
                Err(error) => self.lost(error).await?,
            }
        }
    }

    /// The next page of what is there now.
    pub(crate) async fn page(&mut self) -> Result<Page> {
        let url =
            self.client.at(&format!("v1/sessions/{}/events?after={}&limit={PAGE_EVENTS}", self.session, self.last))?;
        let response = self.client.send(self.client.http.get(url).header(header::ACCEPT, "application/json")).await?;
        let response = self.client.accepted("reading the events", response).await?;
        let text = response.text().await.context("the answer broke off")?;
        let page: WirePage<'_> = serde_json::from_str(&text).context("the answer is not a page of events")?;
        if page.events.is_empty() && page.has_more {
            return Err(anyhow!("the server says that there is more and sends nothing"));
        }
        let mut events = Vec::with_capacity(page.events.len());
        for json in page.events {
            let Numbered { sequence } = serde_json::from_str(json.get()).context("an event has no sequence")?;
            events.push(Followed { sequence, json: json.get().to_owned() });
        }
        self.last = events.last().map_or(self.last, |event| event.sequence);
        Ok(Page { events, has_more: page.has_more })
    }

    async fn more(&mut self) -> Result<()> {
        if self.live.is_none() {
            self.live = Some(self.connect().await?);
            self.retry.reached();
        }
        let Some(live) = &mut self.live else { return Ok(()) };
        let chunk = timeout(SILENCE_MAX, live.response.chunk()).await.context("the connection went silent")?;
        let chunk = chunk.context("the connection broke")?.ok_or_else(|| anyhow!("the server ended the stream"))?;
        let mut last = self.last;
        for message in live.parser.feed(&chunk)? {
            if let Some(event) = take(&message, last)? {
                last = event.sequence;
                self.ready.push_back(event);
            }
        }
        Ok(())
    }

    async fn connect(&self) -> Result<Live> {
        let url = self.client.at(&format!("v1/sessions/{}/events?after={}", self.session, self.last))?;
        let request = self.client.http.get(url).header(header::ACCEPT, "text/event-stream");
        let response = self.client.send(request.header("Last-Event-ID", self.last.to_string())).await?;
        if may_pass(response.status()) {
            return Err(Problem::unreachable(format!("the server answered {}", response.status())).into());
        }
        let response = self.client.accepted("following the session", response).await?;
        Ok(Live { response, parser: Parser::default() })
    }

    /// After a failure: waits a little, or gives up where waiting will not help.
    async fn lost(&mut self, error: anyhow::Error) -> Result<()> {
        let asked = self.live.take().and_then(|live| live.parser.retry_ms()).map(Duration::from_millis);
        let pause = self.retry.pause(error, asked)?;
        sleep_until(Instant::now() + pause).await;
        Ok(())
    }
}

/// Whether a refusal is about the moment rather than about the request.
pub(super) fn may_pass(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
}

/// The event of a message, if it is the next one. Messages without a number are the server's own notes.
fn take(message: &Message, last: u64) -> Result<Option<Followed>> {
    let Some(sequence) = message.id.as_deref().and_then(|id| id.parse::<u64>().ok()) else { return Ok(None) };
    if sequence <= last {
        return Ok(None);
    }
    if sequence > last + 1 {
        return Err(anyhow!("sequence {} was expected and {sequence} came", last + 1));
    }
    Ok(Some(Followed { sequence, json: message.data.clone() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_events_are_dropped_and_gaps_are_noticed() {
        let message = |id: Option<&str>| Message { id: id.map(str::to_owned), data: "{}".into(), event: None };
        let taken = |id, last| take(&message(id), last).map(|event| event.map(|event| event.sequence)).ok();
        assert_eq!(taken(Some("5"), 4), Some(Some(5)));
        assert_eq!(taken(Some("4"), 4), Some(None));
        assert_eq!(taken(None, 4), Some(None));
        assert_eq!(taken(Some("6"), 4), None);
    }
}
