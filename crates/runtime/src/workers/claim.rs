//! `claim_runs`: takes what is ready, or waits for it.
//!
//! Every run is claimed by a commit of its own, in its own session. With an idempotency key each of those commits also
//! remembers its run under the key, so a repeat gives exactly the runs that were claimed, whatever happened in between.

use std::sync::Arc;
use std::time::Duration;

use factum_engine::peers::PeerState;
use factum_engine::session::SessionState;
use factum_engine::session::workers::{Claim, claim_run};
use factum_engine::{Context, Decision};
use factum_model::commands::{ClaimRuns, ClaimRunsResult};
use factum_model::{ErrorCode, Refusal};
use futures::future::join_all;
use rustc_hash::FxHashSet;
use tokio::time::Instant;

use super::search::{Found, Seeker};
use super::waiting::Place;
use crate::caller::Caller;
use crate::cell::Cell;
use crate::commit::Accept;
use crate::dispatch::Handle;
use crate::idempotency::Repeat;
use crate::runtime::Runtime;

/// How long a run is kept without a heartbeat, where the worker does not say.
const LEASE: Duration = Duration::from_secs(30);

impl Handle<ClaimRuns> for Runtime {
    async fn handle(&self, caller: &Caller, command: ClaimRuns) -> Result<ClaimRunsResult, Refusal> {
        let asked = self.asked(&command)?;
        let accept = match self.repeat(caller, &command, None).await? {
            Repeat::Known(first) => return self.claimed_before(caller, &command, asked.max, first).await,
            Repeat::New(accept) => accept,
        };
        let (seeker, cell) = self.seeker(caller, &command).await?;
        let claimer = Claimer { runtime: self, caller, command: &command, asked, accept, seeker, cell };
        let mut taken = claimer.take().await?;
        if taken.is_empty() && !claimer.asked.wait.is_zero() {
            taken = claimer.wait().await?;
        }
        Ok(result(taken))
    }
}

/// What a claim asks for, within the bounds.
struct Asked {
    max: usize,
    lease_ms: u64,
    wait: Duration,
}

/// A claim under way.
struct Claimer<'a> {
    runtime: &'a Runtime,
    caller: &'a Caller,
    command: &'a ClaimRuns,
    asked: Asked,
    accept: Accept,
    seeker: Seeker,
    cell: Arc<Cell<PeerState>>,
}

/// A run that was claimed: the key of its ready row, and what its worker is told.
struct Taken {
    key: Vec<u8>,
    result: ClaimRunsResult,
}

impl Claimer<'_> {
    /// Waits in line until there is a run, the time is over, or the server closes.
    async fn wait(&self) -> Result<Vec<Taken>, Refusal> {
        let until = Instant::now() + self.asked.wait;
        let workers = &self.runtime.0.workers;
        let Seeker { account, queues, capabilities } = &self.seeker;
        let mut place: Place<'_> = workers.waiting.enter(account, queues.clone(), capabilities)?;
        loop {
            place.stand();
            let taken = self.take().await?;
            if !taken.is_empty() {
                let keys: Vec<Vec<u8>> = taken.iter().map(|taken| taken.key.clone()).collect();
                place.found(&keys);
                return Ok(taken);
            }
            place.found_nothing();
            tokio::select! {
                () = place.woken() => {}
                () = tokio::time::sleep_until(until) => return Ok(Vec::new()),
                () = self.runtime.0.stop.cancelled() => return Ok(Vec::new()),
            }
        }
    }

    /// Takes as many runs as are wanted and ready.
    async fn take(&self) -> Result<Vec<Taken>, Refusal> {
        let mut taken: Vec<Taken> = Vec::new();
        let mut passed = FxHashSet::default();
        while taken.len() < self.asked.max {
            let mut found = Vec::new();
            while found.len() < self.batch(taken.len()) {
                let Some(one) = self.runtime.find_run(&self.seeker, &self.cell.work.turn, &passed).await? else {
                    break;
                };
                found.push(one);
            }
            if found.is_empty() {
                break;
            }
            let first = taken.len();
            let claims = found.into_iter().enumerate().map(|(at, found)| self.claim(found, first + at));
            let mut failed = None;
            for outcome in join_all(claims).await {
                match outcome {
                    Ok(one) => taken.push(one),
                    Err(Missed::Gone(key)) => drop(passed.insert(key)),
                    Err(Missed::Failed(refusal)) => failed = Some(refusal),
                }
            }
            match failed {
                // What was taken has to be told of; the worker will ask again anyway.
                Some(_) if !taken.is_empty() => break,
                Some(refusal) => return Err(refusal),
                None => {}
            }
        }
        Ok(taken)
    }

    /// How many to claim together. The run under the caller's own key stands alone: the others are found behind it.
    fn batch(&self, taken: usize) -> usize {
        if taken == 0 && !self.accept.keys.is_empty() { 1 } else { self.asked.max - taken }
    }

    async fn claim(&self, found: Found<'_>, number: usize) -> Result<Taken, Missed> {
        let Found { ready, session_id, reservation } = found;
        let channel_id = &self.command.channel_id;
        let claim = Claim { run_id: &ready.run_id, channel_id, lease_ms: self.asked.lease_ms };
        let decide = |state: &SessionState, context: &mut Context<'_>| {
            let Decision { events, output } = claim_run(state, &claim, context)?;
            let sequence = context.sequence_after(state.sequence, &events);
            Ok(Decision { events, output: ClaimRunsResult { runs: vec![output], sequence } })
        };
        let actor = self.caller.actor();
        let accept = self.accept_for(number);
        match self.runtime.execute(&self.caller.account, &session_id, &actor, &accept, decide).await {
            Ok((result, _)) => Ok(Taken { key: reservation.used(), result }),
            Err(refusal) if refusal.code == ErrorCode::Unavailable => Err(Missed::Failed(refusal)),
            Err(refusal) => {
                tracing::debug!(run_id = %ready.run_id, %refusal, "a run that was ready is not any more");
                Err(Missed::Gone(reservation.used()))
            }
        }
    }

    fn accept_for(&self, number: usize) -> Accept {
        let key = |key: &String| if number == 0 { key.clone() } else { numbered(key, number) };
        Accept {
            command: self.accept.command,
            keys: self.accept.keys.iter().map(key).collect(),
            params_digest: self.accept.params_digest.clone(),
            held: self.accept.held.clone(),
        }
    }
}

