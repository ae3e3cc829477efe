//! `update_session`: title and metadata.

use factum_model::commands::{UpdateSession, UpdateSessionResult};
use factum_model::events::SessionUpdated;
use factum_model::{NewEvent, Refusal, Scope};

use super::lookup::require_session;
use super::state::SessionState;
use crate::context::{Context, Decision};

pub fn update_session(
    state: &SessionState,
    command: &UpdateSession,
    context: &mut Context<'_>,
) -> Result<Decision<UpdateSessionResult>, Refusal> {
    let shell = require_session(state)?;
    context.limits.check_title(command.title.as_deref())?;
    if let Some(metadata) = &command.metadata {
        context.limits.check_metadata("metadata_bytes", metadata)?;
    }
    let mut events = Vec::new();
    if command.title.is_some() || command.metadata.is_some() {
        events.push(NewEvent::new(
            Scope::default().session_id(&shell.session_id),
            SessionUpdated {
                updated_by: context.caller.to_owned(),
                title: command.title.clone(),
                metadata: command.metadata.clone(),
            },
        ));
    }
    let sequence = context.sequence_after(state.sequence, &events);
    Ok(Decision { output: UpdateSessionResult { session_id: shell.session_id.clone(), sequence }, events })
}
