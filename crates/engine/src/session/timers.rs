//! A durable timer fired: what each kind of it means.

use factum_model::Refusal;

use super::expire_action::expire_action;
use super::index::{Timer, TimerKind};
use super::state::SessionState;
use super::{jobs, subagents, tasks};
use crate::context::{Context, Decision};

/// Decides what a timer that is due changes. One that is not due any more changes nothing.
pub fn fire_timer(state: &SessionState, timer: &Timer, context: &mut Context<'_>) -> Result<Decision<()>, Refusal> {
    match timer.kind {
        TimerKind::Action => match timer.id.parse() {
            Ok(action_id) => expire_action(state, &action_id, context),
            Err(_) => Ok(Decision { events: Vec::new(), output: () }),
        },
        TimerKind::TaskRetry | TimerKind::TaskTimeout | TimerKind::TaskInactivity | TimerKind::TaskCancel => {
            tasks::fire_timer(state, timer, context)
        }
        TimerKind::JobTimeout | TimerKind::JobRetry | TimerKind::Schedule => jobs::fire_timer(state, timer, context),
        TimerKind::SubagentClose => subagents::fire_timer(state, timer, context),
    }
}
