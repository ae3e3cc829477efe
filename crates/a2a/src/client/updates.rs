//! What a peer streams, one item after the other.

use a2a::StreamResponse;
use factum_outbound::Events;
use serde_json::Value;

use super::card::Binding;
use super::failure::Failure;
use super::forgiving::forgiven;
use super::operation::Operation;
use super::{rest, rpc, v0_3};
use crate::version::Version;

/// One item of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerUpdate {
    /// Where to go on behind it, where the peer says so.
    pub event_id: Option<String>,
    pub response: StreamResponse,
}

/// A peer's stream. Ends with `None`, which says nothing about the task: only its state does.
pub struct PeerUpdates(Source);

enum Source {
    Stream(Events, Reader),
    Single(Option<PeerUpdate>),
}

/// How one event is read.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    pub(super) binding: Binding,
    pub(super) version: Version,
}

impl Reader {
    fn read(self, data: &str) -> Result<StreamResponse, Failure> {
        let body: Value = serde_json::from_str(data)
            .map_err(|error| Failure::malformed(format!("an event that is not JSON: {error}")))?;
        let value = match self.binding {
            Binding::JsonRpc => rpc::outcome(body)?,
            Binding::HttpJson => match body.get("error").and_then(|_| rest::said(&body)) {
                Some(failure) => return Err(failure),
                None => body,
            },
        };
        let value =
            if self.version == Version::V0_3 { v0_3::result_from(Operation::Stream, value) } else { forgiven(value) };
        serde_json::from_value(value).map_err(|error| Failure::malformed(error.to_string()))
    }
}

impl PeerUpdates {
    pub(super) fn stream(events: Events, reader: Reader) -> Self {
        Self(Source::Stream(events, reader))
    }

    pub(super) fn single(update: PeerUpdate) -> Self {
        Self(Source::Single(Some(update)))
    }

    pub async fn next(&mut self) -> Result<Option<PeerUpdate>, Failure> {
        match &mut self.0 {
            Source::Single(update) => Ok(update.take()),
            Source::Stream(events, reader) => loop {
                let Some(event) = events.next().await? else { return Ok(None) };
                if event.data.trim().is_empty() {
                    continue;
                }
                return Ok(Some(PeerUpdate { event_id: event.id, response: reader.read(&event.data)? }));
            },
        }
    }
}
