//! What a child takes over from its parent, and may narrow and never widen.
//!
//! What is declared here is recorded. It is enforced by what runs tools; where nothing does, the record says no more than
//! what was declared.

use factum_model::Refusal;
use factum_model::commands::SpawnSubagent;
use factum_model::permission::PermissionMode;
use factum_model::subagent::{Isolation, ModelChoice, ModelPolicy};
use serde_json::json;

use super::state::Subagent;

/// Modes by how much goes on without anybody being asked, least first. A child stands at or before its parent.
const MODES: [PermissionMode; 8] = [
    PermissionMode::Plan,
    PermissionMode::Untrusted,
    PermissionMode::Default,
    PermissionMode::OnRequest,
    PermissionMode::OnFailure,
    PermissionMode::Auto,
    PermissionMode::Never,
    PermissionMode::Bypass,
];

/// Isolation by strength, weakest first. A child stands at or behind its parent.
const ISOLATIONS: [Isolation; 4] = [Isolation::Thread, Isolation::Workspace, Isolation::Sandbox, Isolation::Remote];

/// What a child works under.
pub(super) struct Bounds {
    pub(super) permission_mode: PermissionMode,
    pub(super) isolation: Isolation,
    pub(super) model_policy: ModelPolicy,
}

/// The child's bounds: what the command asks for as far as the parent's allow it, the parent's where it asks for nothing.
pub(super) fn inherit(parent: Option<&Subagent>, command: &SpawnSubagent) -> Result<Bounds, Refusal> {
    let mode = parent.map_or(PermissionMode::Default, |parent| parent.record.permission_mode);
    let isolation = parent.map_or(Isolation::Thread, |parent| parent.record.isolation);
    Ok(Bounds {
        permission_mode: narrower(mode, command.permission_mode)?,
        isolation: stronger(isolation, command.isolation)?,
        model_policy: model_policy(command.model_policy.as_ref())?,
    })
}

fn narrower(parent: PermissionMode, asked: Option<PermissionMode>) -> Result<PermissionMode, Refusal> {
    let asked = asked.unwrap_or(parent);
    if rank(&MODES, &asked) > rank(&MODES, &parent) {
        return Err(Refusal::precondition("the permission mode is wider than the parent's")
            .with("permission_mode", json!(asked))
            .with("parent_permission_mode", json!(parent)));
    }
    Ok(asked)
}

fn stronger(parent: Isolation, asked: Option<Isolation>) -> Result<Isolation, Refusal> {
    let asked = asked.unwrap_or(parent);
    if asked == Isolation::Remote {
        let mut refusal = Refusal::unavailable("child agents in another runtime are not available in this version");
        // Asking again does not help; another isolation does.
        refusal.retryable = false;
        return Err(refusal.with("isolation", json!(asked)));
    }
    if rank(&ISOLATIONS, &asked) < rank(&ISOLATIONS, &parent) {
        return Err(Refusal::precondition("the isolation is weaker than the parent's")
            .with("isolation", json!(asked))
            .with("parent_isolation", json!(parent)));
    }
    Ok(asked)
}

fn model_policy(asked: Option<&ModelPolicy>) -> Result<ModelPolicy, Refusal> {
    let inherit = ModelPolicy { choice: ModelChoice::Inherit, provider: None, model: None };
    let policy = asked.cloned().unwrap_or(inherit);
    let named = policy.model.is_some();
    match policy.choice {
        ModelChoice::Fixed if !named => Err(Refusal::invalid("a fixed model_policy names a model")),
        ModelChoice::Inherit if named => Err(Refusal::invalid("a model_policy that inherits names no model")),
        _ => Ok(policy),
    }
}

/// Where a word stands in its table. One that is missing would stand at the end, and a test sees to it that none is.
fn rank<T: PartialEq>(table: &[T], word: &T) -> usize {
    table.iter().position(|one| one == word).unwrap_or(table.len())
}
