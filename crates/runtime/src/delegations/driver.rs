//! One run that a peer does, from the intent to the end: what is to be done next is asked again after each step.

use std::sync::Arc;
use std::time::Duration;

use factum_engine::session::SessionState;
use factum_engine::session::delegations::{Delegation, Observed, Step, next};
use factum_engine::session::tasks::observe_peer;
use factum_model::id::{ChannelId, RunId, SessionId};
use factum_model::peer::PeerRecovery;
use factum_model::{ErrorCode, Trace};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::answer::Doubt;
use super::backoff::Backoff;
use super::contract::{Delegate, Errand, PeerView, Remote, Trouble};
use super::news::news_of;
use crate::commit::{Accept, Actor};
use crate::runtime::Runtime;
use crate::session::SessionCell;

/// Who records what was seen at peers.
pub(super) const DELEGATIONS: &str = "runtime://delegations";
/// The pause after something that could not be recorded.
pub(super) const RECORD_PAUSE: Duration = Duration::from_millis(500);
/// The pause after something that a bound of the session is in the way of.
const REFUSED_PAUSE: Duration = Duration::from_secs(30);
/// How often a task that the peer called done is looked at, a minute and a half in all, until it has to show it.
const BEHIND_LOOKS_MAX: u32 = 8;

/// What a driver has in memory. All of it can be lost.
pub(super) struct Drive {
    pub(super) runtime: Runtime,
    pub(super) cell: Arc<SessionCell>,
    pub(super) run_id: RunId,
    pub(super) wake: Arc<Notify>,
    pub(super) backoff: Backoff,
    /// Nothing that this run is about can have reached the peer yet.
    pub(super) unsent: bool,
    /// What was sent was not in the peer's list once.
    pub(super) absent: bool,
    /// How often the peer answered something else where it was asked for its list.
    pub(super) unanswered: u32,
    /// An answer may have reached the peer without our knowing.
    pub(super) doubt: Option<Doubt>,
    cancel_sent: bool,
    /// What is being done, which a pause does not end for.
    due: Option<Due>,
    /// The stream cannot be read, or tells what the task does not show: it is looked at instead.
    pub(super) polls: bool,
    /// How often a task that the peer called done was seen at work.
    behind: u32,
    /// Where the stream goes on.
    pub(super) after: Option<String>,
    /// The channel of the peer, once it is known which one that is.
    channel_id: Option<ChannelId>,
}

/// Nobody has to see to this run any more, or nobody can: the runtime closes.
pub(super) struct Over;

/// Sees to a run until it is over.
pub(super) async fn drive(runtime: Runtime, cell: Arc<SessionCell>, run_id: RunId, wake: Arc<Notify>, fresh: bool) {
    let mut drive = Drive {
        runtime,
        cell,
        run_id,
        wake,
        backoff: Backoff::default(),
        unsent: fresh,
        absent: false,
        unanswered: 0,
        doubt: None,
        cancel_sent: false,
        due: None,
        polls: false,
        behind: 0,
        after: None,
        channel_id: None,
    };
    while drive.step().await.is_ok() {}
    drive.leave_channel();
    let cell = drive.cell.clone();
    cell.work.lock().drivers.remove(&drive.run_id);
}

impl Drive {
    async fn step(&mut self) -> Result<(), Over> {
        let delegation = self.look_here().await?;
        self.due = Some(Due::of(&delegation));
        self.join_channel(&delegation);
        let Some(delegate) = self.runtime.0.delegate.clone().filter(|one| one.peers().contains(&delegation.peer))
        else {
            let problem =
                format!("there is no peer named {:?} any more; add [peers.{}]", delegation.peer, delegation.peer);
            return self.troubled(Trouble::Network { problem, may_have_arrived: false }, Connected::No).await;
        };
        let done = self.take(&*delegate, &delegation).await;
        self.enroll(&*delegate, &delegation).await;
        done
    }

    async fn take(&mut self, delegate: &dyn Delegate, delegation: &Delegation) -> Result<(), Over> {
        match next(delegation) {
            Step::Give => {
                let (message_id, text) = (delegation.message_id.clone(), delegation.text.clone());
                let errand = Errand { message_id, text, since: delegation.linked_at };
                self.give(delegate, delegation, &errand).await
            }
            Step::Cancel if !self.cancel_sent => self.cancel(delegate, delegation).await,
            Step::Answer(answer) => self.answer(delegate, delegation, answer).await,
            Step::Reconcile => self.look_there(delegate, delegation).await,
            Step::Cancel | Step::Follow => self.follow(delegate, delegation).await,
        }
    }

