//! Giving a peer its task, once. What may have arrived is looked for before anything is sent again; what cannot be found
//! is not sent again by itself, because then it might be done twice.

use factum_engine::session::delegations::{Delegation, Observed};

use super::contract::{Delegate, Errand, Found, Trouble};
use super::driver::{Connected, Drive, Over};

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
            match delegate.find(&delegation.peer, errand).await {
                Ok(Found::Task(view)) => return self.saw(*view).await,
                Ok(Found::SendAgain) => {}
                Ok(Found::Unknown { problem }) => return self.record(&Observed::Untraceable { problem }).await,
                Err(trouble) => return self.not_given(trouble, Connected::No).await,
            }
        }
        let was_unsent = std::mem::replace(&mut self.unsent, false);
        match delegate.give(&delegation.peer, errand).await {
            Ok(given) => self.got(given).await,
            Err(trouble) => {
                self.unsent = was_unsent && !arrived(&trouble);
                self.not_given(trouble, Connected::Yes).await
            }
        }
    }

    async fn not_given(&mut self, trouble: Trouble, connected: Connected) -> Result<(), Over> {
        match trouble {
            Trouble::Refused { problem } | Trouble::Missing { problem } => {
                self.record(&Observed::Refused { problem }).await
            }
            Trouble::Malformed { problem, .. } => self.record(&Observed::Untraceable { problem }).await,
            away => self.troubled(away, connected).await,
        }
    }
}

fn arrived(trouble: &Trouble) -> bool {
    match trouble {
        Trouble::Network { may_have_arrived, .. }
        | Trouble::Busy { may_have_arrived, .. }
        | Trouble::Malformed { may_have_arrived, .. } => *may_have_arrived,
        Trouble::Auth { .. } | Trouble::Missing { .. } | Trouble::Refused { .. } => false,
    }
}
