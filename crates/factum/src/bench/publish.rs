//! Who makes the events of a stream that others follow: turns of a session or messages of a channel here, plain frames on the bare server.

use anyhow::{Context, Result};
use factum_model::commands::{PublishMessageResult, SubmitTurnResult};
use factum_model::id::SessionId;
use serde_json::json;

use super::echo::frames_of;
use super::messages::{create_channel, publish_request};
use super::sse::Events;
use super::wire::{Connection, Target};

/// How many turns the size of a turn is told from.
const PROBE_TURNS: u64 = 20;

/// Makes something new to follow.
pub(super) trait Publish {
    /// The number of an event that is now on its way to every subscriber.
    async fn publish(&mut self) -> Result<u64>;
}

/// Something of ours that others can follow.
pub(super) trait Source: Publish {
    /// Where.
    fn path(&self) -> String;

    /// The number of the newest event.
    fn newest(&self) -> u64;
}

/// Turns of one session: each interrupts the one before, whose agent waits.
pub(super) struct Turns {
    connection: Connection,
    request: Vec<u8>,
    session_id: SessionId,
    newest: u64,
}

impl Turns {
    pub(super) async fn begin(target: &Target) -> Result<Self> {
        let mut connection = Connection::open(target).await?;
        let first = submit(&mut connection, &request(target, None)).await?;
        let request = request(target, Some(&first.session_id));
        Ok(Self { connection, request, session_id: first.session_id, newest: first.sequence })
    }

    /// How many events a turn makes and how large they are as messages, in the middle of some turns.
    pub(super) async fn probe(&mut self, target: &Target) -> Result<Size> {
        let first = self.publish().await?;
        let mut events = Events::open(target, &self.path(), first).await?;
        let mut last = first;
        for _ in 0..PROBE_TURNS {
            last = self.publish().await?;
        }
        let (mut ids, mut count, mut newest) = (Vec::new(), 0, 0);
        while newest < last {
            events.next(&mut ids).await?;
            count += ids.len() as u64;
            newest = ids.last().copied().unwrap_or(newest);
        }
        Ok(Size { events: (count / PROBE_TURNS).max(1), bytes: (events.bytes() / count) as usize })
    }
}

impl Source for Turns {
    fn path(&self) -> String {
        format!("/v1/sessions/{}/events", self.session_id)
    }

    fn newest(&self) -> u64 {
        self.newest
    }
}

impl Publish for Turns {
    async fn publish(&mut self) -> Result<u64> {
        self.newest = submit(&mut self.connection, &self.request).await?.sequence;
        Ok(self.newest)
    }
}

/// Messages of one channel.
pub(super) struct Messages {
    connection: Connection,
    request: Vec<u8>,
    channel_id: String,
    newest: u64,
}

impl Messages {
    /// A channel with its first message, and how large that is on the wire.
    pub(super) async fn begin(target: &Target) -> Result<(Self, Size)> {
        let mut connection = Connection::open(target).await?;
        let channel_id = create_channel(target, &mut connection).await?;
        let request = publish_request(target, &channel_id, "Look through the open incidents.");
        let mut messages = Self { connection, request, channel_id, newest: 0 };
        let first = messages.publish().await?;
        let mut events = Events::open(target, &messages.path(), 0).await?;
        let (mut ids, mut newest) = (Vec::new(), 0);
        while newest < first {
            events.next(&mut ids).await?;
            newest = ids.last().copied().unwrap_or(newest);
        }
        Ok((messages, Size { events: 1, bytes: (events.bytes() / first) as usize }))
    }
}

impl Source for Messages {
    fn path(&self) -> String {
        format!("/v1/channels/{}/events", self.channel_id)
    }

    fn newest(&self) -> u64 {
        self.newest
    }
}

impl Publish for Messages {
    async fn publish(&mut self) -> Result<u64> {
        let answer = self.connection.call(&self.request).await?;
        let answer: PublishMessageResult =
            serde_json::from_slice(answer).context("the answer to channels/publish does not parse")?;
        self.newest = answer.event.sequence;
        Ok(self.newest)
    }
}

fn request(target: &Target, session_id: Option<&SessionId>) -> Vec<u8> {
    let input = json!([{ "type": "text", "text": "Look through the open incidents." }]);
    let body = json!({ "session_id": session_id, "agent": "waiting", "on_busy": "interrupt", "input": input });
    target.post("/v1/submit_turn", &body.to_string())
}

async fn submit(connection: &mut Connection, request: &[u8]) -> Result<SubmitTurnResult> {
    let answer = connection.call(request).await?;
    serde_json::from_slice(answer).context("the answer to submit_turn does not parse")
}

/// What one publication is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) events: u64,
    pub(super) bytes: usize,
}

/// Frames of the size of ours, sent on by the bare server.
pub(super) struct Frames {
    connection: Connection,
    target: Target,
    size: Size,
    newest: u64,
}

impl Frames {
    pub(super) const PATH: &str = "/events";

    pub(super) async fn begin(target: &Target, size: Size) -> Result<Self> {
        Ok(Self { connection: Connection::open(target).await?, target: target.clone(), size, newest: 0 })
    }

    pub(super) fn newest(&self) -> u64 {
        self.newest
    }
}

impl Publish for Frames {
    async fn publish(&mut self) -> Result<u64> {
        let frames = frames_of(self.newest + 1, self.size.events, self.size.bytes);
        self.connection.call(&self.target.post("/publish", &frames)).await?;
        self.newest += self.size.events;
        Ok(self.newest)
    }
}
