//! Telling a peer what somebody here answered, once. Where it is not known whether an answer arrived, the peer's task is looked
//! at: a peer that goes on has it, and one that keeps keys is sent it again. Any other is sent nothing, because then it might
//! be done twice; if it still shows the question after a while, whoever answered is asked anew, and told why.

use std::time::Duration;

use factum_engine::session::delegations::{Delegation, Observed, PendingAnswer};
use factum_model::id::ActionId;
use tokio::time::Instant;

use super::contract::{Answer, Delegate, Given, PeerView, Remote, Trouble};
use super::driver::{Connected, Drive, Over, remote_of, waits};

/// How long a peer that may have got an answer has to show that it did.
const DOUBT_MAX: Duration = Duration::from_secs(60);

/// An answer of which nobody knows whether the peer has it.
pub(super) struct Doubt {
    action_id: ActionId,
    since: Instant,
}

impl Drive {
    pub(super) async fn answer(
        &mut self,
        delegate: &dyn Delegate,
        delegation: &Delegation,
        answer: PendingAnswer,
    ) -> Result<(), Over> {
        let Some(remote) = remote_of(delegation) else { return Ok(()) };
        // Asked first, so that trouble with its card is not taken for what it says to the answer.
        let keeps_keys = match delegate.keeps_keys(&delegation.peer).await {
            Ok(keeps_keys) => keeps_keys,
            Err(trouble) => return self.troubled(trouble, Connected::Yes).await,
        };
        if answer.doubted {
            self.doubt(&answer);
        }
        let doubted = self.doubt.as_ref().filter(|doubt| doubt.action_id == answer.action_id);
        if let Some(since) = doubted.map(|doubt| doubt.since) {
            match delegate.look(&delegation.peer, &remote).await {
                Ok(view)
                    if !waits(view.recovery) || delegation.asks_another(view.recovery, view.question.as_deref()) =>
                {
                    self.took(&answer).await?;
                    return self.saw(view).await;
                }
                Ok(_) if keeps_keys => {}
                Ok(view) => return self.doubtful(view, since).await,
                Err(trouble) => return self.troubled(trouble, Connected::Yes).await,
            }
        }
        self.send_answer(delegate, delegation, &remote, answer).await
    }

    async fn send_answer(
        &mut self,
        delegate: &dyn Delegate,
        delegation: &Delegation,
        remote: &Remote,
        answer: PendingAnswer,
    ) -> Result<(), Over> {
        let sent = Answer {
            message_id: answer.action_id.as_str().to_owned(),
            decision: answer.decision.clone(),
            text: answer.text.clone(),
            action_id: answer.remote_action_id.clone(),
        };
        match delegate.answer(&delegation.peer, remote, &sent).await {
            Ok(given) => {
                self.took(&answer).await?;
                match given {
                    Given::Task(view) if view.remote.task_id == remote.task_id => self.saw(*view).await,
                    // What became of ours is looked at next.
                    Given::Task(_) => Ok(()),
                    Given::Reply { text, .. } => self.record(&Observed::Said { text }).await,
                }
            }
            Err(Trouble::Refused { problem } | Trouble::Malformed { problem, may_have_arrived: false }) => {
                self.record(&Observed::Declined { problem }).await
            }
            Err(trouble) => {
                if trouble.may_have_arrived() {
                    self.doubt(&answer);
                }
                self.troubled(trouble, Connected::Yes).await
            }
        }
    }

    /// From now on, unless it is doubted already, whether the peer has it is not known.
    fn doubt(&mut self, answer: &PendingAnswer) {
        if self.doubt.as_ref().is_none_or(|doubt| doubt.action_id != answer.action_id) {
            self.doubt = Some(Doubt { action_id: answer.action_id.clone(), since: Instant::now() });
        }
    }

    /// The peer has it.
    async fn took(&mut self, answer: &PendingAnswer) -> Result<(), Over> {
        self.heard();
        self.doubt = None;
        self.backoff.anew();
        let (action_id, text) = (answer.action_id.clone(), answer.text.clone());
        self.record(&Observed::Answered { action_id, text }).await
    }

    /// The peer shows the question as if nobody had answered. It gets time to take the answer up; then the question is open again.
    async fn doubtful(&mut self, view: PeerView, since: Instant) -> Result<(), Over> {
        let left = DOUBT_MAX.saturating_sub(since.elapsed());
        if left.is_zero() {
            self.doubt = None;
            self.backoff.anew();
            self.record(&Observed::Doubted).await?;
            return self.saw(view).await;
        }
        self.saw(view).await?;
        let wait = self.backoff.after_trouble().min(left);
        self.rest(wait).await
    }
}
