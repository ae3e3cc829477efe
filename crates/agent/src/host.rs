//! What the loop needs of the shell: somewhere to record facts and keep bytes. Nothing else of the world.

use async_trait::async_trait;
use bytes::Bytes;
use factum_model::Event;
use factum_model::id::ToolCallId;
use factum_model::report::Report;
use factum_model::value::{Failure, OutputRef};

use crate::tools::ToolOutput;

/// The shell, as one run of one turn sees it.
///
/// ```text
///   loop ── report ──► shell ── decide, append, sync ──► facts ──► loop
/// ```
///
/// - Durability: a report returns when its facts are durable, with exactly those facts, in order. The loop does nothing
///   that a report announces before the report has returned.
/// - Ordering: reports of one run are recorded in the order in which they are made; reports made at the same time (of
///   tools that run together) in any order.
/// - Cancellation: the shell may drop the run at any await. What was reported stays; what was not did not happen.
#[async_trait]
pub trait Host: Send + Sync {
    /// Records an intent or an outcome.
    async fn report(&self, report: Report) -> Result<Vec<Event>, Stopped>;

    /// Keeps bytes that are too large for a fact. The same bytes again give the same reference.
    async fn put_blob(&self, media_type: &str, bytes: Bytes) -> Result<OutputRef, Stopped>;

    /// Gives work to an agent elsewhere and waits until it is over. The same call again is the same work: it is waited for,
    /// not begun again. A shell without peers says so.
    async fn delegate(
        &self,
        call: &ToolCallId,
        peer: &str,
        message: &str,
    ) -> Result<Result<ToolOutput, Failure>, Stopped> {
        let _ = (call, message);
        let message = format!("there is no peer named {peer:?} here");
        Ok(Err(Failure { category: "peer_unknown".to_owned(), message, retryable: false, advice: None }))
    }
}

/// The turn is no longer ours: it was interrupted, carried on elsewhere, or the store refuses writes. Stop quietly. One that
/// rests is nobody else's either: it goes on in a later run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the run was stopped: {reason}")]
pub struct Stopped {
    pub reason: String,
    /// Nothing more begins for now. What has begun may end first.
    pub rests: bool,
}

impl Stopped {
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), rests: false }
    }
}
