//! Facts about processes. The envelope's `process_id` says which.

use crate::process::*;
use crate::value::{Effect, Failure, OutputRef};
use crate::wire::wire;

wire! {
    /// The intent to run a command, with what was decided about it.
    pub struct ProcessStarted {
        pub command: String,
        pub cwd: String,
        pub tty: bool,
        /// The operating system's number, where it is known.
        pub pid: Option<u32>,
        pub effect: Effect,
        pub facts: CommandFacts,
    }

    /// The process wrote something.
    pub struct ProcessOutput {
        pub stream: OutputStream,
        /// Where this piece begins in the stream, in bytes.
        pub offset: u64,
        pub size: u64,
        /// The piece itself, where it is small text.
        pub text: Option<String>,
        pub output_ref: Option<OutputRef>,
    }

    /// Somebody wrote to the process.
    pub struct ProcessInput {
        pub written_by: String,
        pub size: u64,
        pub text: Option<String>,
        pub input_ref: Option<OutputRef>,
        /// Whether stdin was closed behind it.
        #[serde(default)]
        pub closed: bool,
    }

    /// The process ended by itself. A code other than 0 is still an ending.
    pub struct ProcessCompleted {
        pub command: String,
        pub cwd: String,
        pub exit_code: i32,
        pub duration_ms: u64,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub output_refs: Vec<OutputRef>,
    }

    /// The process did not start, broke, or cannot be found again: `status` says which.
    pub struct ProcessFailed {
        pub status: ProcessStatus,
        pub error: Failure,
        pub exit_code: Option<i32>,
        pub signal: Option<String>,
        pub duration_ms: Option<u64>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub output_refs: Vec<OutputRef>,
    }

    /// The whole process tree was ended.
    pub struct ProcessTerminated {
        pub terminated_by: String,
        pub reason: Option<String>,
        pub signal: Option<String>,
        pub exit_code: Option<i32>,
        pub duration_ms: Option<u64>,
        /// How many processes the tree had.
        pub processes_ended: Option<u32>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub output_refs: Vec<OutputRef>,
    }
}
