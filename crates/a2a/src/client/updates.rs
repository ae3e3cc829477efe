//! What a peer streams, one item after the other.

use a2a::StreamResponse;
use factum_outbound::Events;
use http::HeaderValue;

use super::failure::Failure;
use super::{grpc, json};

/// One item of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerUpdate {
    /// Where to go on behind it, where the peer says so.
    pub event_id: Option<String>,
    pub response: StreamResponse,
}

/// A peer's stream. Ends with `None`, which says nothing about the task: only its state does. So does a stream that is silent for too
/// long: whoever read it looks at the task.
pub struct PeerUpdates(Source);

enum Source {
    Events(Events, json::Reader),
    Items(Box<grpc::Items>),
    Single(Option<PeerUpdate>),
}

impl PeerUpdates {
    pub(super) fn events(events: Events, reader: json::Reader) -> Self {
        Self(Source::Events(events, reader))
    }

    pub(super) fn items(items: grpc::Items) -> Self {
        Self(Source::Items(Box::new(items)))
    }

    pub(super) fn single(update: PeerUpdate) -> Self {
        Self(Source::Single(Some(update)))
    }

    pub async fn next(&mut self) -> Result<Option<PeerUpdate>, Failure> {
        match self.read().await {
            Err(Failure::Silent { .. }) => Ok(None),
            next => next,
        }
    }

    async fn read(&mut self) -> Result<Option<PeerUpdate>, Failure> {
        match &mut self.0 {
            Source::Single(update) => Ok(update.take()),
            // gRPC has no ids for what a stream brings.
            Source::Items(items) => Ok(items.next().await?.map(|response| PeerUpdate { event_id: None, response })),
            Source::Events(events, reader) => loop {
                let Some(event) = events.next().await? else { return Ok(None) };
                if event.data.trim().is_empty() {
                    continue;
                }
                // A place that cannot be said again is none.
                let event_id = event.id.filter(|id| HeaderValue::try_from(id.as_str()).is_ok());
                return Ok(Some(PeerUpdate { event_id, response: reader.read(&event.data)? }));
            },
        }
    }
}
