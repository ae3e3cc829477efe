//! Following a stream: from any sequence, through the log, into live, without a gap or a duplicate at the seam.
//!
//! There is no queue. A subscription knows the sequence it wants next; what is in the ring comes from there, what is older
//! is read from the log. Falling behind only means reading the log again.

use std::sync::Arc;

use factum_engine::session::SessionState;
use factum_engine::{Context, Decision};
use factum_model::id::SessionId;
use factum_model::registry::Scope;
use factum_model::{Event, Refusal};
use factum_store::ReadLimit;
use serde::Serialize;

use crate::aggregate::Aggregate;
use crate::caller::Caller;
use crate::cell::Cell;
use crate::commit::{Accept, Actor};
use crate::error::read_refusal;
use crate::handlers::read_events::within;
use crate::hub::{Published, Reads};
use crate::runtime::Runtime;

/// How many events come at once at most.
pub const BATCH_EVENTS_MAX: usize = 256;
/// How many bytes of older events are read at once at most.
const BATCH_BYTES_MAX: usize = 1 << 20;
/// What comes at once where nothing else is asked for.
const BATCH: ReadLimit = ReadLimit { records: BATCH_EVENTS_MAX, bytes: BATCH_BYTES_MAX };

/// A live view of a session's events, as they are sent on.
pub struct Subscription(Follow<SessionState>);

/// A live view of a session's facts, for whoever makes something of them here.
pub struct Facts(Follow<SessionState>);

/// Facts of one commit that others may look at too, in order.
#[derive(Clone, Debug, Default)]
pub struct SharedFacts {
    commit: Arc<Vec<Event>>,
    from: usize,
}

/// A place in a stream, somewhere in the log or at its living end.
pub(crate) struct Follow<S: Aggregate> {
    runtime: Runtime,
    pub(crate) cell: Arc<Cell<S>>,
    reads: Reads,
    next: u64,
    /// How much comes at once: what a reader may be left with that does not read on.
    batch: ReadLimit,
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
        let follow: Follow<SessionState> = self.follow(&caller.account, session_id, after).await?;
        within(after, follow.cell.hub.durable())?;
        Ok(Subscription(follow))
    }

    /// Follows the facts of a session from behind `after`.
    pub async fn facts(&self, caller: &Caller, session_id: &SessionId, after: u64) -> Result<Facts, Refusal> {
        caller.require(Scope::SessionsRead)?;
        self.follow_as(Reads::Facts, &caller.account, session_id, after).await.map(Facts)
    }

    pub(crate) async fn follow<S: Aggregate>(
        &self,
        account: &Arc<str>,
        id: &S::Id,
        after: u64,
    ) -> Result<Follow<S>, Refusal> {
        self.follow_as(Reads::Text, account, id, after).await
    }

    async fn follow_as<S: Aggregate>(
        &self,
        reads: Reads,
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
            let follow = Follow::new(self, &cell, reads, after);
            drop(live);
            return Ok(follow);
        }
    }
}

impl Facts {
    /// The next facts, at least one, in order. Waits where there are none yet; dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<SharedFacts, Refusal> {
        self.0.next_facts().await
    }

    /// The last sequence that is there.
    pub fn durable(&self) -> u64 {
        self.0.cell.hub.durable()
    }
}

impl Runtime {
    /// The first commit of a session as [`Runtime::begin`] makes it: its facts, and everything behind them. Whoever waits for
    /// what comes of it is there before it can come. Nobody is where `is_over` finds that nothing does.
    pub(crate) async fn begin_and_follow<T: Serialize>(
        &self,
        account: &Arc<str>,
        session_id: &SessionId,
        actor: &Actor<'_>,
        accept: &Accept,
        decide: impl FnOnce(&SessionState, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
        is_over: impl Fn(&T, &[Event]) -> bool,
    ) -> Result<(T, SharedFacts, Option<Facts>), Refusal> {
        let mut decide = Some(decide);
        loop {
            let cell = self.new_cell::<SessionState>(account, session_id);
            let mut follow = Follow::new(self, &cell, Reads::Facts, 0);
            let Some(pending) = self.try_begin(&cell, actor, accept, &mut decide) else { continue };
            let pending = pending?;
            follow.next = pending.events.last().map_or_else(|| cell.hub.durable(), |last| last.sequence) + 1;
            // Dropped here where nothing comes: before the commit is published, which is then kept for nobody.
            let behind = (!is_over(&pending.output, &pending.events)).then(move || Facts(follow));
            let (output, commit) = pending.durable(&cell).await?;
            return Ok((output, SharedFacts::of(commit), behind));
        }
    }
}

impl SharedFacts {
    pub(crate) fn of(commit: Arc<Vec<Event>>) -> Self {
        Self { commit, from: 0 }
    }

    /// Those from a sequence on.
    pub(crate) fn from(self, sequence: u64) -> Self {
        let from = self.commit.partition_point(|event| event.sequence < sequence);
        Self { from, ..self }
    }

    /// Takes the first one off.
    pub fn take_first(&mut self) -> Option<&Event> {
        let first = self.commit.get(self.from)?;
        self.from += 1;
        Some(first)
    }
}

impl std::ops::Deref for SharedFacts {
    type Target = [Event];

    fn deref(&self) -> &[Event] {
        &self.commit[self.from..]
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
    fn new(runtime: &Runtime, cell: &Arc<Cell<S>>, reads: Reads, after: u64) -> Self {
        cell.hub.subscribe(reads);
        Self { runtime: runtime.clone(), cell: cell.clone(), reads, next: after.saturating_add(1), batch: BATCH }
    }

    /// The same, of which only so much comes at once, and always one event.
    pub(crate) fn in_batches_of(mut self, batch: ReadLimit) -> Self {
        self.batch = batch;
        self
    }

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
            self.ready().await;
            let recent = self.cell.hub.recent(self.next, self.batch).filter(|events| !events.is_empty());
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

    /// See [`Facts::next`].
    async fn next_facts(&mut self) -> Result<SharedFacts, Refusal> {
        loop {
            self.ready().await;
            let commit = match self.cell.hub.recent_commit(self.next) {
                Some(commit) => commit,
                None => Arc::new(decoded(&self.read_log().await?)?),
            };
            let facts = SharedFacts::of(commit).from(self.next);
            if let Some(last) = facts.last() {
                self.next = last.sequence + 1;
                return Ok(facts);
            }
        }
    }

    async fn read_log(&self) -> Result<Vec<Arc<Published>>, Refusal> {
        let records = self.runtime.0.store.read(&self.cell.stream, self.next, self.batch).await;
        let records = records.map_err(|error| read_refusal(&error))?;
        Ok(records.into_iter().map(|record| Arc::new(Published::new(record.sequence, record.bytes))).collect())
    }
}

fn decoded(events: &[Arc<Published>]) -> Result<Vec<Event>, Refusal> {
    let decode = |event: &Arc<Published>| Event::decode(&event.json);
    let decoded: Result<Vec<Event>, _> = events.iter().map(decode).collect();
    decoded.map_err(|error| Refusal::internal(format!("a fact does not parse: {error}")))
}

impl<S: Aggregate> Drop for Follow<S> {
    fn drop(&mut self) {
        self.cell.hub.unsubscribe(self.reads);
    }
}
