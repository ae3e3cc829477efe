//! Giving a peer its task, once. What may have arrived is looked for before anything is sent again; what cannot be found
//! is not sent again by itself, because then it might be done twice.

use factum_engine::session::delegations::{Delegation, Observed};

use super::contract::{Delegate, Errand, Found, Given, Trouble, ViewedArtifact};
use super::driver::{Connected, Drive, Over, RECORD_PAUSE};
use super::news::reply_of;

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
        &self,
        delegate: &dyn Delegate,
        delegation: &Delegation,
        errand: &Errand,
    ) -> Result<Option<Found>, Trouble> {
        if !delegation.cancel && delegate.keeps_keys(&delegation.peer).await? {
            return Ok(None);
        }
        delegate.find(&delegation.peer, errand).await.map(Some)
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
