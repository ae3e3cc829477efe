//! Handing items out, up to `max_concurrency` at once: as runs that workers claim, or as turns of an agent.
//!
//! Agents work in a pool of threads that belongs to the job. A thread is used again when it is idle, so a job of ten
//! thousand items has as many threads as items at work at once.

use factum_model::events::{JobItemQueued, JobItemStarted, ThreadOrigin};
use factum_model::id::ThreadId;
use factum_model::job::JobItemStatus;
use factum_model::value::Part;
use factum_model::{NewEvent, Refusal, Scope};
use serde_json::Value;

use super::super::state::SessionState;
use super::super::thread_start::{open_thread, submit};
use super::state::{Item, Job};
use super::tally::Tally;
use crate::context::Context;

/// Hands out as many items as may be at work. `freed` is a thread whose turn ends in `events` and in which nothing else
/// begins. Refused only where an agent needs a thread and there may be no more; what was handed out before stays so.
pub(super) fn hand_out(
    state: &SessionState,
    job: &Job,
    freed: Option<&ThreadId>,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) -> Result<(), Refusal> {
    let tally = Tally::of(job, events, context);
    let mut pool = match &job.record.execution.queue {
        Some(_) => Vec::new(),
        None => idle_threads(state, job, &tally, freed),
    };
    for item in tally.next(tally.free(), context) {
        if job.record.execution.queue.is_some() {
            queue(job, &item, context, events);
            continue;
        }
        start(state, job, &item, pool.pop(), context, events)?;
    }
    Ok(())
}

/// The ids of an item's facts.
pub(super) fn item_scope(job: &Job, item: &Item) -> Scope {
    let mut scope = job_scope(job);
    scope.job_item_id = Some(item.input.job_item_id.clone());
    scope
}

pub(super) fn job_scope(job: &Job) -> Scope {
    let mut scope = Scope::default().session_id(&job.record.session_id).job_id(&job.record.job_id);
    scope.task_id = job.record.task_id.clone();
    scope
}

fn queue(job: &Job, item: &Item, context: &mut Context<'_>, events: &mut Vec<NewEvent>) {
    let scope = item_scope(job, item).run_id(&context.run_id()).attempt_id(&context.attempt_id());
    let fact = JobItemQueued { status: JobItemStatus::Pending, number: item.number, attempt_count: item.attempts + 1 };
    events.push(NewEvent::new(scope, fact));
}

fn start(
    state: &SessionState,
    job: &Job,
    item: &Item,
    idle: Option<ThreadId>,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) -> Result<(), Refusal> {
    let agent = job.record.execution.agent.as_deref().unwrap_or_default();
    let thread_id = match idle {
        Some(thread_id) => thread_id,
        None => {
            let (title, scope) = (job.record.title.clone(), job_scope(job));
            open_thread(state, &scope, agent, ThreadOrigin::Job, title, None, context, events)?
        }
    };
    let scope = item_scope(job, item).run_id(&context.run_id()).attempt_id(&context.attempt_id());
    let at = events.len();
    let turn_id = submit(state, &scope, &thread_id, agent, input(job, item), context, events);
    let fact = JobItemStarted {
        status: JobItemStatus::Running,
        number: item.number,
        attempt_count: item.attempts + 1,
        cause: None,
        worker: None,
        lease: None,
    };
    // The turn has its id only once it is submitted; what it is for reads better in front.
    events.insert(at, NewEvent::new(scope.thread_id(&thread_id).turn_id(&turn_id), fact));
    Ok(())
}

/// What the agent is told: the instruction, then what this item is about.
fn input(job: &Job, item: &Item) -> Vec<Part> {
    let instruction = match &job.instruction {
        Some(text) => Part::Text { text: text.clone() },
        None => Part::Ref { r#ref: job.record.instruction_ref.clone() },
    };
    let arguments = item.input.arguments.as_ref().map(|arguments| match arguments {
        Value::String(text) => Part::Text { text: text.clone() },
        data => Part::Data { data: data.clone() },
    });
    let refs =
        item.input.input_ref.iter().chain(&job.record.input_refs).map(|r#ref| Part::Ref { r#ref: r#ref.clone() });
    [instruction].into_iter().chain(arguments).chain(refs).collect()
}

/// Threads of the job in which nothing is under way. Somebody may have submitted a turn there by hand; those are left alone.
fn idle_threads(state: &SessionState, job: &Job, tally: &Tally<'_>, freed: Option<&ThreadId>) -> Vec<ThreadId> {
    let idle = |thread_id: &&ThreadId| {
        let rests = state.thread(thread_id).is_some_and(|thread| {
            thread.queue.is_empty() && (thread.active.is_none() || freed == Some(&thread.thread_id))
        });
        rests && !tally.takes(thread_id)
    };
    // The last is taken first: the one that was used most recently where that is known.
    job.record.assigned_threads.iter().filter(idle).cloned().collect()
}
