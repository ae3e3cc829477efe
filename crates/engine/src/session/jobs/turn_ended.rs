//! A turn that did an item has ended: so has the attempt, and the job goes on in the same commit.

use factum_model::value::Status;
use factum_model::{Fact, NewEvent};

use super::super::state::SessionState;
use super::super::turn_end::{TurnEnded, failure};
use super::settle::{Outcome, settle};
use super::state::{Hand, Job};
use crate::context::Context;

pub(in super::super) fn turn_ended(
    state: &SessionState,
    ended: &TurnEnded<'_>,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    let Some((job, hand)) = state.jobs.turn(ended.turn_id) else { return };
    if is_settled(job, hand, events) {
        return;
    }
    let outcome = match ended.status {
        Status::Completed => Outcome::Completed { summary: ended.preview.clone(), output_refs: Vec::new() },
        _ => Outcome::Failed {
            error: ended.error.clone().unwrap_or_else(|| failure("unknown", "the turn ended without saying why", true)),
            output_refs: Vec::new(),
            checkpoint_refs: Vec::new(),
        },
    };
    // Whoever interrupts a turn may begin another one in its thread, in this same commit.
    let freed = Some(ended.thread_id).filter(|_| ended.status != Status::Cancelled);
    settle(state, job, hand, outcome, freed, context, events);
}

/// Whether the attempt's end stands in the commit already: the job was stopped, and its turns end because of that.
fn is_settled(job: &Job, hand: &Hand, events: &[NewEvent]) -> bool {
    events.iter().any(|event| {
        let ends = matches!(event.fact, Fact::JobItemCompleted(_) | Fact::JobItemFailed(_));
        ends && event.scope.job_id.as_ref() == Some(&job.record.job_id)
            && event.scope.run_id.as_ref() == Some(&hand.run_id)
    })
}
