//! Commands about sessions, threads and their history.

use jiff::Timestamp;
use serde_json::value::RawValue;

use crate::id::{SessionId, ThreadId};
use crate::read::{QueueSnapshot, SessionSnapshot, ThreadReadModel};
use crate::value::Metadata;
use crate::wire::wire;

wire! {
    /// Create a session before its first turn.
    pub struct CreateSession {
        /// Your own id; unique in your account.
        pub session_id: Option<SessionId>,
        pub title: Option<String>,
        /// The agent that answers where a turn names none.
        pub agent: Option<String>,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub metadata: Metadata,
        pub idempotency_key: Option<String>,
    }

    pub struct CreateSessionResult {
        pub session_id: SessionId,
        pub thread_id: ThreadId,
        pub sequence: u64,
    }

    /// Change a session's title or metadata.
    pub struct UpdateSession {
        pub session_id: SessionId,
        pub title: Option<String>,
        /// Replaces the whole metadata.
        pub metadata: Option<Metadata>,
        pub idempotency_key: Option<String>,
    }

    pub struct UpdateSessionResult {
        pub session_id: SessionId,
        pub sequence: u64,
    }

    /// The durable snapshot of a session, with a window of recent steps.
    pub struct GetSession {
        pub session_id: SessionId,
        pub window: Option<Window>,
        /// As it was at this sequence; the newest where absent. An older state is folded from the log: it takes time with the
        /// number of events before it, and is refused when `request_timeout_ms` is over.
        pub as_of: Option<u64>,
    }

    /// How much history to show.
    pub struct Window {
        /// 1 to 200; 20 where absent.
        pub limit: Option<u32>,
        /// Only what stands before this sequence.
        pub before: Option<u64>,
    }

    /// Sessions of the account, newest first.
    pub struct ListSessions {
        /// 1 to 200; 50 where absent.
        pub limit: Option<u32>,
        pub cursor: Option<String>,
    }

    pub struct ListSessionsResult {
        pub sessions: Vec<SessionSummary>,
        pub next_cursor: Option<String>,
    }

    pub struct SessionSummary {
        pub session_id: SessionId,
        pub title: Option<String>,
        pub agent: String,
        pub created_by: String,
        pub created_at: Timestamp,
    }

    /// The current state of a thread.
    pub struct GetThreadRead {
        pub session_id: SessionId,
        /// The main thread where absent.
        pub thread_id: Option<ThreadId>,
        /// As it was at this sequence, as for `get_session`.
        pub as_of: Option<u64>,
    }

    /// The turns that wait in a thread.
    pub struct GetQueue {
        pub session_id: SessionId,
        pub thread_id: Option<ThreadId>,
        /// As it was at this sequence, as for `get_session`.
        pub as_of: Option<u64>,
    }

    /// A page of a session's events: forward from `after`, or backward from `before`.
    pub struct ReadEvents {
        pub session_id: SessionId,
        pub after: Option<u64>,
        pub before: Option<u64>,
        /// 1 to 1000; 100 where absent.
        pub limit: Option<u32>,
    }
}

/// A page of events, as they were stored.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct EventPage {
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub events: Vec<Box<RawValue>>,
    /// Where the next forward page starts.
    pub next_after: u64,
    pub has_more: bool,
}

/// Shorthands for the results that are read models.
pub type GetSessionResult = SessionSnapshot;
pub type GetThreadReadResult = ThreadReadModel;
pub type GetQueueResult = QueueSnapshot;
