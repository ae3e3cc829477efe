//! Following a stream: from any sequence, through the log, into live, without a gap or a duplicate at the seam.
//!
//! There is no queue. A subscription knows the sequence it wants next; what is in the ring comes from there, what is older
//! is read from the log. Falling behind only means reading the log again.

use std::sync::Arc;

use factum_engine::session::SessionState;
use factum_model::Refusal;
use factum_model::id::SessionId;
use factum_model::registry::Scope;
use factum_store::ReadLimit;

use crate::aggregate::Aggregate;
use crate::caller::Caller;
use crate::cell::Cell;
use crate::error::read_refusal;
use crate::hub::Published;
use crate::runtime::Runtime;

/// How many events come at once at most.
pub const BATCH_EVENTS_MAX: usize = 256;
/// How many bytes of older events are read at once at most.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// A live view of a session's events.
pub struct Subscription(Follow<SessionState>);

/// A place in a stream, somewhere in the log or at its living end.
pub(crate) struct Follow<S: Aggregate> {
    runtime: Runtime,
    pub(crate) cell: Arc<Cell<S>>,
    next: u64,
}

impl Runtime {
    /// Follows a session from behind `after`.
    pub async fn subscribe(
        &self,
        caller: &Caller,
        session_id: &SessionId,
        after: u64,
    ) -> Result<Subscription, Refusal> {
        caller.require(Scope::SessionsRead)?;
        self.follow(&caller.account, session_id, after).await.map(Subscription)
    }

    pub(crate) async fn follow<S: Aggregate>(
        &self,
        account: &Arc<str>,
        id: &S::Id,
        after: u64,
    ) -> Result<Follow<S>, Refusal> {
        loop {
            let cell = self.find::<S>(account, id).await?;
            let live = cell.live.lock();
            if live.retired {
                continue;
            }
            cell.hub.subscribe();
            drop(live);
            return Ok(Follow { runtime: self.clone(), cell, next: after.saturating_add(1) });
        }
    }
}

impl Subscription {
    /// The next events, at least one, in order. Waits where there are none yet; dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Vec<Arc<Published>>, Refusal> {
        self.0.next().await
    }

    /// The last sequence that is there.
    pub fn durable(&self) -> u64 {
        self.0.cell.hub.durable()
    }

    /// The sequence that comes next.
    pub fn next_sequence(&self) -> u64 {
        self.0.next
    }
}

impl<S: Aggregate> Follow<S> {
    /// Whether there is something to take without waiting.
    pub(crate) fn is_ready(&self) -> bool {
        self.next <= self.cell.hub.durable()
    }

    /// Waits until there is.
    pub(crate) async fn ready(&self) {
        self.cell.hub.wait_durable(self.next).await;
    }

    /// See [`Subscription::next`].
    pub(crate) async fn next(&mut self) -> Result<Vec<Arc<Published>>, Refusal> {
        loop {
            if self.next > self.cell.hub.durable() {
                let (hub, next) = (&self.cell.hub, self.next);
                hub.wait_durable(next).await;
            }
            let recent = self.cell.hub.recent(self.next, BATCH_EVENTS_MAX).filter(|events| !events.is_empty());
            let events = match recent {
                Some(events) => events,
                None => self.read_log().await?,
            };
            if let Some(last) = events.last() {
                self.next = last.sequence + 1;
                return Ok(events);
            }
        }
    }

    async fn read_log(&self) -> Result<Vec<Arc<Published>>, Refusal> {
        let limit = ReadLimit { records: BATCH_EVENTS_MAX, bytes: BATCH_BYTES_MAX };
        let records = self.runtime.0.store.read(&self.cell.stream, self.next, limit).await;
        let records = records.map_err(|error| read_refusal(&error))?;
        Ok(records.into_iter().map(|record| Arc::new(Published::new(record.sequence, record.bytes))).collect())
    }
}

impl<S: Aggregate> Drop for Follow<S> {
    fn drop(&mut self) {
        self.cell.hub.unsubscribe();
    }
}
