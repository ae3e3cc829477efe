//! Seeing what becomes of a peer's task: by its stream where it has one, by looking again and again where not. A stream tells what
//! happened, not always now: what the peer asks and what it made is what its task shows. One that cannot be read is not followed.

use std::time::Duration;

use factum_engine::session::delegations::Delegation;
use factum_model::peer::PeerRecovery;
use tokio::time::Instant;

use super::contract::{Delegate, Follow, Remote, Trouble};
use super::driver::{Connected, Drive, Over, remote_of, waits};

/// A stream that was up for so long is a connection that works, however it ends.
const STEADY: Duration = Duration::from_secs(10);

impl Drive {
    pub(super) async fn follow(&mut self, delegate: &dyn Delegate, delegation: &Delegation) -> Result<(), Over> {
        let Some(remote) = remote_of(delegation) else { return Ok(()) };
        // A stream of a task that waits for its user ends at once.
        if self.polls || waits(delegation.peer_task.recovery) {
            return self.poll(delegate, delegation, &remote).await;
        }
        match delegate.follow(&delegation.peer, &remote, self.after.as_deref()).await {
            Ok(Some(stream)) => self.read(delegate, delegation, &remote, stream).await,
            Ok(None) => self.poll(delegate, delegation, &remote).await,
            // A task that ended takes no subscription, and one that cannot be followed can be looked at: how it stands says more.
            // A server that has nothing to stream just now says that it knows no such task, too.
            Err(
                Trouble::Refused { .. }
                | Trouble::Missing { .. }
                | Trouble::Malformed { .. }
                | Trouble::Network { may_have_arrived: true, .. },
            ) => self.poll(delegate, delegation, &remote).await,
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
        let since = Instant::now();
        let ended = self.read_on(&mut *stream).await?;
        if since.elapsed() >= STEADY {
            self.backoff.lasted();
        }
        match ended {
            Ended::Elsewhere => Ok(()),
            Ended::Asked => self.confirm(delegate, delegation, remote).await,
            // That there is no such task is believed of a look alone.
            Ended::Over | Ended::Troubled(Trouble::Missing { .. }) => self.poll(delegate, delegation, remote).await,
            // It would be as unreadable the next time.
            Ended::Troubled(Trouble::Malformed { problem, .. }) => {
                tracing::warn!(
                    peer = delegation.peer,
                    problem,
                    "a peer's stream cannot be read; its task is looked at instead"
                );
                self.polls = true;
                self.poll(delegate, delegation, remote).await
            }
            Ended::Hurried => {
                tracing::warn!(
                    peer = delegation.peer,
                    "a peer's stream goes to and fro; its task is looked at instead"
                );
                self.polls = true;
                self.poll(delegate, delegation, remote).await
            }
            Ended::Troubled(trouble) => self.troubled(trouble, Connected::Yes).await,
        }
    }

    /// Reads a stream as long as it says something that can be taken as it is, and nothing else is to be done.
    async fn read_on(&mut self, stream: &mut dyn Follow) -> Result<Ended, Over> {
        loop {
            let wake = self.wake.clone();
            let next_view = tokio::select! {
                () = wake.notified() => {
                    // What happened here may be none of this run's business; then the stream is read on.
                    if self.is_due().await? { continue }
                    return Ok(Ended::Elsewhere);
                }
                view = stream.next() => view,
            };
            match next_view {
                Ok(Some(view)) if waits(view.recovery) => return Ok(Ended::Asked),
                Ok(Some(view)) => {
                    let recovery = view.recovery;
                    let hurried = self.backoff.streamed(&view);
                    self.saw(view).await?;
                    self.after = stream.position();
                    if recovery == PeerRecovery::CompletedUnreconciled {
                        // What comes next is an end. A stream that went on from here would begin with how the task stood before
                        // that.
                        self.after = None;
                        self.backoff.anew();
                        return Ok(Ended::Elsewhere);
                    }
                    if hurried {
                        return Ok(Ended::Hurried);
                    }
                    // Recording may have waited, and have been woken for something else.
                    if !self.is_due().await? {
                        return Ok(Ended::Elsewhere);
                    }
                }
                Ok(None) => return Ok(Ended::Over),
                Err(trouble) => return Ok(Ended::Troubled(trouble)),
            }
        }
    }

    /// The stream says that the peer asks something, which may have been long ago. A stream that tells old questions as if they
    /// were new would be left and begun again for each of them, so it is not followed any more.
    async fn confirm(&mut self, delegate: &dyn Delegate, delegation: &Delegation, remote: &Remote) -> Result<(), Over> {
        self.after = None;
        match delegate.look(&delegation.peer, remote).await {
            Ok(view) => {
                self.polls = !waits(view.recovery);
                self.saw(view).await
            }
            Err(trouble) => self.troubled(trouble, Connected::Yes).await,
        }
    }

    /// Looks once, and waits before the next look.
    async fn poll(&mut self, delegate: &dyn Delegate, delegation: &Delegation, remote: &Remote) -> Result<(), Over> {
        match delegate.look(&delegation.peer, remote).await {
            Ok(view) => {
                self.backoff.worked();
                self.backoff.stands(&view.native_status);
                self.saw(view).await?;
                self.after = None;
                let wait = self.backoff.between_looks();
                self.rest(wait).await
            }
            Err(trouble) => self.troubled(trouble, Connected::Yes).await,
        }
    }
}

/// Why a stream is not read on.
enum Ended {
    /// Something else is to be done.
    Elsewhere,
    /// It says that the peer asks something.
    Asked,
    /// It is at its end.
    Over,
    /// It says more than there is to say.
    Hurried,
    Troubled(Trouble),
}
