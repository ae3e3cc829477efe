//! `get_session`: the shell first, then a window of recent steps read backwards from the log.

use factum_engine::session::{SessionState, session_snapshot, step_view};
use factum_model::commands::{GetSession, Window};
use factum_model::read::{SessionSnapshot, StepView};
use factum_model::{Event, Refusal};
use factum_store::ReadLimit;

use crate::aggregate::Aggregate;
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::error::read_refusal;
use crate::runtime::Runtime;

/// Steps shown where the caller does not say.
const WINDOW_STEPS_DEFAULT: usize = 20;
/// Events looked through for each wanted step: most events (deltas above all) are not steps of their own. What is further
/// back is behind the cursor, so that a window costs the same however long the session is.
const EVENTS_PER_STEP_MAX: usize = 25;

impl Handle<GetSession> for Runtime {
    async fn handle(&self, caller: &Caller, command: GetSession) -> Result<SessionSnapshot, Refusal> {
        let state = |state: &SessionState| Ok(state.clone());
        let state = self.look_as_of(caller, &command.session_id, command.as_of, state).await?;
        let (limit, before) = window(command.window.as_ref(), state.sequence, self.0.shell.window_steps_max)?;
        let stream = SessionState::stream(&caller.account, &command.session_id);
        let (steps, history_before) = self.window(&stream, before, limit).await?;
        session_snapshot(&state, steps, history_before)
    }
}

impl Runtime {
    /// Up to `limit` steps before a sequence, oldest first, and where older ones continue.
    async fn window(&self, stream: &str, before: u64, limit: usize) -> Result<(Vec<StepView>, Option<u64>), Refusal> {
        let budget = limit * EVENTS_PER_STEP_MAX;
        let records = self.0.store.read_back(stream, before, ReadLimit::records(budget)).await;
        let records = records.map_err(|error| read_refusal(&error))?;
        let mut steps = Vec::with_capacity(limit);
        let mut oldest = before;
        for record in records {
            if steps.len() == limit {
                break;
            }
            oldest = record.sequence;
            let event = Event::decode(&record.bytes).map_err(|error| Refusal::internal(error.to_string()))?;
            steps.extend(step_view(&event));
        }
        steps.reverse();
        Ok((steps, (oldest > 1).then_some(oldest)))
    }
}

fn window(window: Option<&Window>, newest: u64, max: usize) -> Result<(usize, u64), Refusal> {
    let limit = window.and_then(|window| window.limit).map_or(WINDOW_STEPS_DEFAULT, |limit| limit as usize);
    if limit == 0 || limit > max {
        return Err(Refusal::invalid(format!("window.limit must be 1 to {max}")));
    }
    let before = window.and_then(|window| window.before).unwrap_or(u64::MAX);
    Ok((limit, before.min(newest + 1)))
}
