//! Facts about artifacts, evidence, context, limits, snapshots and the runtime itself.

use jiff::Timestamp;
use serde_json::Value;

use crate::value::{Metadata, OutputRef};
use crate::wire::{wire, words};

wire! {
    /// An artifact was produced or observed. The bytes are elsewhere.
    pub struct ArtifactChanged {
        pub name: Option<String>,
        pub change: ArtifactChange,
        pub version: u32,
        pub content: Option<OutputRef>,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub metadata: Metadata,
    }

    /// Evidence, a replay case or a review was exported or observed.
    pub struct EvidenceChanged {
        pub kind: String,
        pub pack_ref: Option<String>,
        pub replay_ref: Option<String>,
        pub review_ref: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub verification_outcomes: Vec<Value>,
    }

    /// What a turn sees.
    pub struct ContextResolved {
        #[serde(default)]
        pub selected: Vec<ContextRef>,
        #[serde(default)]
        pub left_out: Vec<ContextRef>,
        #[serde(default)]
        pub missing: Vec<String>,
        pub tokens: Option<u64>,
    }

    /// One selected or rejected piece of context.
    pub struct ContextRef {
        pub r#ref: String,
        pub kind: String,
        pub reason: Option<String>,
    }

    /// Compaction began.
    pub struct ContextCompactionStarted {
        pub trigger: String,
        #[serde(default)]
        pub affected_turns: Vec<String>,
        pub tokens_before: Option<u64>,
    }

    /// Compaction ended.
    pub struct ContextCompactionCompleted {
        pub summary_ref: Option<OutputRef>,
        pub tokens_before: Option<u64>,
        pub tokens_after: Option<u64>,
        /// Open actions, incidents, artifact and evidence refs that were kept.
        #[serde(default)]
        pub preserved: Vec<String>,
    }

    /// Compaction failed; the context is as it was.
    pub struct ContextCompactionFailed {
        pub error: crate::value::Failure,
    }

    /// A limit changed.
    pub struct LimitChanged {
        pub limit: String,
        pub scope: String,
        pub previous: Option<Value>,
        pub current: Option<Value>,
        pub reason: Option<String>,
    }

    /// A snapshot or read model changed.
    pub struct SnapshotUpdated {
        pub snapshot: String,
        pub as_of_sequence: u64,
    }

    /// Something is off, and work goes on.
    pub struct RuntimeWarning {
        pub code: String,
        pub message: String,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub details: Metadata,
    }

    /// Something is broken, and this work does not go on.
    pub struct RuntimeError {
        pub code: String,
        pub message: String,
        pub retryable: bool,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub details: Metadata,
    }

    /// The runtime started on this store. Vendor event.
    pub struct RuntimeStarted {
        pub version: String,
        /// Counts the starts on this store.
        pub epoch: u64,
        pub started_at: Timestamp,
        /// How many streams had unfinished work.
        pub unfinished: u64,
    }
}

words! {
    pub enum ArtifactChange {
        Created,
        Updated,
        Observed,
        Deleted,
    }
}
