//! Threads beside the main one: those that the runtime opens by itself, for a task, a job or a child agent, with the turns
//! it submits there, and those that a caller names.

use factum_model::events::{QueueChange, QueueChanged, QueueEntry, ThreadOrigin, ThreadStarted, TurnSubmitted};
use factum_model::id::{ThreadId, TurnId};
use factum_model::value::{Metadata, OnBusy, Part, Status};
use factum_model::{NewEvent, Refusal, Scope};

use super::lookup::thread_scope;
use super::state::{SessionState, Shell};
use super::turn_end::queue_order;
use super::turn_start::start_turn;
use crate::context::{Context, check};

/// What an agent is given.
pub(super) struct Input {
    pub parts: Vec<Part>,
    /// The fact that says it in full, where the parts do not.
    pub sequence: Option<u64>,
}

impl From<Vec<Part>> for Input {
    fn from(parts: Vec<Part>) -> Self {
        Self { parts, sequence: None }
    }
}

/// Opens a thread below another one. `scope` names the session and whatever the thread is for.
#[allow(clippy::too_many_arguments, reason = "one flat decision; a struct would only rename the arguments")]
pub(super) fn open_thread(
    state: &SessionState,
    scope: &Scope,
    agent: &str,
    origin: ThreadOrigin,
    title: Option<String>,
    parent_thread_id: Option<ThreadId>,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) -> Result<ThreadId, Refusal> {
    check_room(state, context, events)?;
    let thread_id = context.thread_id();
    let fact = ThreadStarted { agent: agent.to_owned(), origin, title, parent_thread_id };
    events.push(NewEvent::new(scope.clone().thread_id(&thread_id), fact));
    Ok(thread_id)
}

/// Opens a thread beside the main one, by the id that somebody chose for it.
pub(super) fn open_named(
    state: &SessionState,
    shell: &Shell,
    thread_id: &ThreadId,
    agent: &str,
    context: &Context<'_>,
    events: &mut Vec<NewEvent>,
) -> Result<(), Refusal> {
    check_room(state, context, events)?;
    let (agent, origin) = (agent.to_owned(), ThreadOrigin::Session);
    let fact = ThreadStarted { agent, origin, title: None, parent_thread_id: None };
    events.push(NewEvent::new(thread_scope(shell, thread_id), fact));
    Ok(())
}

fn check_room(state: &SessionState, context: &Context<'_>, events: &[NewEvent]) -> Result<(), Refusal> {
    let opening = events.iter().filter(|event| matches!(event.fact, factum_model::Fact::ThreadStarted(_))).count();
    let open = state.threads.len() - state.resting.len();
    check("threads", open + opening + 1, context.limits.threads_max)
}

/// Input for a thread's agent: starts at once where the thread is idle, waits in its queue otherwise. A thread whose
/// active turn ends in `events` is idle; one that is opened in them is too.
pub(super) fn submit(
    state: &SessionState,
    scope: &Scope,
    thread_id: &ThreadId,
    agent: &str,
    input: impl Into<Input>,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) -> TurnId {
    let turn_id = context.turn_id();
    let scope = scope.clone().thread_id(thread_id).turn_id(&turn_id);
    let thread = state.thread(thread_id);
    let busy = thread.is_some_and(|thread| {
        let ends = |event: &NewEvent| {
            let over = matches!(event.fact, factum_model::Fact::TurnCompleted(_) | factum_model::Fact::TurnFailed(_));
            over && event.scope.thread_id.as_ref() == Some(thread_id)
        };
        !queue_order(thread, events).is_empty() || (thread.active.is_some() && !events.iter().any(ends))
    });
    let status = if busy { Status::Queued } else { Status::Accepted };
    let Input { parts, sequence } = input.into();
    let submitted = TurnSubmitted {
        input: parts,
        input_sequence: sequence,
        source: context.caller.to_owned(),
        agent: agent.to_owned(),
        status,
        on_busy: OnBusy::Queue,
        idempotency_key: None,
        decided_through: context.decider(),
        options: Metadata::new(),
        metadata: Metadata::new(),
    };
    events.push(NewEvent::new(scope.clone(), submitted));
    match thread.filter(|_| busy) {
        None => start_turn(scope, agent, context, events),
        Some(thread) => {
            let mut entries = queue_order(thread, events);
            entries.push(QueueEntry {
                turn_id: turn_id.clone(),
                source: context.caller.to_owned(),
                policy: OnBusy::Queue,
                enqueued_at: context.now,
            });
            let changed = QueueChanged {
                change: QueueChange::Enqueued,
                changed_turn_id: Some(turn_id.clone()),
                changed_by: context.caller.to_owned(),
                reason: None,
                entries,
            };
            events.push(NewEvent::new(scope, changed));
        }
    }
    turn_id
}
