//! Hooks: where they run, what they may say, and what happens when one breaks (CONTRACT, "Hooks").

use crate::wire::words;

words! {
    /// Where a hook runs.
    pub enum HookPoint {
        SessionStart,
        UserPromptSubmit,
        PreToolUse,
        PermissionRequest,
        PostToolUse,
        PostToolFailure,
        PostSampling,
        Stop,
    }

    /// What a hook is for, and so how it fails.
    pub enum HookPurpose {
        /// Fails closed.
        Governance,
        /// Fails open, with a warning.
        Context,
    }

    /// How a hook is reached.
    pub enum HookHandler {
        /// A command fed JSON on stdin.
        Command,
        Webhook,
    }

    /// What a hook said.
    pub enum HookOutcome {
        Continue,
        Block,
        Allow,
        Deny,
        Ask,
    }

    /// What a broken hook means for the work it watched.
    pub enum FailureBehavior {
        FailClosed,
        FailOpen,
    }
}
