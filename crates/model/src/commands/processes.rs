//! Commands that reach into running processes.

use crate::id::ProcessId;
use crate::process::ProcessStatus;
use crate::wire::wire;

wire! {
    /// Write to a process.
    pub struct WriteProcessStdin {
        pub process_id: ProcessId,
        /// Text; may be empty where only `close` is meant.
        #[serde(default)]
        pub input: String,
        /// Close stdin behind it.
        #[serde(default)]
        pub close: bool,
        pub idempotency_key: Option<String>,
    }

    /// End a process and everything it started.
    pub struct TerminateProcess {
        pub process_id: ProcessId,
        pub reason: Option<String>,
        /// How long it may take to end by itself.
        pub grace_ms: Option<u64>,
        pub idempotency_key: Option<String>,
    }

    /// Where a process stands after a command.
    pub struct ProcessResult {
        pub process_id: ProcessId,
        pub status: ProcessStatus,
        pub sequence: u64,
    }
}
