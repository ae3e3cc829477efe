//! The queue between those who append and the one writer.
//!
//! It owns order and the bound on what may wait. Pushing is a lock, a push, and a wake-up only if the writer sleeps.
//!
//! Invariant: what was pushed is taken exactly once, in order, also after the queue was closed.

use parking_lot::{Condvar, Mutex};

use crate::contract::{Commit, Done};
use crate::error::AppendError;
use crate::frame::Content;
use crate::options::Options;

/// A commit that waits to be written.
pub(crate) struct Request {
    pub(crate) commit: Commit,
    /// What is to be written of it. A commit that breaks a limit keeps its place in line only to be refused in order.
    pub(crate) content: Result<Content, AppendError>,
    pub(crate) done: Done,
}

impl Request {
    /// The commit's length in the log.
    fn frame_len(&self) -> usize {
        self.content.as_ref().map_or(0, Content::frame_len)
    }
}

pub(crate) struct Queue {
    state: Mutex<State>,
    arrived: Condvar,
    commits_max: usize,
    bytes_max: usize,
}

struct State {
    requests: Vec<Request>,
    bytes: usize,
    open: bool,
    writer_sleeps: bool,
}

impl Queue {
    pub(crate) fn new(options: &Options) -> Self {
        let state = State { requests: Vec::new(), bytes: 0, open: true, writer_sleeps: false };
        Self {
            state: Mutex::new(state),
            arrived: Condvar::new(),
            commits_max: options.queue_commits_max,
            bytes_max: options.queue_bytes_max,
        }
    }

    /// Gives the callback back where the request cannot wait here.
    pub(crate) fn push(&self, request: Request) -> Result<(), (Done, AppendError)> {
        let mut state = self.state.lock();
        if !state.open {
            return Err((request.done, AppendError::Closed));
        }
        let waiting = state.requests.len();
        if waiting >= self.commits_max || (waiting > 0 && state.bytes + request.frame_len() > self.bytes_max) {
            return Err((request.done, AppendError::Busy { waiting }));
        }
        state.bytes += request.frame_len();
        state.requests.push(request);
        let wake = std::mem::take(&mut state.writer_sleeps);
        drop(state);
        if wake {
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// Everything that arrived, waiting for something to arrive. `into` is empty and becomes the next queue, so that
    /// two vectors serve for ever. False when the queue is closed and empty.
    pub(crate) fn take(&self, into: &mut Vec<Request>) -> bool {
        debug_assert!(into.is_empty());
        let mut state = self.state.lock();
        while state.requests.is_empty() {
            if !state.open {
                return false;
            }
            state.writer_sleeps = true;
            self.arrived.wait(&mut state);
        }
        state.writer_sleeps = false;
        state.bytes = 0;
        std::mem::swap(&mut state.requests, into);
        true
    }

    pub(crate) fn close(&self) {
        self.state.lock().open = false;
        self.arrived.notify_one();
    }

    pub(crate) fn waiting(&self) -> usize {
        self.state.lock().requests.len()
    }
}
