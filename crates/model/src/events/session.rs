//! Facts about sessions and threads.

use crate::id::ThreadId;
use crate::value::{Metadata, Status};
use crate::wire::{wire, words};

wire! {
    /// A session began.
    pub struct SessionCreated {
        pub account_ref: String,
        pub created_by: String,
        /// The agent that answers where a turn names none.
        pub agent: String,
        pub title: Option<String>,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub metadata: Metadata,
    }

    /// Session metadata changed. Absent means unchanged.
    pub struct SessionUpdated {
        pub updated_by: String,
        pub title: Option<String>,
        /// The whole new metadata.
        pub metadata: Option<Metadata>,
    }

    /// An ordered execution context began.
    pub struct ThreadStarted {
        pub agent: String,
        pub origin: ThreadOrigin,
        pub title: Option<String>,
        pub parent_thread_id: Option<ThreadId>,
    }

    /// A thread's state changed in a way its read model shows.
    pub struct ThreadUpdated {
        pub status: Status,
        pub reason: Option<String>,
    }
}

words! {
    /// Why a thread exists.
    pub enum ThreadOrigin {
        Session,
        Subagent,
        Delegation,
        /// Opened for an attempt of a task.
        Task,
        /// Opened for the items of a job.
        Job,
    }
}
