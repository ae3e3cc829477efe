//! Facts about large output: where it went, and what is no longer in it.

use jiff::Timestamp;

use crate::value::OutputRef;
use crate::wire::wire;

wire! {
    /// Output was too large for the log and is stored beside it.
    pub struct OutputSpilled {
        pub output: OutputRef,
        pub threshold_bytes: u64,
    }

    /// Only head and tail are shown or kept.
    pub struct OutputTruncated {
        pub output_ref: Option<String>,
        pub total_bytes: u64,
        pub head_bytes: u64,
        pub tail_bytes: u64,
        pub dropped_bytes: u64,
        pub reason: Option<String>,
    }

    /// Parts were taken out on purpose.
    pub struct OutputRedacted {
        pub output_ref: String,
        /// The redacted form, where it is stored apart.
        pub redacted_ref: Option<String>,
        pub redacted_by: String,
        pub redactions: u32,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub rule_refs: Vec<String>,
        pub reason: Option<String>,
    }

    /// The bytes are gone; the facts about them stay.
    pub struct OutputExpired {
        pub output_ref: String,
        pub digest: Option<String>,
        pub size: Option<u64>,
        pub expired_at: Timestamp,
        pub reason: Option<String>,
    }
}
