//! Permissions that cross a channel, as facts: that one is asked for, and what was decided of it (seed 000, "Remote permission
//! bridge"). Which channel, and in which direction, is said by those who have it.

use factum_model::Timestamp;
use factum_model::events::{PermissionRequested, PermissionResolved, ResolutionSource};
use factum_model::id::ActionId;
use factum_model::permission::{
    DecisionSource, GrantScope, PermissionDecision, PermissionMode, PermissionSubject, Verdict as Decided,
};

use super::respond_action::Answer;
use super::verdict::Verdict;

pub(super) fn requested(
    subject: PermissionSubject,
    requested_by: String,
    prompt: String,
    expires_at: Option<Timestamp>,
) -> PermissionRequested {
    PermissionRequested {
        subject,
        mode: PermissionMode::OnRequest,
        requested_by,
        prompt,
        rule_refs: Vec::new(),
        destructive: false,
        impact_scope: None,
        rollback_advice: None,
        expires_at,
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
