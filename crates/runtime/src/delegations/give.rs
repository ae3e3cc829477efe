//! Giving a peer its task, once. What may have arrived is looked for before anything is sent again; what cannot be found
//! is not sent again by itself, because then it might be done twice.

use std::time::Duration;

use factum_engine::session::delegations::{Delegation, Observed};

use super::contract::{Delegate, Errand, Found, Given, Trouble, ViewedArtifact};
use super::driver::{Connected, Drive, Over, RECORD_PAUSE};
use super::news::reply_of;

/// How long a message that is not in the peer's list may be on its way there.
const ARRIVING: Duration = Duration::from_secs(2);
/// How often a peer is asked for its list that answers something else, some five minutes in all.
const UNANSWERED_MAX: u32 = 12;

impl Drive {
    pub(super) async fn give(
        &mut self,
        delegate: &dyn Delegate,
        delegation: &Delegation,
        errand: &Errand,
    ) -> Result<(), Over> {
        if self.unsent && delegation.cancel {
            return self.record(&Observed::NotSent).await;
        }
        if !self.unsent {
            match self.found(delegate, delegation, errand).await {
                Ok(None) => {}
                Ok(Some(Found::Task(view))) => return self.saw(*view).await,
                // What was sent last may still be on its way to the list.
                Ok(Some(Found::Absent { .. })) if delegation.cancel && !self.absent => {
                    self.absent = true;
                    return self.rest(ARRIVING).await;
                }
                Ok(Some(Found::Absent { .. })) if delegation.cancel => return self.record(&Observed::NotSent).await,
                Ok(Some(Found::Absent { problem } | Found::Unknown { problem })) => {
                    return self.record(&Observed::Untraceable { problem }).await;
                }
                // Whatever is in the way of asking, it says nothing about the task, which the peer may have.
                Err(trouble) => return self.troubled(trouble, Connected::No).await,
            }
        }
        let was_unsent = std::mem::replace(&mut self.unsent, false);
        match delegate.give(&delegation.peer, errand).await {
            Ok(given) => {
                self.backoff.anew();
                self.got(given).await
            }
            Err(trouble) => {
                self.unsent = was_unsent && !trouble.may_have_arrived();
                self.not_given(trouble).await
            }
        }
    }

    /// What became of what was sent; nothing where that need not be known, because the peer keeps keys. What nobody wants any more
    /// is looked for all the same: sent again, it might arrive for the first time.
    async fn found(
        &mut self,
        delegate: &dyn Delegate,
        delegation: &Delegation,
        errand: &Errand,
    ) -> Result<Option<Found>, Trouble> {
        let keeps_keys = delegate.keeps_keys(&delegation.peer).await?;
        if keeps_keys && !delegation.cancel {
            return Ok(None);
        }
        match delegate.find(&delegation.peer, errand).await {
            // Sent again it is the same task to the peer, and can be cancelled there like any other.
            Ok(Found::Unknown { .. }) if keeps_keys => Ok(None),
            Err(Trouble::Refused { problem } | Trouble::Malformed { problem, .. }) if self.has_asked_enough() => {
                Ok(if keeps_keys { None } else { Some(Found::Unknown { problem }) })
            }
            found => found.map(Some),
        }
    }

    /// Counts an answer that is none. It may be given by whoever stands in front of the peer for a while, or for ever.
    fn has_asked_enough(&mut self) -> bool {
        self.unanswered += 1;
        self.unanswered >= UNANSWERED_MAX
    }

    async fn got(&mut self, given: Given) -> Result<(), Over> {
        match given {
            Given::Task(view) => self.saw(*view).await,
            Given::Reply { text, artifacts } => {
                self.heard();
                self.keep_reply(&text, &artifacts).await
            }
        }
    }

    /// Records a message. What it holds is waited for: it comes once.
    async fn keep_reply(&self, text: &str, artifacts: &[ViewedArtifact]) -> Result<(), Over> {
        loop {
            match reply_of(&self.runtime, text.to_owned(), artifacts.to_vec()).await {
                Ok(observed) => return self.record(&observed).await,
                Err(problem) => {
                    tracing::error!(run_id = %self.run_id, problem, "what a peer said could not be kept; trying again");
                    self.pause(RECORD_PAUSE).await;
                }
            }
        }
    }

    async fn not_given(&mut self, trouble: Trouble) -> Result<(), Over> {
        match trouble {
            Trouble::Refused { problem } | Trouble::Missing { problem } if self.unsent => {
                self.record(&Observed::Refused { problem }).await
            }
            // It refuses what was sent before, too, and whether that arrived nobody knows.
            Trouble::Refused { problem } | Trouble::Missing { problem } | Trouble::Malformed { problem, .. } => {
                self.record(&Observed::Untraceable { problem }).await
            }
            // Nothing of the peer's is known yet: only what may have arrived had a connection that can have broken.
            away => {
                let connected = if away.may_have_arrived() { Connected::Yes } else { Connected::No };
                self.troubled(away, connected).await
            }
        }
    }
}
