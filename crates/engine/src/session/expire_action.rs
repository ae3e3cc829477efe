//! A durable timer fired: an action nobody decided in time becomes what its policy declared. Never an approval.

use factum_model::events::{OnTimeout, ResolutionSource};
use factum_model::id::ActionId;
use factum_model::value::Status;
use factum_model::{NewEvent, Refusal};

use super::lookup::{active_turn, require_session};
use super::respond_action::{Answer, resolve};
use super::state::SessionState;
use super::tasks::inbound::decided_here;
use super::turn_end::{End, end_turn, failure, start_next};
use super::verdict::Verdict;
use super::waiting::{actions_changed, asking_turn};
use crate::context::{Context, Decision};

/// Decides nothing where the action is resolved already or its time has not come: timers may fire late or twice.
pub fn expire_action(
    state: &SessionState,
    action_id: &ActionId,
    context: &mut Context<'_>,
) -> Result<Decision<()>, Refusal> {
    let shell = require_session(state)?;
    let mut events: Vec<NewEvent> = Vec::new();
    let due = state.action(action_id).filter(|action| action.required.timeout_at.is_some_and(|at| at <= context.now));
    if let Some(action) = due {
        let answer =
            Answer { decision: "timeout", payload: None, by: context.caller, source: ResolutionSource::Timeout };
        match action.required.on_timeout {
            OnTimeout::Wait => {}
            OnTimeout::Deny => {
                resolve(state, shell, action, Verdict::Deny, &answer, context, &mut events);
                events.extend(decided_here(state, action, &answer, Verdict::Deny));
            }
            OnTimeout::Cancel => {
                resolve(state, shell, action, Verdict::Deny, &answer, context, &mut events);
                events.extend(decided_here(state, action, &answer, Verdict::Deny));
                let turn = action.turn_id.as_ref().and_then(|turn_id| active_turn(state, turn_id));
                if let Some((thread, turn)) = turn {
                    let error = failure("timeout", "nobody answered in time", false);
                    let end = End::Failed { status: Status::TimedOut, error };
                    end_turn(state, shell, thread, turn, end, context.caller, context, &mut events);
                    start_next(state, shell, thread, context, &mut events);
                }
            }
        }
        if let Some(turn_id) = asking_turn(state, action) {
            actions_changed(state, turn_id, context, &mut events);
        }
    }
    Ok(Decision { events, output: () })
}
