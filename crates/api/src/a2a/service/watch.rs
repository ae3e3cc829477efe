//! Following a task: its view, folded from the log into live.

use a2a::A2AError;
use factum_a2a::view::{Shown, TaskView};
use factum_model::id::SessionId;
use factum_runtime::{Begun, Facts, Received, SharedFacts};

use super::Service;
use super::fault::refused;

/// A task's view at some place of its session's log, and everything behind that place.
pub(super) struct Watch {
    /// Absent where the task was over when its message was durable: nothing comes behind that.
    facts: Option<Facts>,
    view: TaskView,
    /// Facts that came together with those that were asked for.
    ahead: SharedFacts,
}

impl Watch {
    /// Begins with the fact that linked the task.
    pub(super) async fn open(service: &Service, session_id: &SessionId, first_sequence: u64) -> Result<Self, A2AError> {
        let after = first_sequence.saturating_sub(1);
        let opened = service.runtime.facts(&service.caller, session_id, after).await;
        let mut facts = opened.map_err(|refusal| refused(&refusal, ""))?;
        let ahead = read(&mut facts).await?;
        Self::begin(Some(facts), ahead)
    }

    /// The task of a message, with all that is known since.
    pub(super) async fn of(service: &Service, received: Received) -> Result<Self, A2AError> {
        let Received { accepted, begun } = received;
        let mut watch = match begun {
            Some(Begun { facts, behind }) => Self::begin(behind, facts)?,
            None => Self::open(service, &accepted.session_id, accepted.first_sequence).await?,
        };
        watch.until(accepted.sequence).await?;
        Ok(watch)
    }

    fn begin(facts: Option<Facts>, mut ahead: SharedFacts) -> Result<Self, A2AError> {
        let view = ahead.take_first().and_then(TaskView::begin);
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
        self.facts.as_ref().map_or(self.view.sequence, Facts::durable)
    }

    /// Takes in everything up to `sequence`, which is durable.
    pub(super) async fn until(&mut self, sequence: u64) -> Result<(), A2AError> {
        while self.view.sequence < sequence {
            if self.take_ahead().is_none() {
                self.next().await?;
            }
        }
        Ok(())
    }

    /// Takes in the next fact of those that are at hand.
    pub(super) fn take_ahead(&mut self) -> Option<(u64, Vec<Shown>)> {
        let event = self.ahead.take_first()?;
        Some((event.sequence, self.view.apply(event)))
    }

    /// Waits for the next fact of the session and takes it in: its sequence, and what a stream shows of it.
    pub(super) async fn next(&mut self) -> Result<(u64, Vec<Shown>), A2AError> {
        loop {
            if let Some(taken) = self.take_ahead() {
                return Ok(taken);
            }
            let facts = self.facts.as_mut().ok_or_else(|| A2AError::internal("a task that is over goes on"))?;
            self.ahead = read(facts).await?;
        }
    }
}

async fn read(facts: &mut Facts) -> Result<SharedFacts, A2AError> {
    facts.next().await.map_err(|refusal| refused(&refusal, ""))
}