/// Why a run was not claimed.
enum Missed {
    /// Somebody was faster, or it was withdrawn. Its row's key.
    Gone(Vec<u8>),
    /// It is there and could not be claimed now.
    Failed(Refusal),
}

impl Runtime {
    fn asked(&self, command: &ClaimRuns) -> Result<Asked, Refusal> {
        let limits = &self.0.shell;
        let max = command.max.map_or(1, |max| max as usize);
        if max == 0 {
            return Err(Refusal::invalid("max is how many runs to claim: at least 1"));
        }
        if max > limits.claim_runs_max {
            return Err(Refusal::limit("claim_runs", max as u64, limits.claim_runs_max as u64));
        }
        let lease = command.lease_ms.map_or(LEASE, Duration::from_millis);
        let range = limits.lease_min..=limits.lease_max;
        if command.lease_ms.is_some() && !range.contains(&lease) {
            let (min, max) = (millis(limits.lease_min), millis(limits.lease_max));
            return Err(Refusal::invalid(format!("lease_ms is between {min} and {max}")));
        }
        // A longer wait is a shorter one that is asked for again.
        let wait = command.wait_ms.map_or(Duration::ZERO, Duration::from_millis).min(limits.claim_wait_max);
        Ok(Asked { max, lease_ms: millis(lease), wait })
    }

    /// The worker as it enrolled, with the queues it wants runs from now.
    async fn seeker(&self, caller: &Caller, command: &ClaimRuns) -> Result<(Seeker, Arc<Cell<PeerState>>), Refusal> {
        let look = |state: &PeerState| {
            let peer = state.of(&caller.principal).ok_or_else(Refusal::not_found)?;
            if !peer.is_worker() {
                return Err(Refusal::precondition("only a worker claims runs; enroll with the peer_role worker")
                    .with("peer_role", serde_json::json!(peer.identity.peer_role)));
            }
            let queues = &peer.identity.queues;
            if let Some(foreign) = command.queues.iter().find(|queue| !queues.contains(queue)) {
                return Err(
                    Refusal::invalid("the worker did not enroll for this queue").with("queue", foreign.as_str())
                );
            }
            let wanted = |queue: &&String| command.queues.is_empty() || command.queues.contains(queue);
            let queues = queues.iter().filter(wanted).cloned().collect();
            let capabilities = peer.identity.capabilities.as_slice().into();
            Ok(Seeker { account: caller.account.clone(), queues, capabilities })
        };
        let found = self.look(&caller.account, &command.channel_id, look).await?;
        self.hear_from(caller, &command.channel_id).await?;
        Ok(found)
    }

    /// The runs that were claimed with this key: each has its own row.
    async fn claimed_before(
        &self,
        caller: &Caller,
        command: &ClaimRuns,
        max: usize,
        mut first: ClaimRunsResult,
    ) -> Result<ClaimRunsResult, Refusal> {
        let Some(key) = &command.idempotency_key else { return Ok(first) };
        for number in 1..max {
            // A number may be missing: somebody was faster.
            if let Some(other) = self.known_under::<ClaimRuns>(caller, &numbered(key, number), command).await? {
                first.runs.extend(other.runs);
                first.sequence = other.sequence;
            }
        }
        Ok(first)
    }
}

/// The key of the run with this number, from 1, of a claim.
fn numbered(key: &str, number: usize) -> String {
    // Keys of callers do not begin with this sign.
    format!("@claim/{number}/{key}")
}

/// What a worker is told of all its runs.
fn result(taken: Vec<Taken>) -> ClaimRunsResult {
    let mut all = ClaimRunsResult { runs: Vec::new(), sequence: 0 };
    for Taken { result, .. } in taken {
        all.runs.extend(result.runs);
        all.sequence = result.sequence;
    }
    all
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
