//! The seam to tools: what may be called, and running one call.
//!
//! Whether a call may run at all is decided before it comes here and recorded with it; a tool never asks for permission.

use async_trait::async_trait;
use factum_model::events::ToolEntry;
use factum_model::id::ToolCallId;
use factum_model::value::Failure;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::model::TurnView;

/// How many progress notes of one call wait for the ones before them to become durable. Beyond that the tool waits.
const NOTES_WAITING_MAX: usize = 16;

/// The tools of an agent.
///
/// The contract: `run` is called after the intent is durable, with exactly the arguments that were decided on. It may be
/// called again with the same `idempotency_key` after a crash where the call's effect allows that. It is cancelled by
/// dropping it. A failure is something the model gets to see, not the end of the turn; so is a panic.
#[async_trait]
pub trait Tools: Send + Sync {
    /// What may be called. The loop runs calls of read-only or concurrency-safe entries together, others one at a time.
    fn catalog(&self) -> Vec<ToolEntry>;

    async fn run(&self, call: &ToolInvocation<'_>, progress: &ProgressSink) -> Result<ToolOutput, Failure>;
}

/// The tool that gives work to an agent elsewhere: `{ peer, message }`. Not an agent's own; the shell runs it.
pub const DELEGATE_TOOL: &str = "delegate_to_peer";

/// One call to run.
pub struct ToolInvocation<'a> {
    pub id: &'a ToolCallId,
    pub name: &'a str,
    pub arguments: &'a Value,
    /// How often this call has been run, from 1.
    pub attempt: u32,
    /// The same for every run of this call, so that whoever is at the other end can tell a repetition.
    pub idempotency_key: &'a str,
    /// Which answer of the model asked for it, from 0.
    pub round: usize,
    /// Which call of that answer it is, from 0.
    pub index: usize,
    pub turn: TurnView<'a>,
}

/// What a tool gave back. Large results are moved to a blob by the loop, and a preview stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    pub text: Option<String>,
    pub structured: Option<Value>,
}

/// A note of a tool at work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Note {
    pub message: Option<String>,
    pub percent: Option<u8>,
}

/// Where a tool says how far it is.
pub struct ProgressSink {
    notes: mpsc::Sender<Note>,
}

impl ProgressSink {
    pub(crate) fn channel() -> (ProgressSink, mpsc::Receiver<Note>) {
        let (notes, receiver) = mpsc::channel(NOTES_WAITING_MAX);
        (ProgressSink { notes }, receiver)
    }

    pub async fn note(&self, message: Option<String>, percent: Option<u8>) {
        // Nobody listens only when the run was stopped, and then the tool is about to be dropped.
        self.notes.send(Note { message, percent }).await.ok();
    }
}
