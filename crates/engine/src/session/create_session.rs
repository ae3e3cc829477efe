//! `create_session`: a session and its main thread, before any turn.

use factum_model::commands::{CreateSession, CreateSessionResult};
use factum_model::events::{SessionCreated, ThreadOrigin, ThreadStarted};
use factum_model::id::{SessionId, ThreadId};
use factum_model::value::Metadata;
use factum_model::{NewEvent, Refusal, Scope};

use super::state::SessionState;
use crate::context::{Context, Decision};

/// `agent` is the one that answers where the command names none. The shell has chosen the id, so that it knows the stream.
pub fn create_session(
    state: &SessionState,
    session_id: &SessionId,
    agent: &str,
    command: &CreateSession,
    context: &mut Context<'_>,
) -> Result<Decision<CreateSessionResult>, Refusal> {
    if state.shell.is_some() {
        return Err(Refusal::conflict("a session with this id exists already").with("session_id", session_id.as_str()));
    }
    context.limits.check_title(command.title.as_deref())?;
    context.limits.check_metadata("metadata_bytes", &command.metadata)?;
    let mut events = Vec::with_capacity(2);
    let thread_id = begin(session_id, agent, command.title.clone(), command.metadata.clone(), context, &mut events);
    let sequence = context.sequence_after(state.sequence, &events);
    Ok(Decision { output: CreateSessionResult { session_id: session_id.clone(), thread_id, sequence }, events })
}

/// The facts of a new session with its main thread.
pub(super) fn begin(
    session_id: &SessionId,
    agent: &str,
    title: Option<String>,
    metadata: Metadata,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) -> ThreadId {
    let thread_id = context.thread_id();
    begin_with(session_id, &thread_id, agent, title, metadata, context, events);
    thread_id
}

/// The same with a main thread whose id the caller chose; the first facts of a turn that brings its session along.
pub(super) fn begin_with(
    session_id: &SessionId,
    thread_id: &ThreadId,
    agent: &str,
    title: Option<String>,
    metadata: Metadata,
    context: &Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    let scope = Scope::default().session_id(session_id);
    events.push(NewEvent::new(
        scope.clone(),
        SessionCreated {
            account_ref: context.account.to_owned(),
            created_by: context.caller.to_owned(),
            agent: agent.to_owned(),
            title,
            metadata,
        },
    ));
    events.push(NewEvent::new(
        scope.thread_id(thread_id),
        ThreadStarted { agent: agent.to_owned(), origin: ThreadOrigin::Session, title: None, parent_thread_id: None },
    ));
}
