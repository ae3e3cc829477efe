//! The facts of a tool call that has been asked for, and of the decision it waits for.

use factum_model::events::{ActionRequired, ActionType, OnTimeout, ToolArgs, ToolStarted};
use factum_model::report::{Gate, ToolDraft};
use factum_model::value::Metadata;
use factum_model::{Fact, NewEvent, Scope, Timestamp};
use serde_json::Value;

use super::state::ActiveTurn;
use crate::context::Context;
use crate::digest::digest_of;
use crate::peers::asks_permission;

/// The decisions a permission request understands; others with the same meaning are accepted too, see `verdict`.
pub(super) const PERMISSION_DECISIONS: [&str; 2] = ["allow", "deny"];

/// Records a call the model asked for. A gate in front of it becomes an open action in the same commit, so there is no
/// moment at which the call is known and its approval is not.
pub(super) fn call_requested(
    turn_scope: &Scope,
    draft: ToolDraft,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    let scope = turn_scope.clone().step_id(&context.step_id()).tool_call_id(&context.tool_call_id());
    let digest = digest_of(&draft.arguments);
    events.push(NewEvent::new(
        scope.clone(),
        ToolStarted {
            tool_name: draft.tool_name.clone(),
            runtime_owner: draft.owner,
            effect: draft.effect,
            needs_approval: matches!(draft.gate, Gate::Approval { .. }),
            native_call_id: draft.native_call_id,
        },
    ));
    events.push(NewEvent::new(
        scope.clone(),
        ToolArgs { arguments: not_null(draft.arguments), arguments_ref: None, arguments_digest: digest.clone() },
    ));
    if let Some(required) = action_of(draft.gate, draft.tool_name, digest, context.now) {
        let scope = scope.action_id(&context.action_id());
        events.push(NewEvent::new(scope, required));
    }
}

/// What a turn asks permission for is decided through the channel that the turn came through, where its peer decides.
pub(super) fn bind_actions(turn: &ActiveTurn, events: &mut [NewEvent]) {
    for event in events.iter_mut().filter(|event| event.scope.turn_id.as_ref() == Some(&turn.turn_id)) {
        if let Fact::ActionRequired(required) = &event.fact
            && asks_permission(required.action_type)
        {
            event.scope.channel_id = turn.decided_through.clone();
        }
    }
}

fn action_of(gate: Gate, tool_name: String, digest: String, now: Timestamp) -> Option<ActionRequired> {
    let (action_type, prompt, input_schema, timeout_ms, on_timeout) = match gate {
        Gate::Open => return None,
        Gate::Approval { prompt, timeout_ms, on_timeout } => {
            (ActionType::ToolPermission, prompt, None, timeout_ms, on_timeout)
        }
        Gate::Question { prompt, input_schema, timeout_ms, on_timeout } => {
            (ActionType::Input, prompt, input_schema.and_then(not_null), timeout_ms, on_timeout)
        }
    };
    let decisions = match action_type {
        ActionType::ToolPermission => PERMISSION_DECISIONS.map(str::to_owned).to_vec(),
        _ => Vec::new(),
    };
    let timeout_at = timeout_ms.and_then(|ms| later(now, ms));
    Some(ActionRequired {
        action_type,
        prompt,
        decisions,
        input_schema,
        policy: None,
        tool_name: Some(tool_name),
        arguments_digest: Some(digest),
        scope: Metadata::new(),
        timeout_at,
        // Without a time there is nothing that could run out.
        on_timeout: if timeout_at.is_some() { on_timeout } else { OnTimeout::Wait },
    })
}

/// JSON cannot tell a field that is null from one that is absent, so a null is recorded as what it will be read as:
/// otherwise the live state and the replayed one would differ.
pub(super) fn not_null(value: Value) -> Option<Value> {
    Some(value).filter(|value| !value.is_null())
}

/// `now` and some milliseconds; `None` beyond the end of time.
fn later(now: Timestamp, ms: u64) -> Option<Timestamp> {
    let now_ms = now.as_millisecond();
    Timestamp::from_millisecond(now_ms.checked_add(i64::try_from(ms).ok()?)?).ok()
}
