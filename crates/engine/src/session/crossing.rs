//! Permissions that cross a channel, as facts: that one is asked for, and what was decided of it (seed 000, "Remote permission
//! bridge"). Which channel, and in which direction, is said by those who have it.

use factum_model::events::{ActionRequired, PermissionRequested, PermissionResolved, ResolutionSource};
use factum_model::id::{ActionId, ThreadId};
use factum_model::permission::{
    DecisionSource, GrantScope, PermissionDecision, PermissionMode, PermissionSubject, SubjectKind, Verdict as Decided,
};

use super::delegations::asking_peer;
use super::respond_action::Answer;
use super::state::{OpenAction, SessionState};
use super::verdict::Verdict;

/// Who asks for a permission, and for what. Read from the question itself and nowhere else, so that the session and every channel
/// are told the same.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asked {
    pub(crate) by: String,
    pub(crate) subject: PermissionSubject,
}

impl Asked {
    /// What `required` asks for, where it is not a peer that asks but `agent`.
    pub(crate) fn of(agent: &str, action_id: Option<&ActionId>, required: &ActionRequired) -> Self {
        let ours = || format!("agent://{agent}");
        let (by, kind, name) = match (asking_peer(required), &required.tool_name) {
            (Some((peer, remote_task_id)), _) => (peer.to_owned(), SubjectKind::PeerTask, remote_task_id.to_owned()),
            (None, Some(tool)) => (ours(), SubjectKind::Tool, tool.clone()),
            (None, None) => (ours(), SubjectKind::Action, action_id.map(ToString::to_string).unwrap_or_default()),
        };
        let (summary, arguments_digest) = (Some(required.prompt.clone()), required.arguments_digest.clone());
        Self { by, subject: PermissionSubject { kind, name, summary, arguments_digest } }
    }

    /// The same of an action that is open.
    pub(crate) fn in_session(state: &SessionState, action: &OpenAction) -> Self {
        let agent = agent_of(state, Some(&action.thread_id));
        Self::of(agent, Some(&action.action_id), &action.required)
    }
}

/// The agent that works in a thread.
pub(super) fn agent_of<'a>(state: &'a SessionState, thread_id: Option<&ThreadId>) -> &'a str {
    let thread = thread_id.and_then(|thread_id| state.thread(thread_id));
    let of_session = || state.shell.as_ref().map(|shell| shell.agent.as_str()).unwrap_or_default();
    thread.map_or_else(of_session, |thread| thread.agent.as_str())
}

pub(super) fn requested(asked: Asked, required: &ActionRequired) -> PermissionRequested {
    PermissionRequested {
        subject: asked.subject,
        mode: PermissionMode::OnRequest,
        requested_by: asked.by,
        prompt: required.prompt.clone(),
        rule_refs: Vec::new(),
        destructive: false,
        impact_scope: None,
        rollback_advice: None,
        expires_at: required.timeout_at,
    }
}

/// `None` where nobody decided: what was asked is not asked any more.
pub(super) fn resolved(
    subject: PermissionSubject,
    action_id: &ActionId,
    verdict: Verdict,
    answer: &Answer<'_>,
) -> Option<PermissionResolved> {
    let (decision_source, decision_reason) = match answer.source {
        ResolutionSource::Superseded => return None,
        ResolutionSource::Timeout => (DecisionSource::Timeout, "nobody decided in time"),
        ResolutionSource::AuthFailure => (DecisionSource::HostPolicy, "the credential was refused"),
        ResolutionSource::Policy => (DecisionSource::HostPolicy, "a policy decided"),
        ResolutionSource::Response => (DecisionSource::Human, "somebody answered"),
    };
    Some(PermissionResolved {
        subject,
        resolved_by: answer.by.to_owned(),
        resolution_source: answer.source,
        decision: PermissionDecision {
            decision: decided(verdict, answer.source),
            decision_source,
            decision_reason: decision_reason.to_owned(),
            rule_refs: Vec::new(),
            updated_input_ref: None,
            approval_action_id: Some(action_id.clone()),
            expires_at: None,
            scope: Some(GrantScope::Once),
            destructive: false,
            impact_scope: None,
            rollback_advice: None,
        },
    })
}

/// What a channel is told of a decision.
pub(super) fn decided(verdict: Verdict, source: ResolutionSource) -> Decided {
    match (source, verdict) {
        (ResolutionSource::Superseded, _) => Decided::Unavailable,
        (_, Verdict::Allow) => Decided::Allow,
        _ => Decided::Deny,
    }
}
