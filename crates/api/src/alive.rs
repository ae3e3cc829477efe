//! While a stream is open: when it says that it is alive, and whether its caller may still have it. What it says is the
//! transport's.

use std::sync::Arc;
use std::time::Duration;

use factum_model::Refusal;
use tokio::sync::watch;
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
        // 0 is what clients send who cannot leave a field out.
        let asked = asked_ms.filter(|ms| *ms > 0);
        let asked = asked.map(|ms| Duration::from_millis(ms).clamp(HEARTBEAT_MIN, HEARTBEAT_MAX));
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

/// Looks again, while a stream or a connection is open, whether its caller may still have it: at once when a key is revoked,
/// and as often as a heartbeat is due for what nobody announces, such as the end of a token. Idle or busy is the same.
pub(crate) struct Recheck {
    state: Arc<State>,
    credential: Credential,
    /// Moves when a key is revoked; absent where that says nothing about this credential.
    revoked: Option<watch::Receiver<u64>>,
    checked_at: Instant,
    /// Something happened and the credential was not looked at since.
    is_due: bool,
}

impl Recheck {
    pub(crate) fn new(state: &Arc<State>, credential: Credential) -> Self {
        let revoked = credential.is_key().then(|| state.runtime.keys_revoked());
        // What was revoked since the key was let in and before this line has not been heard of.
        let is_due = revoked.is_some();
        Self { state: state.clone(), credential, revoked, checked_at: Instant::now(), is_due }
    }

    /// Waits for what comes next, for as long as the caller would be let in. Nothing that came once they would not be is given
    /// on. What comes next is not lost by looking in between, only by dropping this.
    pub(crate) async fn pass<T>(&mut self, next: impl Future<Output = T>) -> Result<T, Refusal> {
        tokio::pin!(next);
        loop {
            tokio::select! {
                biased;
                () = self.due() => self.check().await?,
                item = &mut next => {
                    self.check().await?;
                    return Ok(item);
                }
            }
        }
    }

    /// Waits until the caller would not be let in any more, and says why.
    pub(crate) async fn lost(&mut self) -> Refusal {
        loop {
            self.due().await;
            if let Err(refusal) = self.check().await {
                return refusal;
            }
        }
    }

    /// Waits until there is a reason to look. Dropping it forgets none.
    async fn due(&mut self) {
        if !self.is_due {
            tokio::select! {
                () = moved(&mut self.revoked) => {}
                () = tokio::time::sleep_until(self.checked_at + self.state.heartbeat) => {}
            }
            self.is_due = true;
        }
    }

    /// Looks, where there is a reason to.
    async fn check(&mut self) -> Result<(), Refusal> {
        let revoked = self.revoked.as_mut().is_some_and(|revoked| revoked.has_changed().unwrap_or(false));
        if !revoked && !self.is_due && self.checked_at.elapsed() < self.state.heartbeat {
            return Ok(());
        }
        self.is_due = true;
        // Before the look: what is revoked while it goes on is a reason to look again.
        if let Some(revoked) = &mut self.revoked {
            revoked.mark_unchanged();
        }
        self.state.still_admits(&self.credential).await?;
        self.checked_at = Instant::now();
        self.is_due = false;
        Ok(())
    }
}

async fn moved(revoked: &mut Option<watch::Receiver<u64>>) {
    if let Some(revoked) = revoked
        && revoked.changed().await.is_ok()
    {
        return;
    }
    // Nothing moves where nobody looks, nor once the runtime is gone.
    std::future::pending().await
}
