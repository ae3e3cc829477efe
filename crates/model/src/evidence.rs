//! What an export says of itself: which signals it holds and which it lacks (CONTRACT, "Output, history, evidence").

use crate::wire::{wire, words};

wire! {
    /// One kind of fact in an export.
    pub struct EvidenceSignal {
        /// Such as `timeline`, `permission`, `routing` or `process`.
        pub signal: String,
        pub status: SignalStatus,
        pub count: Option<u64>,
        pub note: Option<String>,
    }
}

words! {
    pub enum SignalStatus {
        Exported,
        NotApplicable,
        Unsupported,
        MissingCorrelation,
    }
}