    /// The channel that the facts are of, once the peer was found. Nothing waits for it: a later step tries again.
    async fn enroll(&self, delegate: &dyn Delegate, delegation: &Delegation) {
        let Some(described) = delegate.described(&delegation.peer) else { return };
        let (account, protocol) = (&self.cell.account, &delegation.peer_task.native_protocol);
        if let Err(refusal) = self.runtime.spoken_to(account, &delegation.peer, protocol, described).await {
            tracing::warn!(peer = delegation.peer, %refusal, "the channel of a peer could not be recorded");
        }
    }

    /// The channel of the peer can tell of this run from now on.
    fn join_channel(&mut self, delegation: &Delegation) {
        if self.channel_id.is_none() {
            self.channel_id = delegation.channel_id();
            self.channel_id.iter().for_each(|id| self.runtime.0.open_delegations.add(self.key(id), self.run()));
        }
    }

    fn leave_channel(&self) {
        self.channel_id.iter().for_each(|id| self.runtime.0.open_delegations.remove(&self.key(id), &self.run()));
    }

    fn key(&self, channel_id: &ChannelId) -> (Arc<str>, ChannelId) {
        (self.cell.account.clone(), channel_id.clone())
    }

    fn run(&self) -> (SessionId, RunId) {
        (self.cell.id.clone(), self.run_id.clone())
    }

    /// The peer answered. How long to wait after trouble does not follow from that alone: a connection that breaks right after its
    /// first words has not proved itself.
    pub(super) fn heard(&self) {
        self.channel_id.iter().for_each(|id| self.runtime.hear_derived(&self.key(id), None));
    }

    /// The delegation as it stands.
    pub(super) async fn look_here(&self) -> Result<Delegation, Over> {
        loop {
            let look = |state: &SessionState| Ok(state.delegations.get(&self.run_id).cloned());
            match self.runtime.look::<SessionState, _>(&self.cell.account, &self.cell.id, look).await {
                Ok((found, _)) => return found.ok_or(Over),
                Err(refusal) if refusal.code == ErrorCode::NotFound => return Err(Over),
                Err(refusal) => {
                    tracing::warn!(run_id = %self.run_id, %refusal, "a delegation could not be read; trying again");
                    self.pause(RECORD_PAUSE).await;
                }
            }
        }
    }

