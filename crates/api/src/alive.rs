//! While a stream is open: when it says that it is alive, and whether its caller may still have it. What it says is the
//! transport's.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::state::{Credential, State};

/// How often a client may ask to hear from a quiet stream.
const HEARTBEAT_MIN: Duration = Duration::from_millis(100);
const HEARTBEAT_MAX: Duration = Duration::from_secs(60);

/// When a quiet stream says something.
pub(crate) struct Heartbeat {
    every: Duration,
    asked: bool,
    due: Instant,
}

impl Heartbeat {
    /// As often as the server's streams do.
    pub(crate) fn new(state: &State) -> Self {
        Self { every: state.heartbeat, asked: false, due: Instant::now() + state.heartbeat }
    }

    /// As often as the client asks, if it does.
    pub(crate) fn asked_for(state: &State, asked_ms: Option<u64>) -> Self {
        let asked = asked_ms.map(|ms| Duration::from_millis(ms).clamp(HEARTBEAT_MIN, HEARTBEAT_MAX));
        let every = asked.unwrap_or(state.heartbeat);
        Self { every, asked: asked.is_some(), due: Instant::now() + every }
    }

    /// Whether the client asked.
    pub(crate) fn asked(&self) -> bool {
        self.asked
    }

    pub(crate) async fn wait(&mut self) {
        tokio::time::sleep_until(self.due).await;
        self.due = Instant::now() + self.every;
    }

    /// Something else was sent, which says as much.
    pub(crate) fn put_off(&mut self) {
        self.due = Instant::now() + self.every;
    }
}

/// Looks again, while a stream runs, whether its caller may still have it: as often as a heartbeat is due, whether the
/// stream is idle or busy.
pub(crate) struct Recheck {
    pub(crate) state: Arc<State>,
    credential: Credential,
    checked_at: Instant,
}

impl Recheck {
    pub(crate) fn new(state: &Arc<State>, credential: Credential) -> Self {
        Self { state: state.clone(), credential, checked_at: Instant::now() }
    }

    pub(crate) async fn still_admitted(&mut self) -> bool {
        if self.checked_at.elapsed() < self.state.heartbeat {
            return true;
        }
        self.checked_at = Instant::now();
        self.state.still_admits(&self.credential).await
    }
}

/// The interval between two heartbeats, or between two looks at a credential.
pub(crate) async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}
