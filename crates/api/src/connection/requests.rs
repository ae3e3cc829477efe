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

/// Where so much waits to be sent, nothing more is read from a client, which does not read what it is sent.
const UNSENT_BYTES_MAX: usize = 4 << 20;

pub(super) struct Requests<F> {
    running: FuturesUnordered<F>,
    answers: VecDeque<Bytes>,
    /// How many bytes of them.
    unsent: usize,
    out: mpsc::Sender<Outgoing>,
}

impl<F: Future<Output = Option<Vec<u8>>>> Requests<F> {
    pub(super) fn new(out: mpsc::Sender<Outgoing>) -> Self {
        Self { running: FuturesUnordered::new(), answers: VecDeque::new(), unsent: 0, out }
    }

    /// Whether another one may begin, where so many may be without an answer that is sent.
    pub(super) fn has_room(&self, in_flight_max: usize) -> bool {
        self.running.len() + self.answers.len() < in_flight_max && self.unsent < UNSENT_BYTES_MAX
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.answers.is_empty()
    }

    pub(super) fn begin(&self, request: F) {
        self.running.push(request);
    }

    /// Takes the answer to one; a notification has none.
    pub(super) fn answered(&mut self, answer: Option<Vec<u8>>) {
        self.unsent += answer.as_ref().map_or(0, Vec::len);
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
        let Self { running, answers, unsent, out } = self;
        tokio::select! {
            Some(answer) = running.next(), if !running.is_empty() => {
                *unsent += answer.as_ref().map_or(0, Vec::len);
                answers.extend(answer.map(Bytes::from));
            }
            place = out.reserve(), if !answers.is_empty() => match (place, answers.pop_front()) {
                (Ok(place), Some(answer)) => {
                    *unsent -= answer.len();
                    place.send(Outgoing::Answer(answer));
                }
                // The client has gone; the incoming side ends next.
                _ => {
                    answers.clear();
                    *unsent = 0;
                }
            },
            else => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answers_that_are_not_read_take_the_room_of_requests() {
        let (out, mut sent) = mpsc::channel(1);
        let mut requests = Requests::<std::future::Ready<_>>::new(out);
        for _ in 0..2 {
            assert!(requests.has_room(3));
            requests.answered(Some(vec![0; UNSENT_BYTES_MAX / 2]));
        }
        assert!(!requests.has_room(3), "by their bytes");
        requests.go_on().await;
        assert!(requests.has_room(3));
        (0..2).for_each(|_| requests.answered(Some(Vec::new())));
        assert!(!requests.has_room(3), "by their number");
        for _ in 0..3 {
            assert!(sent.recv().await.is_some());
            requests.go_on().await;
        }
        assert!(requests.is_empty() && requests.has_room(1));
    }
}