    /// Records what was seen. A store without room is waited for: the peer's task is no worse off.
    pub(super) async fn record(&self, observed: &Observed) -> Result<(), Over> {
        loop {
            let actor = Actor { principal: DELEGATIONS, trace: &Trace::default(), through: None };
            let decide = |state: &SessionState, context: &mut factum_engine::Context<'_>| {
                observe_peer(state, &self.run_id, observed, context)
            };
            let (account, id) = (&self.cell.account, &self.cell.id);
            match self.runtime.execute(account, id, &actor, &Accept::default(), decide).await {
                Ok(_) => return Ok(()),
                Err(refusal) if refusal.retryable => {
                    tracing::warn!(run_id = %self.run_id, %refusal, "what a peer said could not be recorded; trying again");
                    self.pause(RECORD_PAUSE).await;
                }
                Err(refusal) if refusal.code == ErrorCode::NotFound => return Err(Over),
                Err(refusal) => {
                    tracing::error!(run_id = %self.run_id, %refusal, "what a peer said cannot be recorded now");
                    self.pause(REFUSED_PAUSE).await;
                    return Ok(());
                }
            }
        }
    }

    /// Records a view of the peer's task.
    pub(super) async fn saw(&mut self, view: PeerView) -> Result<(), Over> {
        self.heard();
        if view.rejected {
            self.reject(&view).await?;
        }
        self.keep(view).await
    }

    /// Records a view and nothing else.
    pub(super) async fn keep(&self, view: PeerView) -> Result<(), Over> {
        match news_of(&self.runtime, view).await {
            Ok(observed) => self.record(&observed).await,
            Err(problem) => {
                tracing::error!(run_id = %self.run_id, problem, "what a peer made could not be kept; trying again");
                self.pause(RECORD_PAUSE).await;
                Ok(())
            }
        }
    }

    /// Records that the peer is away and waits; whatever else it is, it is recorded as that.
    pub(super) async fn troubled(&mut self, trouble: Trouble, connected: Connected) -> Result<(), Over> {
        let told = if let Trouble::Busy { after, .. } = &trouble { *after } else { Duration::ZERO };
        let (recovery, problem) = match trouble {
            Trouble::Network { problem, .. }
            | Trouble::Busy { problem, .. }
            | Trouble::Malformed { problem, .. }
            | Trouble::Refused { problem } => (PeerRecovery::NetworkUnavailable, problem),
            Trouble::Auth { problem } => (PeerRecovery::AuthUnavailable, problem),
            Trouble::Missing { problem } => return self.record(&Observed::Missing { problem }).await,
        };
        self.record(&Observed::Unavailable { recovery, problem, connected: connected == Connected::Yes }).await?;
        let wait = self.backoff.after_trouble().max(told);
        self.rest(wait).await
    }

    /// Waits, unless something else is to be done by now. What is recorded of the peer happens here too, and is no reason to hurry.
    pub(super) async fn rest(&self, wait: Duration) -> Result<(), Over> {
        let until = Instant::now() + wait;
        while self.is_due().await? {
            tokio::select! {
                () = tokio::time::sleep_until(until) => return Ok(()),
                () = self.wake.notified() => {}
            }
        }
        Ok(())
    }

    /// Whether what is being done is still what is to be done.
    pub(super) async fn is_due(&self) -> Result<bool, Over> {
        let now = self.look_here().await?;
        Ok(self.due == Some(Due::of(&now)))
    }

    /// Waits, unless something happens here.
    pub(super) async fn pause(&self, wait: Duration) {
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = self.wake.notified() => {}
        }
    }

    async fn look_there(&mut self, delegate: &dyn Delegate, delegation: &Delegation) -> Result<(), Over> {
        let Some(remote) = remote_of(delegation) else { return Ok(()) };
        match delegate.look(&delegation.peer, &remote).await {
            Ok(view) if view.recovery != PeerRecovery::CompletedUnreconciled => self.catch_up(view).await,
            Ok(view) => {
                self.backoff.worked();
                self.saw(view).await
            }
            Err(trouble) => self.troubled(trouble, Connected::Yes).await,
        }
    }

    /// The peer said that it is done, and its task does not show it yet. It gets some time for it; then what it shows is believed.
    async fn catch_up(&mut self, view: PeerView) -> Result<(), Over> {
        self.backoff.worked();
        self.behind += 1;
        if self.behind < BEHIND_LOOKS_MAX {
            let wait = self.backoff.between_looks();
            return self.rest(wait).await;
        }
        (self.behind, self.polls) = (0, true);
        self.saw(view).await
    }

    async fn cancel(&mut self, delegate: &dyn Delegate, delegation: &Delegation) -> Result<(), Over> {
        let Some(remote) = remote_of(delegation) else { return Ok(()) };
        match delegate.cancel(&delegation.peer, &remote).await {
            Ok(view) => {
                self.cancel_sent = true;
                self.backoff.anew();
                self.saw(view).await
            }
            // It may be done already: how it stands says so, and until that is known nothing is settled.
            Err(Trouble::Refused { problem } | Trouble::Malformed { problem, .. }) => {
                match delegate.look(&delegation.peer, &remote).await {
                    Ok(view) => {
                        self.cancel_sent = true;
                        self.saw(view).await?;
                        self.record(&Observed::Declined { problem }).await
                    }
                    Err(trouble) => self.troubled(trouble, Connected::Yes).await,
                }
            }
            Err(trouble) => self.troubled(trouble, Connected::Yes).await,
        }
    }
}

/// Whether there was a connection that trouble broke.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Connected {
    Yes,
    No,
}

pub(super) fn waits(recovery: PeerRecovery) -> bool {
    matches!(recovery, PeerRecovery::WaitingInput | PeerRecovery::WaitingAuthorization)
}

/// What is to be done about a run: the next step, and whether anybody still wants it.
#[derive(PartialEq, Eq)]
struct Due(Step, bool);

impl Due {
    fn of(delegation: &Delegation) -> Self {
        Self(next(delegation), delegation.cancel)
    }
}

pub(super) fn remote_of(delegation: &Delegation) -> Option<Remote> {
    let task_id = delegation.peer_task.remote_task_id.clone()?;
    Some(Remote { task_id, context_id: delegation.peer_task.remote_context_id.clone() })
}
