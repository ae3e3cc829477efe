//! What waits to be sent to a client that keeps its connection: answers, and what its streams brought.
//!
//! Between an entry of a stream and the wire lies a queue, and a client that does not read leaves it there. What of it may not be
//! sent any more, because the stream was ended or its caller was taken out of the channel, is left out when its turn comes. Where it
//! cannot be said whether something may be sent, its stream ends there and says so: nothing is left out without a word.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use factum_model::{ErrorCode, Refusal};
use factum_runtime::ChannelPass;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How many may wait.
const QUEUE: usize = 64;

/// One message on its way.
pub(crate) enum Outgoing {
    Answer(Bytes),
    Event(Arc<Source>, Bytes),
    /// Why there are no more events.
    End(Arc<Source>, Bytes),
}

/// The stream that something came from.
pub(crate) struct Source {
    /// What the client calls it.
    id: String,
    /// Its client does not want it any more, or was told that it ended.
    left: CancellationToken,
    /// Something of it was left out, and so is all that comes behind: a client sees no gap.
    cut: AtomicBool,
    pass: Option<Arc<ChannelPass>>,
}

/// What becomes of something when its turn comes.
enum Turn {
    Send,
    LeaveOut,
    /// Its stream ends here instead.
    End(Refusal),
}

impl Source {
    pub(crate) fn new(id: String) -> Self {
        Self { id, left: CancellationToken::new(), cut: AtomicBool::new(false), pass: None }
    }

    pub(crate) fn of_channel(id: String, pass: Arc<ChannelPass>) -> Self {
        Self { pass: Some(pass), ..Self::new(id) }
    }

    /// Nothing more of it is sent from now on.
    pub(crate) fn leave(&self) {
        self.left.cancel();
    }

    fn is_left(&self) -> bool {
        self.left.is_cancelled()
    }

    /// Waits until nothing more of it is sent.
    pub(crate) async fn left(&self) {
        self.left.cancelled().await;
    }

    /// The last that its client hears of it.
    pub(crate) fn ended(&self, refusal: &Refusal) -> Bytes {
        let ended = json!({
            "jsonrpc": "2.0",
            "method": "ended",
            "params": { "subscription_id": self.id, "error": refusal },
        });
        ended.to_string().into()
    }

    async fn turn(&self) -> Turn {
        let passed = match &self.pass {
            Some(pass) => pass.check().await,
            None => Ok(()),
        };
        match passed {
            _ if self.is_left() || self.cut.load(Ordering::Acquire) => Turn::LeaveOut,
            Ok(()) => Turn::Send,
            // Whoever takes entries from the log comes to what happened, and tells it.
            Err(refusal) if matches!(refusal.code, ErrorCode::NotFound | ErrorCode::PermissionDenied) => {
                self.cut.store(true, Ordering::Release);
                Turn::LeaveOut
            }
            Err(refusal) => Turn::End(refusal),
        }
    }
}

impl Outgoing {
    async fn turn(&self) -> Turn {
        match self {
            Self::Answer(_) => Turn::Send,
            Self::End(source, _) if source.is_left() => Turn::LeaveOut,
            Self::End(..) => Turn::Send,
            Self::Event(source, _) => source.turn().await,
        }
    }

    fn into_text(self) -> Bytes {
        match self {
            Self::Answer(text) | Self::Event(_, text) | Self::End(_, text) => text,
        }
    }

    /// Ends the stream it came from; gives what is said of that.
    fn into_end(self, refusal: &Refusal) -> Option<Bytes> {
        match self {
            Self::Answer(_) => None,
            Self::Event(source, _) | Self::End(source, _) => {
                source.leave();
                Some(source.ended(refusal))
            }
        }
    }
}

/// The end of the queue that writes to the wire.
pub(crate) struct Queue {
    receiver: mpsc::Receiver<Outgoing>,
    /// Taken, and being looked at: waiting for it may be given up and begun again.
    taken: Option<Outgoing>,
}

pub(crate) fn queue() -> (mpsc::Sender<Outgoing>, Queue) {
    let (sender, receiver) = mpsc::channel(QUEUE);
    (sender, Queue { receiver, taken: None })
}

impl Queue {
    /// The next text to send; `None` when there will be none. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.taken.is_none() {
                self.taken = self.receiver.recv().await;
            }
            let turn = self.taken.as_ref()?.turn().await;
            let outgoing = self.taken.take()?;
            let text = match turn {
                Turn::Send => Some(outgoing.into_text()),
                Turn::LeaveOut => None,
                Turn::End(refusal) => outgoing.into_end(&refusal),
            };
            if text.is_some() {
                return text;
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting() == 0
    }

    pub(crate) fn waiting(&self) -> usize {
        usize::from(self.taken.is_some()) + self.receiver.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_a_stream_left_behind_is_not_sent() {
        let (sender, mut queue) = queue();
        let [stays, leaves] = ["stays", "leaves"].map(|id| Arc::new(Source::new(id.to_owned())));
        for (source, text) in [(&stays, "a"), (&leaves, "b"), (&stays, "c")] {
            sender.send(Outgoing::Event(source.clone(), text.into())).await.unwrap();
        }
        sender.send(Outgoing::End(leaves.clone(), "end".into())).await.unwrap();
        sender.send(Outgoing::Answer("left".into())).await.unwrap();
        leaves.leave();
        drop(sender);
        let mut sent = Vec::new();
        while let Some(text) = queue.next().await {
            sent.push(text);
        }
        assert_eq!(sent, ["a", "c", "left"]);
    }
}
