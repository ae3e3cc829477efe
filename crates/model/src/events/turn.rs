//! Facts about turns, the turn queue and the visible status of a run.

use jiff::Timestamp;

use crate::id::{ChannelId, TurnId};
use crate::value::{Failure, Metadata, OnBusy, Part, Status, Usage};
use crate::wire::{wire, words};

wire! {
    /// Input was accepted and will be worked on.
    pub struct TurnSubmitted {
        pub input: Vec<Part>,
        /// The earlier fact of the session that says the input in full, where an agent is given again what is long: `input` then
        /// only says what it is about.
        pub input_sequence: Option<u64>,
        /// The principal that submitted it.
        pub source: String,
        pub agent: String,
        /// `accepted` or `queued`.
        pub status: Status,
        pub on_busy: OnBusy,
        pub idempotency_key: Option<String>,
        /// The remote channel that decides what this turn asks permission for.
        pub decided_through: Option<ChannelId>,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub options: Metadata,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub metadata: Metadata,
    }

    /// The turn became the active one of its thread.
    pub struct TurnStarted {
        pub status: Status,
        pub agent: String,
        /// 1 for the first start; more when a restart of the runtime carried it on.
        pub attempt: u32,
    }

    /// The turn is over and its facts are reconciled.
    pub struct TurnCompleted {
        pub status: Status,
        pub stop_reason: String,
        pub usage: Option<Usage>,
        /// The beginning of the answer, for lists.
        pub preview: Option<String>,
        pub steps: u32,
    }

    /// The turn ended without completing. `status` tells `failed`, `cancelled` and `timed_out` apart.
    pub struct TurnFailed {
        pub status: Status,
        pub error: Failure,
        /// The principal or component that ended it.
        pub ended_by: String,
        pub usage: Option<Usage>,
        pub steps: u32,
    }

    /// The queue of a thread changed. Carries the whole order.
    pub struct QueueChanged {
        pub change: QueueChange,
        /// The turn the change was about.
        pub changed_turn_id: Option<TurnId>,
        pub changed_by: String,
        pub reason: Option<String>,
        pub entries: Vec<QueueEntry>,
    }

    /// One turn that waits.
    pub struct QueueEntry {
        pub turn_id: TurnId,
        pub source: String,
        pub policy: OnBusy,
        pub enqueued_at: Timestamp,
    }

    /// What the runtime is doing, for people.
    pub struct RunStatus {
        pub phase: Phase,
        pub title: String,
        pub detail: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub checkpoints: Vec<String>,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub metadata: Metadata,
    }
}

words! {
    /// How the queue changed.
    pub enum QueueChange {
        Enqueued,
        Started,
        Removed,
        Promoted,
    }

    /// The coarse phase of work.
    pub enum Phase {
        Planning,
        Preparing,
        Working,
        Verifying,
        Delivering,
        Waiting,
        Recovering,
    }
}
