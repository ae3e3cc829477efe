//! Processes: what is known of a command before it starts, and of a process while and after it runs.

use jiff::Timestamp;

use crate::id::*;
use crate::permission::Verdict;
use crate::sandbox::{NetworkAccess, SandboxMode};
use crate::value::OutputRef;
use crate::wire::{wire, words};

wire! {
    /// What was known and decided before the process started (CONTRACT, "Command facts").
    pub struct CommandFacts {
        /// Safe to show: no secrets, no raw environment.
        pub summary: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub subcommands: Vec<String>,
        pub destructive: bool,
        pub decision: Verdict,
        pub sandbox_mode: SandboxMode,
        pub path_check: PathCheck,
        pub network: NetworkAccess,
        pub justification: Option<String>,
    }

    /// A process as it stands now.
    pub struct ProcessRecord {
        pub process_id: ProcessId,
        pub session_id: Option<SessionId>,
        pub thread_id: Option<ThreadId>,
        pub tool_call_id: Option<ToolCallId>,
        pub command: String,
        pub cwd: String,
        pub tty: bool,
        pub status: ProcessStatus,
        pub exit_code: Option<i32>,
        pub signal: Option<String>,
        pub duration_ms: Option<u64>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub output_refs: Vec<OutputRef>,
        pub started_at: Timestamp,
        pub ended_at: Option<Timestamp>,
    }
}

words! {
    /// Where a process stands. After a restart it is said to be exited, unknown or unrecoverable.
    pub enum ProcessStatus {
        Starting,
        Running,
        Exited,
        Failed,
        Terminated,
        Unknown,
        Unrecoverable,
    }

    /// Whether the command's paths stay inside what the profile allows.
    pub enum PathCheck {
        Inside,
        Outside,
        Unknown,
    }

    pub enum OutputStream {
        Stdout,
        Stderr,
        /// Both, as a terminal shows them.
        Tty,
    }
}
