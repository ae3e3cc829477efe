//! Permissions: what is asked, under which mode, and what was decided by whom (CONTRACT, "Permission and sandbox").
//!
//! Vocabulary only; the rules are evaluated in `agent`. Deny and ask always beat allow.

use jiff::Timestamp;

use crate::wire::{wire, words};

wire! {
    /// What somebody wants to do.
    pub struct PermissionSubject {
        pub kind: SubjectKind,
        /// The tool's name, the program, the host, the path or the peer task.
        pub name: String,
        /// What is about to happen, safe to show.
        pub summary: Option<String>,
        /// What an approval is bound to.
        pub arguments_digest: Option<String>,
    }

    /// The answer to a permission question, with everything that led to it.
    pub struct PermissionDecision {
        pub decision: Verdict,
        pub decision_source: DecisionSource,
        pub decision_reason: String,
        /// Every rule that matched, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub rule_refs: Vec<String>,
        pub updated_input_ref: Option<String>,
        pub approval_action_id: Option<crate::id::ActionId>,
        pub expires_at: Option<Timestamp>,
        pub scope: Option<GrantScope>,
        #[serde(default)]
        pub destructive: bool,
        pub impact_scope: Option<String>,
        pub rollback_advice: Option<String>,
    }
}

words! {
    /// How much is asked about.
    #[derive(Default)]
    pub enum PermissionMode {
        #[default]
        Default,
        Untrusted,
        OnRequest,
        OnFailure,
        Never,
        Plan,
        Bypass,
        Auto,
    }

    pub enum Verdict {
        Allow,
        Deny,
        Ask,
        Unavailable,
        /// Allowed inside the sandbox only.
        Sandboxed,
    }

    /// What decided. The first eight stand in order of power.
    pub enum DecisionSource {
        HostPolicy,
        DenyRule,
        AskRule,
        /// A hook that denied or asked.
        Hook,
        Classifier,
        Mode,
        AllowRule,
        /// A hook that allowed: it never overrides a deny or ask.
        HookAllow,
        /// A person answered the action.
        Human,
        Timeout,
        /// The caller cannot be asked, so ask became deny.
        NonInteractive,
    }

    pub enum SubjectKind {
        Tool,
        Process,
        Action,
        Network,
        Path,
        PeerTask,
    }

    /// How long a decision holds.
    pub enum GrantScope {
        Once,
        Turn,
        Task,
        Thread,
        Session,
        Channel,
        Always,
    }
}
