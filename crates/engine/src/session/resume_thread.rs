//! `resume_thread`: carry a thread on, or say what it waits for.

use factum_model::commands::{ResumeThread, ResumeThreadResult};
use factum_model::{NewEvent, Refusal};

use super::lookup::{require_session, require_thread};
use super::state::SessionState;
use super::turn_end::start_next;
use crate::context::{Context, Decision};

pub fn resume_thread(
    state: &SessionState,
    command: &ResumeThread,
    context: &mut Context<'_>,
) -> Result<Decision<ResumeThreadResult>, Refusal> {
    let shell = require_session(state)?;
    let thread = require_thread(state, Some(&command.thread_id))?;
    let mut events: Vec<NewEvent> = Vec::new();
    let mut active_turn_id = thread.active.as_ref().map(|turn| turn.turn_id.clone());
    let mut status = thread.status(state);
    if thread.active.is_none()
        && let Some(next) = thread.queue.front()
    {
        active_turn_id = Some(next.entry.turn_id.clone());
        status = factum_model::value::Status::Running;
        start_next(state, shell, thread, context, &mut events);
    }
    let sequence = context.sequence_after(state.sequence, &events);
    Ok(Decision {
        output: ResumeThreadResult {
            session_id: shell.session_id.clone(),
            thread_id: thread.thread_id.clone(),
            status,
            active_turn_id,
            resumed: !events.is_empty(),
            sequence,
        },
        events,
    })
}
