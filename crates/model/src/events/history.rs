//! Facts about reading old history, rebuilding state and taking turns back.

use crate::id::*;
use crate::wire::{wire, words};

wire! {
    /// Sequences a reader cannot be given.
    #[derive(Eq)]
    pub struct Gap {
        pub from_sequence: u64,
        /// Inclusive.
        pub to_sequence: u64,
        pub reason: String,
    }

    /// A window of old history was loaded.
    pub struct HistoryWindowLoaded {
        pub from_sequence: u64,
        pub to_sequence: u64,
        pub count: u64,
        /// Where older history continues.
        pub before: Option<u64>,
        pub degraded: bool,
    }

    /// State was rebuilt from the log.
    pub struct HistoryReconstructed {
        pub source: ReconstructionSource,
        pub from_sequence: u64,
        pub to_sequence: u64,
        pub degraded: bool,
        /// What could not be recovered.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub missing: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub gaps: Vec<Gap>,
        pub duration_ms: Option<u64>,
    }

    /// Turns are about to be taken back.
    pub struct HistoryRollbackStarted {
        pub requested_by: String,
        pub reason: Option<String>,
        /// The last turn that stays; absent where none does.
        pub target_turn_id: Option<TurnId>,
        pub target_sequence: u64,
        pub removed_turns: Vec<TurnId>,
    }

    /// Turns were taken back. The log keeps them; the read models do not show them.
    pub struct HistoryRollbackCompleted {
        pub target_turn_id: Option<TurnId>,
        /// The sequence the thread stands on now.
        pub baseline_sequence: u64,
        pub removed_turns: Vec<TurnId>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub affected_tool_calls: Vec<ToolCallId>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub affected_artifacts: Vec<ArtifactId>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub affected_subagents: Vec<SubagentId>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub affected_jobs: Vec<JobId>,
        /// Read models that were rebuilt.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub repaired: Vec<String>,
    }

    /// A snapshot or a reader's view was made whole again, and what it lacks is named.
    pub struct SnapshotRepaired {
        pub snapshot: String,
        pub as_of_sequence: u64,
        pub reason: String,
        pub gap: Option<Gap>,
        pub degraded: bool,
    }
}

words! {
    /// What state was rebuilt from.
    pub enum ReconstructionSource {
        Log,
        SnapshotAndLog,
    }
}
