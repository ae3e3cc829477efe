//! The process that ran an agent's turn ended, and the turn is carried on: that is another attempt of the item it does.
//!
//! The turn stays the same, as for tasks (`tasks::turn_recovered`). `max_item_attempts` does not count it: nothing of the work
//! failed.

use factum_model::NewEvent;
use factum_model::events::{JobItemFailed, JobItemRetrying, JobItemStarted};
use factum_model::id::TurnId;
use factum_model::job::JobItemStatus;
use factum_model::task::AttemptCause;

use super::settle::hand_scope;
use super::state::{Hand, Job};
use crate::context::Context;
use crate::session::state::SessionState;
use crate::session::turn_end::failure;

/// Called behind the `events` that carry a turn on after a crash.
pub(in super::super) fn turn_recovered(
    state: &SessionState,
    turn_id: &TurnId,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    let Some((job, hand)) = state.jobs.turn(turn_id) else { return };
    // A process that never stays up does not fill the disk with attempts; the last one then goes on.
    if hand.item.attempts as usize >= context.limits.job_item_attempts_max as usize {
        return;
    }
    events.extend(begin_again(job, hand, context));
}

fn begin_again(job: &Job, hand: &Hand, context: &mut Context<'_>) -> [NewEvent; 3] {
    let (number, attempt_count, scope) = (hand.item.number, hand.item.attempts, hand_scope(job, hand));
    let message = "the process that ran it ended; the next attempt carries its turn on";
    let cut_off = JobItemFailed {
        status: JobItemStatus::Pending,
        number,
        attempt_count,
        worker: None,
        error: failure("process_ended", message, true),
        will_retry: true,
        retry_at: Some(context.now),
        summary: None,
        output_refs: Vec::new(),
        checkpoint_refs: Vec::new(),
    };
    let retrying = JobItemRetrying {
        status: JobItemStatus::Pending,
        was: JobItemStatus::Pending,
        number,
        attempt_count,
        requested_by: context.caller.to_owned(),
        reason: Some("carried on after a restart".to_owned()),
        input: None,
        last_error: None,
        reopened: None,
    };
    let started = JobItemStarted {
        status: JobItemStatus::Running,
        number,
        attempt_count: attempt_count + 1,
        cause: Some(AttemptCause::CrashRecovery),
        worker: None,
        lease: None,
    };
    let next = scope.clone().run_id(&context.run_id()).attempt_id(&context.attempt_id());
    [NewEvent::new(scope.clone(), cut_off), NewEvent::new(scope, retrying), NewEvent::new(next, started)]
}
