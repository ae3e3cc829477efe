//! Seeing what becomes of a peer's task: by its stream where it has one, by looking again and again where not.

use factum_engine::session::delegations::{Delegation, Step, next};
use factum_model::peer::PeerRecovery;

use super::contract::{Delegate, Follow, Remote, Trouble};
use super::driver::{Connected, Drive, Over, remote_of, waits};

impl Drive {
    pub(super) async fn follow(&mut self, delegate: &dyn Delegate, delegation: &Delegation) -> Result<(), Over> {
        let Some(remote) = remote_of(delegation) else { return Ok(()) };
        // A stream of a task that waits for its user ends at once.
        if waits(delegation.peer_task.recovery) {
            return self.poll(delegate, delegation, &remote).await;
        }
        match delegate.follow(&delegation.peer, &remote, self.after.as_deref()).await {
            Ok(Some(stream)) => self.read(delegate, delegation, &remote, stream).await,
            Ok(None) => self.poll(delegate, delegation, &remote).await,
            // A task that ended takes no subscription: how it stands says so.
            Err(Trouble::Refused { .. } | Trouble::Malformed { .. }) => self.poll(delegate, delegation, &remote).await,
            Err(trouble) => self.troubled(trouble, Connected::Yes).await,
        }
    }

    async fn read(
        &mut self,
        delegate: &dyn Delegate,
        delegation: &Delegation,
        remote: &Remote,
        mut stream: Box<dyn Follow>,
    ) -> Result<(), Over> {
        loop {
            let wake = self.wake.clone();
            let next_view = tokio::select! {
                () = wake.notified() => {
                    // What happened here may be none of this run's business; then the stream is read on.
                    let now = self.look_here().await?;
                    if next(&now) == Step::Follow { continue }
                    return Ok(());
                }
                view = stream.next() => view,
            };
            match next_view {
                Ok(Some(view)) => {
                    let recovery = view.recovery;
                    self.saw(view).await?;
                    self.after = stream.position();
                    self.backoff.changed();
                    if waits(recovery) || recovery == PeerRecovery::CompletedUnreconciled {
                        // What comes next is an answer or an end. A stream that went on from here would begin with how
                        // the task stood before that.
                        self.after = None;
                        return Ok(());
                    }
                }
                Ok(None) => return self.poll(delegate, delegation, remote).await,
                Err(trouble) => return self.troubled(trouble, Connected::Yes).await,
            }
        }
    }

    /// Looks once, and waits before the next look.
    async fn poll(&mut self, delegate: &dyn Delegate, delegation: &Delegation, remote: &Remote) -> Result<(), Over> {
        match delegate.look(&delegation.peer, remote).await {
            Ok(view) => {
                let native_status = Some(view.native_status.clone());
                self.saw(view).await?;
                self.after = None;
                if native_status != delegation.peer_task.native_status {
                    self.backoff.changed();
                    return Ok(());
                }
                let wait = self.backoff.between_looks();
                self.pause(wait).await;
                Ok(())
            }
            Err(trouble) => self.troubled(trouble, Connected::Yes).await,
        }
    }
}
