//! `submit_turn`: input for an agent. Starts at once on an idle thread; a busy one queues, refuses or is interrupted.

use factum_model::commands::{SubmitTurn, SubmitTurnResult};
use factum_model::events::{QueueChange, QueueChanged, QueueEntry, TurnSubmitted};
use factum_model::id::{SessionId, ThreadId, TurnId};
use factum_model::value::{Metadata, OnBusy, Part, Status};
use factum_model::{NewEvent, Refusal, Scope};

use super::create_session::begin_with;
use super::lookup::{require_thread, turn_scope};
use super::state::{SessionState, Shell, Thread};
use super::text::clip;
use super::thread_start::open_named;
use super::turn_end::{End, end_turn, failure};
use super::turn_start::start_turn;
use crate::context::{Context, Decision, check};

/// How many characters of the first input become the title of a session that has none.
const TITLE_FROM_INPUT_CHARS: usize = 80;

/// `session_id` is the stream the shell chose: the named session, or a new one. `agent` is resolved and known. A thread
/// that is named and not there is opened; that it has not left the session is for the shell to know.
pub fn submit_turn(
    state: &SessionState,
    session_id: &SessionId,
    agent: &str,
    command: &SubmitTurn,
    context: &mut Context<'_>,
) -> Result<Decision<SubmitTurnResult>, Refusal> {
    check_input(command, context)?;
    let turn_id = command.turn_id.clone().unwrap_or_else(|| context.turn_id());
    let mut events = Vec::with_capacity(5);
    let (thread_id, status, queue_position) = match &state.shell {
        None => (start_session(session_id, agent, &turn_id, command, context, &mut events)?, Status::Accepted, None),
        Some(shell) => {
            refuse_known(state, &turn_id)?;
            match unknown_thread(state, command) {
                Some(thread_id) => {
                    open_named(state, shell, thread_id, agent, context, &mut events)?;
                    accept(turn_scope(shell, thread_id, &turn_id), agent, command, context, &mut events);
                    (thread_id.clone(), Status::Accepted, None)
                }
                None => {
                    let thread = require_thread(state, command.thread_id.as_ref())?;
                    super::subagents::takes_input(state, thread)?;
                    let (status, at) = place(state, shell, thread, agent, &turn_id, command, context, &mut events)?;
                    (thread.thread_id.clone(), status, at)
                }
            }
        }
    };
    let sequence = context.sequence_after(state.sequence, &events);
    let session_id = session_id.clone();
    Ok(Decision {
        output: SubmitTurnResult { session_id, thread_id, turn_id, task_id: None, status, queue_position, sequence },
        events,
    })
}

/// The thread that the command names, where the session has none of that id.
pub fn unknown_thread<'a>(state: &SessionState, command: &'a SubmitTurn) -> Option<&'a ThreadId> {
    command.thread_id.as_ref().filter(|thread_id| state.thread(thread_id).is_none())
}

fn check_input(command: &SubmitTurn, context: &Context<'_>) -> Result<(), Refusal> {
    if command.input.is_empty() {
        return Err(Refusal::invalid("input needs at least one part, such as {\"type\":\"text\",\"text\":\"hello\"}"));
    }
    check("input_parts", command.input.len(), context.limits.input_parts_max)?;
    context.limits.check_metadata("metadata_bytes", &command.metadata)?;
    context.limits.check_metadata("options_bytes", &command.options)
}

/// A turn id that is still in use is a conflict here; one that is over has a row, which the shell looks for.
fn refuse_known(state: &SessionState, turn_id: &TurnId) -> Result<(), Refusal> {
    let known = state.threads.iter().any(|thread| {
        thread.active.as_ref().is_some_and(|turn| turn.turn_id == *turn_id)
            || thread.queue.iter().any(|turn| turn.entry.turn_id == *turn_id)
    });
    if known {
        return Err(turn_exists(turn_id));
    }
    Ok(())
}

/// An id is for one turn of its session, also when that is over.
pub fn turn_exists(turn_id: &TurnId) -> Refusal {
    Refusal::conflict("a turn with this id exists already").with("turn_id", turn_id.as_str())
}

