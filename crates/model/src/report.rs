//! What the world reports back: the outcomes of effects, as commands of the runtime to itself.
//!
//! A report is never on the wire. The agent loop produces them, the engine decides what they mean, and a report about a
//! turn that is over is refused, so a runner that lost its turn can do no harm.

use serde_json::Value;

use crate::events::{OnTimeout, Phase, ToolOwner};
use crate::id::{ModelRequestId, StepId, ThreadId, ToolCallId, TurnId};
use crate::value::{Effect, Failure, OutputRef, Usage};

/// Which run of which turn is speaking. A restart raises `attempt`, so that an older run is recognised.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Runner {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    pub attempt: u32,
}

/// One outcome or intent of a running turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// About to ask a model.
    ModelRequested(ModelIntent),
    /// Pieces of the answer, in order.
    ModelStreamed {
        request_id: ModelRequestId,
        step_id: StepId,
        chunks: Vec<Chunk>,
    },
    /// The answer is whole. Its tool calls and artifacts are recorded in the same commit, so none can be forgotten.
    ModelCompleted {
        request_id: ModelRequestId,
        step_id: StepId,
        answer: ModelAnswer,
    },
    ModelFailed {
        request_id: ModelRequestId,
        step_id: StepId,
        error: Failure,
        will_retry: bool,
    },
    /// About to run a tool with exactly the arguments of this digest.
    ToolRunning {
        tool_call_id: ToolCallId,
        arguments_digest: String,
    },
    ToolProgressed {
        tool_call_id: ToolCallId,
        message: Option<String>,
        percent: Option<u8>,
    },
    ToolFinished {
        tool_call_id: ToolCallId,
        outcome: ToolReport,
    },
    Status {
        phase: Phase,
        title: String,
        detail: Option<String>,
    },
    TurnFinished {
        outcome: TurnReport,
    },
}

/// Which model is about to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelIntent {
    pub provider: String,
    pub model: String,
    /// What asking again after a crash means.
    pub effect: Effect,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Chunk {
    /// `index` counts the text pieces of one request from 0.
    Text {
        text: String,
        index: u32,
    },
    Reasoning {
        text: String,
        index: u32,
    },
    ReasoningSummary {
        text: String,
    },
}

/// A model's whole answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelAnswer {
    /// The last pieces of it, in order, as far as they were not reported before.
    pub chunks: Vec<Chunk>,
    pub stop_reason: String,
    pub text: Option<String>,
    pub text_ref: Option<OutputRef>,
    pub usage: Usage,
    pub artifacts: Vec<ArtifactDraft>,
    pub calls: Vec<ToolDraft>,
    /// The turn has nothing more to do behind this answer. The engine may end it in the same commit; where it does not, the
    /// end is reported like any other.
    pub ends: Option<Ends>,
}

/// How an answer ends its turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ends {
    pub preview: Option<String>,
}

/// An artifact whose bytes are already kept.
#[derive(Clone, Debug, PartialEq)]
pub struct ArtifactDraft {
    pub name: Option<String>,
    pub content: OutputRef,
}

/// A tool call a model asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDraft {
    pub tool_name: String,
    pub arguments: Value,
    pub owner: ToolOwner,
    pub effect: Effect,
    pub gate: Gate,
    pub native_call_id: Option<String>,
}

/// What stands between a tool call and its run.
#[derive(Clone, Debug, PartialEq)]
pub enum Gate {
    Open,
    /// Somebody has to allow it.
    Approval {
        prompt: String,
        timeout_ms: Option<u64>,
        on_timeout: OnTimeout,
    },
    /// The call *is* a question: its answer is the result.
    Question {
        prompt: String,
        input_schema: Option<Value>,
        timeout_ms: Option<u64>,
        on_timeout: OnTimeout,
    },
}

#[allow(clippy::large_enum_variant, reason = "one at a time, and short-lived")]
#[derive(Clone, Debug, PartialEq)]
pub enum ToolReport {
    Succeeded {
        preview: Option<String>,
        structured_content: Option<Value>,
        result_ref: Option<OutputRef>,
        duration_ms: u64,
    },
    Failed {
        error: Failure,
        duration_ms: u64,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum TurnReport {
    Completed { stop_reason: String, preview: Option<String> },
    Failed { error: Failure },
}
