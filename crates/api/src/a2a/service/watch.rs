//! Following a task: its view, folded from the log into live.

use a2a::A2AError;
use factum_a2a::view::{Shown, TaskView};
use factum_model::id::SessionId;
use factum_runtime::{Facts, Received, SharedFact};

use super::Service;
use super::fault::refused;

/// A task's view at some place of its session's log, and everything behind that place.
pub(super) struct Watch {
    facts: Facts,
    view: TaskView,
    /// Facts that came together with those that were asked for, newest first.
    ahead: Vec<SharedFact>,
}

impl Watch {
    /// Begins with the fact that linked the task.
    pub(super) async fn open(service: &Service, session_id: &SessionId, first_sequence: u64) -> Result<Self, A2AError> {
        let after = first_sequence.saturating_sub(1);
        let opened = service.runtime.facts(&service.caller, session_id, after).await;
        let mut facts = opened.map_err(|refusal| refused(&refusal, ""))?;
        let ahead = read(&mut facts).await?;
        Self::begin(facts, ahead)
    }

    /// The task of a message, with all that is known since.
    pub(super) async fn of(service: &Service, received: Received) -> Result<Self, A2AError> {
        let Received { accepted, begun } = received;
        let mut watch = match begun {
            Some((mut ahead, facts)) => {
                ahead.reverse();
                Self::begin(facts, ahead)?
            }
            None => Self::open(service, &accepted.session_id, accepted.first_sequence).await?,
        };
        watch.until(accepted.sequence).await?;
        Ok(watch)
    }

    fn begin(facts: Facts, mut ahead: Vec<SharedFact>) -> Result<Self, A2AError> {
        let first = ahead.pop();
        let view = first.as_ref().and_then(|first| TaskView::begin(first));
        let view = view.ok_or_else(|| A2AError::internal("the task's first fact is not what links it"))?;
        Ok(Self { facts, view, ahead })
    }

    pub(super) fn view(&self) -> &TaskView {
        &self.view
    }

    /// What was said up to here is sent, and not asked for again.
    pub(super) fn show_changes_only(&mut self) {
        self.view.show_changes_only();
    }

    /// The last fact that is there.
    pub(super) fn durable(&self) -> u64 {
        self.facts.durable()
    }

    /// Takes in everything up to `sequence`, which is durable.
    pub(super) async fn until(&mut self, sequence: u64) -> Result<(), A2AError> {
        while self.view.sequence < sequence {
            self.next().await?;
        }
        Ok(())
    }

    /// Waits for the next fact of the session and takes it in: its sequence, and what a stream shows of it.
    pub(super) async fn next(&mut self) -> Result<(u64, Vec<Shown>), A2AError> {
        loop {
            if let Some(event) = self.ahead.pop() {
                let shown = self.view.apply(&event);
                return Ok((event.sequence, shown));
            }
            self.ahead = read(&mut self.facts).await?;
        }
    }
}

/// The next facts, newest first.
async fn read(facts: &mut Facts) -> Result<Vec<SharedFact>, A2AError> {
    let mut next = facts.next().await.map_err(|refusal| refused(&refusal, ""))?;
    next.reverse();
    Ok(next)
}
