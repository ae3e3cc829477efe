//! What waits to be sent to a client that keeps its connection: answers, and what its streams brought.
//!
//! Between an entry of a stream and the wire lies a queue, and a client that does not read leaves it there. What of it may not be
//! sent any more, because the stream was ended or its caller was taken out of the channel, is left out when its turn comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use factum_runtime::ChannelPass;
use tokio::sync::mpsc;

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
#[derive(Default)]
pub(crate) struct Source {
    /// Its client does not want it any more.
    left: AtomicBool,
    pass: Option<Arc<ChannelPass>>,
}

impl Source {
    pub(crate) fn of_channel(pass: Arc<ChannelPass>) -> Self {
        Self { left: AtomicBool::new(false), pass: Some(pass) }
    }

    /// Nothing more of it is sent from now on.
    pub(crate) fn leave(&self) {
        self.left.store(true, Ordering::Release);
    }

    fn is_left(&self) -> bool {
        self.left.load(Ordering::Acquire)
    }
}

impl Outgoing {
    async fn may_be_sent(&self) -> bool {
        match self {
            Self::Answer(_) => true,
            Self::End(source, _) => !source.is_left(),
            Self::Event(source, _) => {
                let passed = match &source.pass {
                    Some(pass) => pass.check().await.is_ok(),
                    None => true,
                };
                passed && !source.is_left()
            }
        }
    }

    fn into_text(self) -> Bytes {
        match self {
            Self::Answer(text) | Self::Event(_, text) | Self::End(_, text) => text,
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
            let may_be_sent = self.taken.as_ref()?.may_be_sent().await;
            let outgoing = self.taken.take().filter(|_| may_be_sent);
            if let Some(outgoing) = outgoing {
                return Some(outgoing.into_text());
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
        let (stays, leaves) = (Arc::new(Source::default()), Arc::new(Source::default()));
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
