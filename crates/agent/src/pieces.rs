//! The way of an answer's pieces from the model to the log: a bounded queue between two halves of one run.
//!
//! A run may wait for its model for hours, and there may be many runs, so an empty queue holds no buffer. That is what a
//! general channel would not give: it sets up room for its first messages when it is made.

use factum_model::report::{Chunk, Report};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::model::Piece;

/// How many pieces wait for the ones before them to become durable. Beyond that the model waits.
const PIECES_WAITING_MAX: usize = 256;

#[derive(Default)]
pub(crate) struct Pieces {
    queue: Mutex<Queue>,
    /// Something came, or nothing will come any more. One waits here: the pump.
    filled: Notify,
    /// There is room again.
    drained: Notify,
}

#[derive(Default)]
struct Queue {
    pieces: Vec<Piece>,
    closed: bool,
}

/// What was in the queue.
#[derive(Debug, PartialEq)]
pub(crate) enum Taken {
    /// At least one piece; more may come.
    Some(Vec<Piece>),
    /// The end. Nothing comes any more.
    Rest(Vec<Piece>),
}

impl Pieces {
    /// Adds a piece, waiting while the queue is full.
    pub(crate) async fn put(&self, piece: Piece) {
        loop {
            let drained = self.drained.notified();
            {
                let mut queue = self.queue.lock();
                if queue.pieces.len() < PIECES_WAITING_MAX {
                    queue.pieces.push(piece);
                    self.filled.notify_one();
                    return;
                }
            }
            drained.await;
        }
    }

    /// Says that no more will come.
    pub(crate) fn close(&self) {
        self.queue.lock().closed = true;
        self.filled.notify_one();
    }

    /// Everything that has come, or the rest of it once no more will come.
    pub(crate) async fn take(&self) -> Taken {
        loop {
            let filled = self.filled.notified();
            {
                let mut queue = self.queue.lock();
                if queue.closed {
                    return Taken::Rest(std::mem::take(&mut queue.pieces));
                }
                if !queue.pieces.is_empty() {
                    self.drained.notify_waiters();
                    return Taken::Some(std::mem::take(&mut queue.pieces));
                }
            }
            filled.await;
        }
    }
}

/// Numbers the pieces of one answer.
#[derive(Default)]
pub(crate) struct Numbered {
    texts: u32,
    reasonings: u32,
    /// How long they are so far.
    pub(crate) bytes: usize,
}

impl Numbered {
    /// The next piece as a chunk; a status is a report of its own.
    pub(crate) fn chunk(&mut self, piece: Piece) -> Result<Chunk, Box<Report>> {
        let chunk = match piece {
            Piece::Text(text) => Chunk::Text { text, index: count(&mut self.texts) },
            Piece::Reasoning(text) => Chunk::Reasoning { text, index: count(&mut self.reasonings) },
            Piece::ReasoningSummary(text) => Chunk::ReasoningSummary { text },
            Piece::Status { phase, title, detail } => return Err(Box::new(Report::Status { phase, title, detail })),
        };
        let (Chunk::Text { text, .. } | Chunk::Reasoning { text, .. } | Chunk::ReasoningSummary { text }) = &chunk;
        self.bytes += text.len();
        Ok(chunk)
    }
}

fn count(counter: &mut u32) -> u32 {
    let index = *counter;
    *counter += 1;
    index
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn piece(number: usize) -> Piece {
        Piece::Text(number.to_string())
    }

    #[tokio::test]
    async fn pieces_come_in_order_and_the_end_is_heard() {
        let pieces = Pieces::default();
        let taking = async {
            let mut taken = Vec::new();
            loop {
                match pieces.take().await {
                    Taken::Some(some) => taken.extend(some),
                    Taken::Rest(rest) => {
                        taken.extend(rest);
                        return taken;
                    }
                }
            }
        };
        let putting = async {
            for number in 0..3 * PIECES_WAITING_MAX {
                pieces.put(piece(number)).await;
                if number % 7 == 0 {
                    tokio::task::yield_now().await;
                }
            }
            pieces.close();
        };
        let (taken, ()) = tokio::join!(taking, putting);
        assert_eq!(taken, (0..3 * PIECES_WAITING_MAX).map(piece).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_full_queue_makes_the_model_wait() {
        let pieces = Pieces::default();
        for number in 0..PIECES_WAITING_MAX {
            pieces.put(piece(number)).await;
        }
        let late = pieces.put(piece(PIECES_WAITING_MAX));
        tokio::pin!(late);
        assert!(late.as_mut().now_or_never().is_none(), "there is no room");
        let Taken::Some(first) = pieces.take().await else { panic!("the queue is not closed") };
        assert_eq!(first.len(), PIECES_WAITING_MAX);
        late.await;
        assert_eq!(pieces.take().await, Taken::Some(vec![piece(PIECES_WAITING_MAX)]));
    }
}
