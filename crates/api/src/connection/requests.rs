//! The requests of one connection that are under way, and the answers that wait to be sent.
//!
//! They are polled here and nowhere else, so that they begin in the order they came and go on in the order they are woken: of
//! two messages that a client sends one behind the other, the first is published first. So whatever else a connection
//! waits for, it waits for [`beside`](Requests::beside) them. A request that is not polled keeps what it holds, and what it holds
//! may be what the connection waits for, or what everybody else does. For the same reason none of them waits for a client that
//! does not read: its answers wait here, and count as requests until they are sent.

use std::collections::VecDeque;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::mpsc;

use crate::outgoing::Outgoing;

pub(super) struct Requests<F> {
    running: FuturesUnordered<F>,
    answers: VecDeque<Bytes>,
    out: mpsc::Sender<Outgoing>,
}

impl<F: Future<Output = Option<Vec<u8>>>> Requests<F> {
    pub(super) fn new(out: mpsc::Sender<Outgoing>) -> Self {
        Self { running: FuturesUnordered::new(), answers: VecDeque::new(), out }
    }

    /// How many there are that their client has not been answered.
    pub(super) fn len(&self) -> usize {
        self.running.len() + self.answers.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn begin(&self, request: F) {
        self.running.push(request);
    }

    /// Takes the answer to one; a notification has none.
    pub(super) fn answered(&mut self, answer: Option<Vec<u8>>) {
        self.answers.extend(answer.map(Bytes::from));
    }

    /// Waits for something else while they go on.
    pub(super) async fn beside<T>(&mut self, other: impl Future<Output = T>) -> T {
        tokio::pin!(other);
        loop {
            tokio::select! {
                done = &mut other => return done,
                () = self.go_on(), if !self.is_empty() => {}
            }
        }
    }

    /// Until one of them is done, or an answer is on its way. Dropping the future loses nothing. Never, where there are none.
    pub(super) async fn go_on(&mut self) {
        tokio::select! {
            Some(answer) = self.running.next(), if !self.running.is_empty() => self.answers.extend(answer.map(Bytes::from)),
            place = self.out.reserve(), if !self.answers.is_empty() => match (place, self.answers.pop_front()) {
                (Ok(place), Some(answer)) => place.send(Outgoing::Answer(answer)),
                // The client has gone; the incoming side ends next.
                _ => self.answers.clear(),
            },
            else => std::future::pending().await,
        }
    }
}
