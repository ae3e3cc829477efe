//! `end_schedule`: no more jobs. Those that were made go on.

use factum_model::commands::{EndSchedule, EndScheduleResult};
use factum_model::events::JobScheduleEnded;
use factum_model::{NewEvent, Refusal, Scope};

use super::super::super::lookup::require_session;
use super::super::super::state::SessionState;
use crate::context::{Context, Decision};

/// A schedule that has ended is not in the state: `not_found` here, and the shell answers from its row.
pub fn end_schedule(
    state: &SessionState,
    command: &EndSchedule,
    context: &mut Context<'_>,
) -> Result<Decision<EndScheduleResult>, Refusal> {
    let shell = require_session(state)?;
    state.jobs.schedule(&command.schedule_id).ok_or_else(Refusal::not_found)?;
    let fact = JobScheduleEnded {
        schedule_id: command.schedule_id.clone(),
        ended_by: context.caller.to_owned(),
        reason: command.reason.clone(),
    };
    let events = vec![NewEvent::new(Scope::default().session_id(&shell.session_id), fact)];
    let sequence = context.sequence_after(state.sequence, &events);
    Ok(Decision { events, output: EndScheduleResult { schedule_id: command.schedule_id.clone(), sequence } })
}
