//! A stream of a task on its way out, over server-sent events. The `id:` of an event is where the stream goes on behind it.

use std::sync::Arc;

use a2a::A2AError;
use axum::body::Bytes;
use axum::response::Response;
use factum_a2a::server::{Update, Updates};
use factum_a2a::{Dialect, Kind, StreamWriter, refused};
use factum_model::Refusal;
use futures::StreamExt;
use serde_json::value::RawValue;

use super::answer::{http_error_body, rpc_error, rpc_result};
use super::status::http_status;
use crate::alive::Heartbeat;
use crate::metrics::Transport;
use crate::sse::{self, Frame, Source};
use crate::state::{Credential, State, StreamGuard};

/// How long a client waits before it reconnects, in front of the first event. It is no event of its own, nor is a heartbeat:
/// some clients take whatever a blank line ends for an event and stumble over one without data.
const RETRY: &[u8] = b"retry: 1000\n";
const HEARTBEAT: Bytes = Bytes::from_static(b": heartbeat\n");

/// How an item is wrapped.
pub(super) enum Framing {
    /// The item itself: HTTP+JSON.
    Plain(Dialect),
    /// A JSON-RPC answer to the request with this id.
    Rpc { id: Box<RawValue> },
}

pub(super) fn open(
    state: &Arc<State>,
    credential: Credential,
    updates: Updates,
    writer: StreamWriter,
    framing: Framing,
) -> Response {
    let source = Items { updates, writer, framing, guard: state.stream(Transport::A2a), begun: false };
    sse::open(state, source, Heartbeat::new(state), credential)
}

/// The updates of a task, as its client's version says them.
struct Items {
    updates: Updates,
    writer: StreamWriter,
    framing: Framing,
    guard: StreamGuard,
    begun: bool,
}

impl Source for Items {
    async fn next(&mut self) -> Frame {
        match self.updates.next().await {
            None => Frame::End,
            Some(Ok(update)) => {
                let event = self.event(&update);
                // Whoever goes on reading behind an item that is the last one subscribes again.
                if self.writer.said_final() { Frame::Last(event) } else { Frame::Events(event) }
            }
            Some(Err(error)) => Frame::Last(self.framing.end(&error)),
        }
    }

    fn refused(&self, refusal: &Refusal) -> Bytes {
        self.framing.end(&refused(refusal))
    }

    fn hello(&self) -> Option<Bytes> {
        None
    }

    fn heartbeat(&self, _: &State) -> Bytes {
        HEARTBEAT
    }
}

impl Items {
    /// What an older version says in several events has its place behind the last of them only.
    fn event(&mut self, update: &Update) -> Bytes {
        let items = self.writer.write(&update.response);
        let mut frame = Vec::with_capacity(items.iter().map(|item| item.len() + 96).sum());
        if !self.begun {
            frame.extend_from_slice(RETRY);
            self.begun = true;
        }
        self.guard.sent(items.len());
        let last = items.len().saturating_sub(1);
        for (at, item) in items.into_iter().enumerate() {
            if let Some(position) = update.position.filter(|_| at == last) {
                frame.extend_from_slice(format!("id: {position}\n").as_bytes());
            }
            frame.extend_from_slice(b"data: ");
            match &self.framing {
                Framing::Plain(_) => frame.extend_from_slice(&item),
                Framing::Rpc { id } => frame.extend_from_slice(&rpc_result(id, |out| out.extend_from_slice(&item))),
            }
            frame.extend_from_slice(b"\n\n");
        }
        frame.into()
    }
}

impl Framing {
    /// An error once the stream is open: the last event.
    fn end(&self, error: &A2AError) -> Bytes {
        let (head, body) = match self {
            Self::Rpc { id } => ("data: ", rpc_error(Some(id), error)),
            Self::Plain(dialect) => {
                let body = http_error_body(*dialect, error, http_status(Kind::of(error)));
                ("event: error\ndata: ", body.to_string().into_bytes())
            }
        };
        [head.as_bytes(), &body, b"\n\n"].concat().into()
    }
}
