//! How a runtime is set up.

use std::sync::Arc;
use std::time::Duration;

use factum_agent::Agents;
use factum_engine::Limits;

use crate::clock::Sources;
use crate::cursor::Secret;
use crate::delegations::Delegate;

/// Everything a runtime needs besides its store.
pub struct Options {
    pub agents: Agents,
    pub limits: Limits,
    pub shell: ShellLimits,
    pub sources: Sources,
    pub secret: Secret,
    /// Who speaks to peers, where there are any.
    pub delegate: Option<Arc<dyn Delegate>>,
}

/// The bounds of the shell, each with a name.
#[derive(Clone, Debug)]
pub struct ShellLimits {
    /// How long a session without work stays in memory.
    pub session_idle: Duration,
    /// How many sessions without work stay in memory; a few do in any case, and beside them 64 short ones at most.
    pub sessions_at_rest_max: usize,
    /// How often sessions without work are looked for.
    pub sweep_interval: Duration,
    /// Events between two snapshots of a session: the most that has to be folded to open one.
    pub snapshot_events: u64,
    /// Events between two snapshots of a messaging channel: most of them are messages, which are quick to fold.
    pub channel_snapshot_events: u64,
    /// Events a page returns at most.
    pub page_events_max: usize,
    /// Steps a window of `get_session` returns at most.
    pub window_steps_max: usize,
    /// How long a caller may wait for child agents to come to rest.
    pub subagent_wait_max: Duration,
    /// Sessions that are recovered at the same time after a start.
    pub recover_parallel: usize,
    /// Runs one claim takes at most.
    pub claim_runs_max: usize,
    /// How long a claim waits for a run at most.
    pub claim_wait_max: Duration,
    /// Claims that wait for a run at once.
    pub waiting_workers_max: usize,
    /// The shortest and the longest time a worker may ask to keep a run without a heartbeat.
    pub lease_min: Duration,
    pub lease_max: Duration,
}

impl Default for ShellLimits {
    fn default() -> Self {
        Self {
            session_idle: Duration::from_secs(30),
            sessions_at_rest_max: 1_024,
            sweep_interval: Duration::from_secs(5),
            snapshot_events: 100,
            channel_snapshot_events: 1_000,
            page_events_max: 1_000,
            window_steps_max: 200,
            subagent_wait_max: Duration::from_secs(600),
            recover_parallel: 32,
            claim_runs_max: 100,
            claim_wait_max: Duration::from_secs(60),
            waiting_workers_max: 20_000,
            lease_min: Duration::from_secs(1),
            lease_max: Duration::from_secs(3_600),
        }
    }
}

impl Options {
    pub fn new(agents: Agents, secret: Secret) -> Self {
        Self {
            agents,
            limits: Limits::default(),
            shell: ShellLimits::default(),
            sources: Sources::default(),
            secret,
            delegate: None,
        }
    }
}
