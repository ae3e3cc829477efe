//! Following a messaging channel: a stream that survives lost connections, without a gap and without a duplicate.
//!
//! The sequence of the last message handed out is where a new connection goes on, and the version that the last change made
//! says which changes behind that message are old. Who comes and goes is only known while a connection lasts.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use factum_model::messaging::{StreamChannel, StreamEnvelope};
use factum_model::{ErrorCode, Refusal};
use reqwest::{Response, header};
use tokio::time::{Instant, sleep_until, timeout};

use super::Client;
use super::follow::{SILENCE_MAX, may_pass};
use super::retry::Retry;
use super::sse::{Message, Parser};
use crate::failure::Problem;

/// One entry of a channel, and the JSON it came as.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) envelope: StreamEnvelope,
    pub(crate) json: String,
}

/// What there is to hear.
#[derive(Debug)]
pub(crate) enum Heard {
    Entry(Box<Entry>),
    /// The connection is gone, and why. It is being made again.
    Lost(String),
    /// The connection is there again.
    Back,
}

/// A channel that is being followed.
pub(crate) struct FollowChannel {
    client: Client,
    params: StreamChannel,
    place: Place,
    live: Option<Live>,
    ready: VecDeque<Heard>,
    retry: Retry,
    /// How long to wait before the next connection, where the last one was lost.
    pause: Option<Duration>,
}

/// How far a reader is.
#[derive(Clone, Copy, Debug)]
struct Place {
    sequence: u64,
    version: u64,
}

struct Live {
    response: Response,
    parser: Parser,
    chunks: u64,
}

impl FollowChannel {
    /// Follows from behind `params.since_sequence`; changes up to `version` are known.
    pub(crate) fn new(client: Client, params: StreamChannel, version: u64) -> Self {
        let place = Place { sequence: params.since_sequence.unwrap_or(0), version };
        let (ready, retry) = (VecDeque::new(), Retry::default());
        Self { client, params, place, live: None, ready, retry, pause: None }
    }

    /// What comes next, however long it takes. Fails where the server refuses, or stays away for too long.
    pub(crate) async fn next(&mut self) -> Result<Heard> {
        loop {
            if let Some(heard) = self.ready.pop_front() {
                return Ok(heard);
            }
            let told = self.pause.is_some();
            if let Some(pause) = self.pause {
                sleep_until(Instant::now() + pause).await;
            }
            let Err(error) = self.more().await else { continue };
            let (reason, asked) = (error.to_string(), self.live.take().and_then(|live| live.parser.retry_ms()));
            self.pause = Some(self.retry.pause(error, asked.map(Duration::from_millis))?);
            if !told {
                return Ok(Heard::Lost(reason));
            }
        }
    }

    async fn more(&mut self) -> Result<()> {
        if self.live.is_none() {
            self.live = Some(self.connect().await?);
            self.retry.reached();
        }
        let Some(live) = &mut self.live else { return Ok(()) };
        let chunk = timeout(SILENCE_MAX, live.response.chunk()).await.context("the connection went silent")?;
        let chunk = chunk.context("the connection broke")?.ok_or_else(|| anyhow!("the server ended the stream"))?;
        live.chunks += 1;
        if self.pause.take().is_some() {
            self.ready.push_back(Heard::Back);
        }
        if live.chunks > 1 {
            // The first is only a greeting, which a server that is about to go away sends too.
            self.retry.progressed();
        }
        for message in live.parser.feed(&chunk)? {
            let entry = self.place.take(message)?;
            self.ready.extend(entry.map(|entry| Heard::Entry(Box::new(entry))));
        }
        Ok(())
    }

    async fn connect(&self) -> Result<Live> {
        let Place { sequence, version } = self.place;
        let params =
            StreamChannel { since_sequence: Some(sequence), since_version: Some(version), ..self.params.clone() };
        let request = self.client.http.post(self.client.at("v1/channels/stream")?).json(&params);
        let request = request.header(header::ACCEPT, "text/event-stream");
        let response = self.client.send(request).await?;
        if may_pass(response.status()) {
            return Err(Problem::unreachable(format!("the server answered {}", response.status())).into());
        }
        let response = self.client.accepted("following the channel", response).await?;
        Ok(Live { response, parser: Parser::default(), chunks: 0 })
    }
}

