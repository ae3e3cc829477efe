//! A task that the peer does not do at all: it has failed for good, and is not given to it again.

use factum_engine::Context;
use factum_engine::session::SessionState;
use factum_engine::session::tasks::fail_task;
use factum_model::commands::FailTask;
use factum_model::events::TaskUpdated;
use factum_model::id::TaskId;
use factum_model::value::Failure;
use factum_model::{NewEvent, Scope, Trace};

use super::contract::PeerView;
use super::driver::{DELEGATIONS, Drive, Over, RECORD_PAUSE};
use crate::commit::{Accept, Actor};

/// The most characters of the peer's reason that are kept.
const REASON_CHARS_MAX: usize = 2_000;

impl Drive {
    /// Records what the peer said, then fails the task with the peer's own word for it. The whole view is recorded behind that, so
    /// that both sides are done with it; of a task that cannot fail any more, because it is over or being cancelled here, the view
    /// alone says how it ends.
    pub(super) async fn reject(&self, view: &PeerView) -> Result<(), Over> {
        self.keep(PeerView { whole: false, ..view.clone() }).await?;
        let task_id = self.look_here().await?.task_id;
        let reason = view.message.as_deref().unwrap_or("the peer rejected the task and says no more");
        let error = Failure {
            category: Failure::REJECTED.to_owned(),
            message: reason.chars().take(REASON_CHARS_MAX).collect(),
            retryable: false,
            advice: None,
        };
        let (run_id, native_status) = (Some(self.run_id.clone()), Some(view.native_status.clone()));
        let command = FailTask { task_id, run_id, lease_token: None, error, native_status, idempotency_key: None };
        loop {
            let actor = Actor { principal: DELEGATIONS, trace: &Trace::default(), through: None };
            let decide = |state: &SessionState, context: &mut Context<'_>| {
                let mut decision = fail_task(state, &[], &command, context)?;
                // The run's end has no place for it.
                decision.events.insert(0, named(state, &command.task_id, &view.native_status));
                Ok(decision)
            };
            let (account, id) = (&self.cell.account, &self.cell.id);
            match self.runtime.execute(account, id, &actor, &Accept::default(), decide).await {
                Err(refusal) if refusal.retryable => {
                    tracing::warn!(run_id = %self.run_id, %refusal, "what a peer said could not be recorded; trying again");
                    self.pause(RECORD_PAUSE).await;
                }
                Ok(_) | Err(_) => return Ok(()),
            }
        }
    }
}

/// What the peer calls how its task stands.
fn named(state: &SessionState, task_id: &TaskId, native_status: &str) -> NewEvent {
    let mut scope = Scope::default().task_id(task_id);
    scope.session_id = state.shell.as_ref().map(|shell| shell.session_id.clone());
    let native_status = Some(native_status.to_owned());
    let fact = TaskUpdated { updated_by: DELEGATIONS.to_owned(), native_status, ..TaskUpdated::default() };
    NewEvent::new(scope, fact)
}
