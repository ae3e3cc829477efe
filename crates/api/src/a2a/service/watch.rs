//! Following a task: its view, folded from the log into live.

use a2a::A2AError;
use factum_a2a::view::{Shown, TaskView};
use factum_model::Event;
use factum_model::id::SessionId;
use factum_runtime::Subscription;

use super::Service;
use super::fault::refused;

/// A task's view at some place of its session's log, and everything behind that place.
pub(super) struct Watch {
    subscription: Subscription,
    view: TaskView,
    /// Facts that came together with those that were asked for, newest first.
    ahead: Vec<Event>,
}

impl Watch {
    /// Begins with the fact that linked the task.
    pub(super) async fn open(service: &Service, session_id: &SessionId, first_sequence: u64) -> Result<Self, A2AError> {
        let after = first_sequence.saturating_sub(1);
        let opened = service.runtime.subscribe(&service.caller, session_id, after).await;
        let mut subscription = opened.map_err(|refusal| refused(&refusal, ""))?;
        let mut ahead = read(&mut subscription).await?;
        let first = ahead.pop();
        let view = first.as_ref().and_then(TaskView::begin);
        let view = view.ok_or_else(|| A2AError::internal("the task's first fact is not what links it"))?;
        Ok(Self { subscription, view, ahead })
    }

    pub(super) fn view(&self) -> &TaskView {
        &self.view
    }

    /// The last fact that is there.
    pub(super) fn durable(&self) -> u64 {
        self.subscription.durable()
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
            self.ahead = read(&mut self.subscription).await?;
        }
    }
}

/// The next facts, newest first.
async fn read(subscription: &mut Subscription) -> Result<Vec<Event>, A2AError> {
    let published = subscription.next().await.map_err(|refusal| refused(&refusal, ""))?;
    let decode = |json: &[u8]| Event::decode(json).map_err(|error| A2AError::internal(format!("a fact: {error}")));
    published.iter().rev().map(|published| decode(&published.json)).collect()
}
