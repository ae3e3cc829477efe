//! A runtime with tasks to hand out and workers to take them. Leases may be short, so that a test can wait for their end.

use std::sync::Arc;
use std::time::Duration;

use factum_model::commands::*;
use factum_model::id::{ChannelId, SessionId};
use factum_model::registry::Scopes;
use factum_model::{Event, Fact, Refusal};
use factum_runtime::{Agents, Caller, Options, Runtime, Secret, Sources};
use factum_store::{Blobs, MemoryStore};
use serde_json::{Value, json};

/// Longer than anything takes that works.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Yard {
    pub(super) store: Arc<MemoryStore>,
    pub(super) runtime: Runtime,
    /// Who makes tasks.
    pub(super) boss: Caller,
    dir: tempfile::TempDir,
}

impl Yard {
    pub(super) async fn new() -> Yard {
        Self::at(Sources::default()).await
    }

    /// With a clock of its own.
    pub(super) async fn at(sources: Sources) -> Yard {
        let (store, dir) = (Arc::new(MemoryStore::new()), tempfile::tempdir().unwrap());
        let runtime = start(&store, &dir, sources).await;
        Yard { store, runtime, boss: caller("agent://boss"), dir }
    }

    /// A second runtime on the same store, as after a crash: the first one is simply forgotten.
    pub(super) async fn restart(&mut self) {
        self.runtime = start(&self.store, &self.dir, Sources::default()).await;
    }

    /// A task that waits for a worker, in a session of its own. Gives its session.
    pub(super) async fn task(&self, queue: &str, more: Value) -> SessionId {
        self.task_in(None, queue, more).await.unwrap().session_id
    }

    pub(super) async fn task_in(
        &self,
        session_id: Option<&SessionId>,
        queue: &str,
        more: Value,
    ) -> Result<CreateTaskResult, Refusal> {
        let mut params = json!({ "objective": "do it", "status": "queued", "queue": queue, "session_id": session_id });
        params.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        self.runtime.call(&self.boss, serde_json::from_value::<CreateTask>(params).unwrap()).await
    }

    pub(super) async fn worker(&self, name: &str, queues: &[&str], capabilities: &[&str]) -> Worker {
        let params = json!({
            "channel_id": name,
            "peer_role": "worker",
            "queues": queues,
            "capabilities": capabilities,
        });
        let caller = caller(&format!("agent://{name}"));
        self.runtime.call(&caller, serde_json::from_value::<EnrollChannel>(params).unwrap()).await.unwrap();
        Worker { runtime: self.runtime.clone(), caller, channel_id: name.parse().unwrap() }
    }

    /// Every session there is.
    pub(super) async fn sessions(&self) -> Vec<SessionId> {
        let command = json!({ "limit": 200 });
        let page =
            self.runtime.call(&self.boss, serde_json::from_value::<ListSessions>(command).unwrap()).await.unwrap();
        page.sessions.into_iter().map(|session| session.session_id).collect()
    }

    /// The facts of a session so far.
    pub(super) async fn facts(&self, session_id: &SessionId) -> Vec<Event> {
        let command = json!({ "session_id": session_id, "limit": 1000 });
        let page = self.runtime.call(&self.boss, serde_json::from_value::<ReadEvents>(command).unwrap()).await.unwrap();
        page.events.iter().map(|event| Event::decode(&serde_json::to_vec(event).unwrap()).unwrap()).collect()
    }

    pub(super) async fn count(&self, session_id: &SessionId, wanted: impl Fn(&Fact) -> bool) -> usize {
        self.facts(session_id).await.iter().filter(|event| wanted(&event.fact)).count()
    }

    /// Waits until the session has such a fact.
    pub(super) async fn until(&self, session_id: &SessionId, wanted: impl Fn(&Fact) -> bool) {
        let mut subscription = self.runtime.subscribe(&self.boss, session_id, 0).await.unwrap();
        let wait = async {
            loop {
                for event in subscription.next().await.unwrap() {
                    if wanted(&Event::decode(&event.json).unwrap().fact) {
                        return;
                    }
                }
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.expect("the fact came");
    }
}

async fn start(store: &Arc<MemoryStore>, dir: &tempfile::TempDir, sources: Sources) -> Runtime {
    let mut options = Options::new(Agents::demo(), Secret::new([7; 32]));
    options.shell.lease_min = Duration::from_millis(1);
    options.sources = sources;
    let blobs = Blobs::open(dir.path().join("blobs")).unwrap();
    Runtime::start(store.clone(), blobs, options).await.unwrap()
}

pub(super) fn caller(principal: &str) -> Caller {
    Caller::new(principal, "acme", Scopes::member())
}

#[derive(Clone)]
pub(super) struct Worker {
    pub(super) runtime: Runtime,
    pub(super) caller: Caller,
    pub(super) channel_id: ChannelId,
}

impl Worker {
    pub(super) async fn try_claim(&self, more: Value) -> Result<ClaimRunsResult, Refusal> {
        let mut params = json!({ "channel_id": self.channel_id });
        params.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        self.runtime.call(&self.caller, serde_json::from_value::<ClaimRuns>(params).unwrap()).await
    }

    pub(super) async fn claim(&self, more: Value) -> Vec<ClaimedRun> {
        tokio::time::timeout(PATIENCE, self.try_claim(more)).await.expect("the claim ends").unwrap().runs
    }

    /// The only run there is for it.
    pub(super) async fn one(&self, more: Value) -> ClaimedRun {
        let mut runs = self.claim(more).await;
        assert_eq!(runs.len(), 1);
        runs.remove(0)
    }

    pub(super) async fn heartbeat(&self, run: &ClaimedRun) -> Result<HeartbeatRunResult, Refusal> {
        let command = HeartbeatRun { run_id: run.run_id.clone(), lease_token: run.lease_token, idempotency_key: None };
        self.runtime.call(&self.caller, command).await
    }

    pub(super) async fn complete(&self, run: &ClaimedRun, key: Option<&str>) -> Result<RunResult, Refusal> {
        let command = json!({ "run_id": run.run_id, "lease_token": run.lease_token, "idempotency_key": key });
        self.runtime.call(&self.caller, serde_json::from_value::<CompleteRun>(command).unwrap()).await
    }

    pub(super) async fn release(&self, run: &ClaimedRun) -> Result<RunResult, Refusal> {
        let command = json!({ "run_id": run.run_id, "lease_token": run.lease_token });
        self.runtime.call(&self.caller, serde_json::from_value::<ReleaseRun>(command).unwrap()).await
    }

    pub(super) async fn fail(&self, run: &ClaimedRun) -> Result<RunResult, Refusal> {
        let error = json!({ "category": "broken", "message": "it broke", "retryable": true });
        let command = json!({ "run_id": run.run_id, "lease_token": run.lease_token, "error": error });
        self.runtime.call(&self.caller, serde_json::from_value::<FailRun>(command).unwrap()).await
    }

    pub(super) async fn report(&self, run: &ClaimedRun, percent: u8) -> Result<RunResult, Refusal> {
        let command =
            json!({ "run_id": run.run_id, "lease_token": run.lease_token, "progress": { "percent": percent } });
        self.runtime.call(&self.caller, serde_json::from_value::<ReportRun>(command).unwrap()).await
    }
}