impl Place {
    /// The entry of a message of the stream, if it is new; and the place behind it.
    fn take(&mut self, message: Message) -> Result<Option<Entry>> {
        if message.event.as_deref() == Some("error") {
            return Err(cut_off(&message.data).into());
        }
        let envelope = match serde_json::from_str(&message.data) {
            Ok(envelope) => envelope,
            Err(error) if message.id.is_some() => return Err(error).context("a message cannot be read"),
            // Something that a later version has and we do not know.
            Err(_) => return Ok(None),
        };
        let new = match &envelope {
            StreamEnvelope::MessageEvent { event } => self.pass(event.sequence)?,
            StreamEnvelope::ControlEvent { event } => {
                let new = event.version > self.version;
                self.version = self.version.max(event.version);
                new
            }
            StreamEnvelope::PresenceEvent { .. } => true,
            StreamEnvelope::Heartbeat { .. } => false,
        };
        Ok(new.then_some(Entry { envelope, json: message.data }))
    }

    /// Whether a message is the next one rather than an old one. A gap is an error, which connects again.
    fn pass(&mut self, sequence: u64) -> Result<bool> {
        let expected = self.sequence + 1;
        if sequence > expected {
            return Err(anyhow!("message {expected} was expected and {sequence} came"));
        }
        self.sequence = self.sequence.max(sequence);
        Ok(sequence == expected)
    }
}

/// The last thing that a caller hears who may not see the channel any longer.
fn cut_off(data: &str) -> Problem {
    let refusal = serde_json::from_str::<Refusal>(data).unwrap_or_else(|_| Refusal::not_found());
    let problem = Problem::refusal("following the channel", &refusal);
    match refusal.code {
        ErrorCode::NotFound => problem.advice("the channel was deleted, or you are no longer a member of it"),
        _ => problem,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::failure::{Exit, exit_of};

    fn published(sequence: u64) -> Message {
        let event = json!({
            "id": format!("msg_{sequence}"), "channelId": "chan_1", "sequence": sequence, "timestamp": 0,
            "author": "agent://a", "parts": [{ "text": "hi" }], "kind": "messageEvent",
        });
        let data = json!({ "kind": "messageEvent", "event": event }).to_string();
        Message { id: Some(sequence.to_string()), event: None, data }
    }

    fn changed(version: u64) -> Message {
        let event = json!({
            "id": "evt_1", "channelId": "chan_1", "afterSequence": 0, "version": version, "timestamp": 0,
            "actor": "agent://a", "action": "memberAdded", "kind": "controlEvent",
        });
        Message { id: None, event: None, data: json!({ "kind": "controlEvent", "event": event }).to_string() }
    }

    #[test]
    fn what_was_handed_out_is_not_handed_out_again() {
        let mut place = Place { sequence: 4, version: 2 };
        let mut taken = |message| place.take(message).map(|entry| entry.is_some()).ok();
        assert_eq!(taken(published(4)), Some(false));
        assert_eq!(taken(published(5)), Some(true));
        assert_eq!(taken(published(5)), Some(false));
        assert_eq!(taken(changed(2)), Some(false));
        assert_eq!(taken(changed(3)), Some(true));
        assert_eq!(taken(changed(3)), Some(false));
        assert_eq!(taken(published(7)), None, "a gap");
        assert_eq!(taken(published(6)), Some(true));
    }

    #[test]
    fn unknown_entries_are_passed_over_and_the_last_word_is_an_error() {
        let mut place = Place { sequence: 0, version: 0 };
        let data = |data: serde_json::Value| Message { id: None, event: None, data: data.to_string() };
        assert!(place.take(data(json!({ "kind": "heartbeat", "timestamp": 1 }))).unwrap().is_none());
        assert!(place.take(data(json!({ "kind": "reactionEvent", "event": {} }))).unwrap().is_none());
        let end = Message { event: Some("error".into()), ..data(json!(Refusal::not_found())) };
        assert_eq!(exit_of(&place.take(end).unwrap_err()), Exit::Findings);
    }
}
