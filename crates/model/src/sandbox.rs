//! Sandbox profiles: what a process may reach. What the kernel really enforces is said by `mechanism` and `degraded`.

use crate::wire::{wire, words};

wire! {
    /// The boundaries of an execution.
    pub struct SandboxProfile {
        pub mode: SandboxMode,
        pub cwd: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub read_roots: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub write_roots: Vec<String>,
        pub network: NetworkPolicy,
        pub environment_ref: Option<String>,
        pub process_limits: Option<ProcessLimits>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub violation_refs: Vec<String>,
        /// What enforces it, such as `landlock:6`, `seccomp`, `namespaces`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub mechanism: Vec<String>,
        /// Whether less is enforced than was asked for.
        pub degraded: bool,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub degraded_reasons: Vec<String>,
    }

    pub struct NetworkPolicy {
        pub access: NetworkAccess,
        /// Only these, where `restricted`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub allowed_hosts: Vec<String>,
    }

    /// Bounds of one process tree.
    #[derive(Default)]
    pub struct ProcessLimits {
        pub wall_time_ms: Option<u64>,
        pub cpu_time_ms: Option<u64>,
        pub memory_bytes: Option<u64>,
        pub processes: Option<u32>,
        pub open_files: Option<u32>,
        pub output_bytes: Option<u64>,
    }
}

words! {
    pub enum SandboxMode {
        ReadOnly,
        WorkspaceWrite,
        FullAccess,
        /// Somebody else's boundary, such as a container around the runtime.
        External,
        /// None at all.
        Off,
    }

    pub enum NetworkAccess {
        None,
        Restricted,
        Full,
    }

    pub enum ViolationKind {
        Read,
        Write,
        Network,
        Process,
        Syscall,
        Limit,
    }

    /// What was done about a violation.
    pub enum Enforcement {
        Blocked,
        Killed,
        /// It went through and is only recorded.
        Recorded,
    }
}
