//! Commands that export evidence, replay cases and reviews. All three come from the log and carry its hash.

use crate::evidence::EvidenceSignal;
use crate::id::*;
use crate::value::OutputRef;
use crate::wire::wire;

wire! {
    /// Export an evidence pack.
    pub struct ExportEvidence {
        pub session_id: SessionId,
        pub thread_id: Option<ThreadId>,
        pub turn_id: Option<TurnId>,
        pub task_id: Option<TaskId>,
        /// Facts up to this sequence; all of them where absent.
        pub as_of: Option<u64>,
        pub idempotency_key: Option<String>,
    }

    pub struct ExportEvidenceResult {
        pub evidence_id: EvidenceId,
        pub pack_ref: OutputRef,
        pub signals: Vec<EvidenceSignal>,
        /// Only what applies and is not there.
        pub known_gaps: Vec<String>,
        /// The log's hash at `as_of_sequence`.
        pub log_hash: String,
        pub as_of_sequence: u64,
        pub sequence: u64,
    }

    /// Export a replay case that can be run.
    pub struct ExportReplay {
        pub session_id: SessionId,
        pub thread_id: Option<ThreadId>,
        pub turn_id: Option<TurnId>,
        pub task_id: Option<TaskId>,
        pub as_of: Option<u64>,
        /// For whoever grades the replay.
        pub grader_notes: Option<String>,
        pub idempotency_key: Option<String>,
    }

    pub struct ExportReplayResult {
        pub evidence_id: EvidenceId,
        pub replay_ref: OutputRef,
        pub known_gaps: Vec<String>,
        pub log_hash: String,
        pub as_of_sequence: u64,
        pub sequence: u64,
    }

    /// Export a review template with findings and audit refs.
    pub struct ExportReview {
        pub session_id: SessionId,
        pub thread_id: Option<ThreadId>,
        pub turn_id: Option<TurnId>,
        pub task_id: Option<TaskId>,
        pub as_of: Option<u64>,
        pub idempotency_key: Option<String>,
    }

    pub struct ExportReviewResult {
        pub evidence_id: EvidenceId,
        pub review_ref: OutputRef,
        pub known_gaps: Vec<String>,
        pub log_hash: String,
        pub as_of_sequence: u64,
        pub sequence: u64,
    }
}
