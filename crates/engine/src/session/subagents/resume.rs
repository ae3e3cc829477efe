//! `resume_subagent`: carry on a child agent whose work came to rest, whatever it came to.

use factum_model::commands::{ResumeSubagent, SubagentResult};
use factum_model::events::SubagentStatus;
use factum_model::subagent::SubagentState;
use factum_model::value::Part;
use factum_model::{NewEvent, Refusal};
use serde_json::json;

use super::super::state::SessionState;
use super::super::thread_start::submit;
use super::input::{require_open, result, say, turn_scope};
use super::view::{is_at_rest, status};
use crate::context::{Context, Decision};

/// What a child is told where the caller says nothing.
const CONTINUE: &str = "Continue.";

/// The shell has found the child agent, so one that is not open is closed.
pub fn resume_subagent(
    state: &SessionState,
    command: &ResumeSubagent,
    context: &mut Context<'_>,
) -> Result<Decision<SubagentResult>, Refusal> {
    let (one, thread) = require_open(state, &command.subagent_id)?;
    let stands = status(state, one);
    if !is_at_rest(stands) {
        let message = "the child agent is at work; send_subagent_input says something to it";
        return Err(Refusal::precondition(message).with("status", json!(stands)));
    }
    if stands == SubagentState::Idle && command.input.is_none() {
        let message = "the child agent has done nothing yet that could be carried on; give it input";
        return Err(Refusal::precondition(message).with("status", json!(stands)));
    }
    let resumed = SubagentStatus {
        status: SubagentState::Running,
        detail: Some("resumed".to_owned()),
        last_message_ref: one.record.last_message_ref.clone(),
        close_at: None,
        changed_by: Some(context.caller.to_owned()),
    };
    let mut events = vec![NewEvent::new(one.scope(), resumed)];
    let turn_id = match &command.input {
        Some(input) => say(state, one, thread, input.clone(), context, &mut events)?,
        None => {
            let input = vec![Part::Text { text: CONTINUE.to_owned() }];
            submit(state, &turn_scope(one), &one.record.thread_id, &one.record.agent, input, context, &mut events)
        }
    };
    Ok(Decision { output: result(state, one, Some(turn_id), SubagentState::Running, context, &events), events })
}