fn start_session(
    session_id: &SessionId,
    agent: &str,
    turn_id: &TurnId,
    command: &SubmitTurn,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) -> Result<ThreadId, Refusal> {
    let thread_id = command.thread_id.clone().unwrap_or_else(|| context.thread_id());
    begin_with(session_id, &thread_id, agent, title_from(&command.input), Metadata::new(), context, events);
    let scope = Scope::default().session_id(session_id).thread_id(&thread_id).turn_id(turn_id);
    accept(scope, agent, command, context, events);
    Ok(thread_id)
}

/// Puts the turn where the thread's state and `on_busy` want it.
#[allow(clippy::too_many_arguments, reason = "one flat decision; a struct would only rename the arguments")]
fn place(
    state: &SessionState,
    shell: &Shell,
    thread: &Thread,
    agent: &str,
    turn_id: &TurnId,
    command: &SubmitTurn,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) -> Result<(Status, Option<u32>), Refusal> {
    let scope = turn_scope(shell, &thread.thread_id, turn_id);
    let on_busy = command.on_busy.unwrap_or_default();
    match (&thread.active, on_busy) {
        (None, _) if thread.queue.is_empty() => accept(scope, agent, command, context, events),
        (None, _) | (Some(_), OnBusy::Queue) => {
            check("queue_turns", thread.queue.len() + 1, context.limits.queue_turns_max)?;
            enqueue(scope, thread, agent, turn_id, command, context, events);
            return Ok((Status::Queued, Some(thread.queue.len() as u32 + 1)));
        }
        (Some(active), OnBusy::Reject) => {
            return Err(Refusal::conflict("the thread is busy and on_busy is \"reject\"")
                .with("policy", "reject")
                .with("active_turn_id", active.turn_id.as_str()));
        }
        (Some(active), OnBusy::Interrupt) => {
            let error = failure("interrupted", "another turn was submitted with on_busy \"interrupt\"", false);
            let end = End::Failed { status: Status::Cancelled, error };
            end_turn(state, shell, thread, active, end, context.caller, context, events);
            accept(scope, agent, command, context, events);
        }
    }
    Ok((Status::Accepted, None))
}

fn accept(scope: Scope, agent: &str, command: &SubmitTurn, context: &mut Context<'_>, events: &mut Vec<NewEvent>) {
    events.push(NewEvent::new(scope.clone(), submitted(agent, Status::Accepted, command, context)));
    start_turn(scope, agent, context, events);
}

fn enqueue(
    scope: Scope,
    thread: &Thread,
    agent: &str,
    turn_id: &TurnId,
    command: &SubmitTurn,
    context: &Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    let entry = QueueEntry {
        turn_id: turn_id.clone(),
        source: context.caller.to_owned(),
        policy: command.on_busy.unwrap_or_default(),
        enqueued_at: context.now,
    };
    let mut entries = thread.queue_entries();
    entries.push(entry);
    events.push(NewEvent::new(scope.clone(), submitted(agent, Status::Queued, command, context)));
    events.push(NewEvent::new(
        scope,
        QueueChanged {
            change: QueueChange::Enqueued,
            changed_turn_id: Some(turn_id.clone()),
            changed_by: context.caller.to_owned(),
            reason: None,
            entries,
        },
    ));
}

fn submitted(agent: &str, status: Status, command: &SubmitTurn, context: &Context<'_>) -> TurnSubmitted {
    TurnSubmitted {
        input: command.input.clone(),
        input_sequence: None,
        source: context.caller.to_owned(),
        agent: agent.to_owned(),
        status,
        on_busy: command.on_busy.unwrap_or_default(),
        idempotency_key: command.idempotency_key.clone(),
        decided_through: context.decider(),
        options: command.options.clone(),
        metadata: command.metadata.clone(),
    }
}

fn title_from(input: &[Part]) -> Option<String> {
    let text = input.iter().find_map(|part| if let Part::Text { text } = part { Some(text) } else { None })?;
    let line = text.lines().next().unwrap_or_default().trim();
    (!line.is_empty()).then(|| clip(line, TITLE_FROM_INPUT_CHARS))
}
