//! Facts about what executions were really confined to.

use crate::sandbox::*;
use crate::wire::wire;

wire! {
    /// The boundaries that are in force, as the kernel took them.
    pub struct SandboxApplied {
        /// What was asked for.
        pub requested_mode: SandboxMode,
        #[serde(flatten)]
        pub profile: SandboxProfile,
    }

    /// Something reached over its boundary.
    pub struct SandboxViolation {
        pub violation_ref: Option<String>,
        pub kind: ViolationKind,
        /// The path, host, program, call or limit.
        pub target: String,
        pub enforcement: Enforcement,
        pub message: Option<String>,
    }
}
