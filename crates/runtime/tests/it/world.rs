//! A runtime on a store in memory, whose durability can be held back and whose clock stands still until it is moved.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use factum_model::commands::*;
use factum_model::id::SessionId;
use factum_model::read::ThreadReadModel;
use factum_model::registry::Scopes;
use factum_model::value::{Part, Status};
use factum_model::{Refusal, Timestamp};
use factum_runtime::{Agents, Caller, Clock, Delegate, Options, Runtime, Secret, Sources};
use factum_store::{Blobs, MemoryStore, Store};

/// A clock that moves when it is told to.
pub(crate) struct TestClock(AtomicI64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.0.load(Ordering::SeqCst)).unwrap()
    }
}

impl TestClock {
    pub(crate) fn at(millis: i64) -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(millis)))
    }

    /// Back, as a machine's clock is set back.
    pub(crate) fn set_back(&self, duration: Duration) {
        self.0.fetch_sub(i64::try_from(duration.as_millis()).unwrap(), Ordering::SeqCst);
    }

    pub(crate) fn advance(&self, duration: Duration) {
        self.0.fetch_add(i64::try_from(duration.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

pub(crate) struct World {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) runtime: Runtime,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) caller: Caller,
    delegate: Option<Arc<dyn Delegate>>,
    dir: tempfile::TempDir,
}

impl World {
    pub(crate) async fn new() -> World {
        Self::with_agents(Agents::demo()).await
    }

    pub(crate) async fn with_agents(agents: Agents) -> World {
        Self::with_peers(agents, None).await
    }

    pub(crate) async fn with_peers(agents: Agents, delegate: Option<Arc<dyn Delegate>>) -> World {
        let store = Arc::new(MemoryStore::new());
        let clock = TestClock::at(1_800_000_000_000);
        let dir = tempfile::tempdir().unwrap();
        let runtime = start_with(store.clone(), &clock, agents, dir.path(), delegate.clone()).await;
        let caller = Caller::new("agent://tester", "acme", Scopes::admin());
        World { store, runtime, clock, caller, delegate, dir }
    }

    /// A second runtime on the same store, as after a crash: the first one is stopped where it is, and closes nothing.
    pub(crate) async fn restart(&mut self, agents: Agents) {
        self.runtime.begin_close();
        let delegate = self.delegate.clone();
        self.runtime = start_with(self.store.clone(), &self.clock, agents, self.dir.path(), delegate).await;
    }

    /// The same with other options.
    pub(crate) async fn restart_with(&mut self, change: impl FnOnce(&mut Options)) {
        self.runtime.begin_close();
        let mut options = options(&self.clock, Agents::demo(), self.delegate.clone());
        change(&mut options);
        let blobs = Blobs::open(self.dir.path().join("blobs")).unwrap();
        self.runtime = Runtime::start(self.store.clone(), blobs, options).await.unwrap();
    }

    pub(crate) async fn submit(&self, text: &str) -> Result<SubmitTurnResult, Refusal> {
        self.runtime.call(&self.caller, turn(text)).await
    }

    pub(crate) async fn thread(&self, session_id: &SessionId) -> ThreadReadModel {
        let command = GetThreadRead { session_id: session_id.clone(), thread_id: None, as_of: None };
        self.runtime.call(&self.caller, command).await.unwrap()
    }

    /// Waits, event by event, until the session's main thread has this status.
    pub(crate) async fn until(&self, session_id: &SessionId, status: Status) -> ThreadReadModel {
        let mut subscription = self.runtime.subscribe(&self.caller, session_id, 0).await.unwrap();
        loop {
            let thread = self.thread(session_id).await;
            if thread.status == status {
                return thread;
            }
            // Events before the ones just looked at come at once; then this waits for something new.
            tokio::time::timeout(Duration::from_secs(20), subscription.next())
                .await
                .unwrap_or_else(|_| panic!("still {:?}, wanted {status:?}", thread.status))
                .unwrap();
        }
    }
}

/// A runtime on a store, with the usual secret.
pub(crate) async fn start(store: Arc<dyn Store>, clock: &Arc<TestClock>, agents: Agents, dir: &Path) -> Runtime {
    start_with(store, clock, agents, dir, None).await
}

async fn start_with(
    store: Arc<dyn Store>,
    clock: &Arc<TestClock>,
    agents: Agents,
    dir: &Path,
    delegate: Option<Arc<dyn Delegate>>,
) -> Runtime {
    let blobs = Blobs::open(dir.join("blobs")).unwrap();
    Runtime::start(store, blobs, options(clock, agents, delegate)).await.unwrap()
}

fn options(clock: &Arc<TestClock>, agents: Agents, delegate: Option<Arc<dyn Delegate>>) -> Options {
    let mut options = Options::new(agents, Secret::new([7; 32]));
    options.delegate = delegate;
    options.sources = Sources { clock: clock.clone(), ..Sources::default() };
    options
}

pub(crate) fn turn(text: &str) -> SubmitTurn {
    SubmitTurn {
        session_id: None,
        thread_id: None,
        turn_id: None,
        agent: None,
        input: vec![Part::Text { text: text.to_owned() }],
        on_busy: None,
        options: Default::default(),
        metadata: Default::default(),
        idempotency_key: None,
    }
}
