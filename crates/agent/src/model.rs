//! The seam to models: one request in, a stream of pieces and a whole answer out.
//!
//! What a provider speaks on its wire belongs behind this trait; when to ask, what to record and whether to try again
//! belongs to the loop.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use factum_model::events::{Phase, ToolEntry};
use factum_model::id::TurnId;
use factum_model::report::ToolDraft;
use factum_model::value::{Effect, Failure, Metadata, Part, Usage};

use crate::pieces::Pieces;
use crate::transcript::Transcript;

/// Something that answers.
///
/// The contract: `answer` gives its pieces to the sink in order and returns the rest of the answer once. It keeps no
/// memory between calls: the request carries all there is to know, so the same request may come again after a crash. It is
/// cancelled by dropping it. A panic is taken for a failure.
#[async_trait]
pub trait Model: Send + Sync {
    /// Who serves it, for the record.
    fn provider(&self) -> &str;

    /// Which model it is, for the record.
    fn name(&self) -> &str;

    /// What asking again after a crash means.
    fn effect(&self) -> Effect {
        Effect::Idempotent
    }

    /// Whether this input is worth a plain message back and no task that a peer could look at later. Asked before the
    /// turn runs; the turn is the same either way.
    fn replies_with_message(&self, _input: &[Part]) -> bool {
        false
    }

    /// The whole answer to a turn's first request, where knowing it takes nothing: no time, no traffic, nothing that anybody
    /// would notice. It may be asked before the turn is durable, and `answer` would say the same.
    fn at_once(&self, _turn: TurnView<'_>) -> Option<(Vec<Piece>, Answer)> {
        None
    }

    async fn answer(&self, request: ModelRequest<'_>, sink: &Sink) -> Result<Answer, Failure>;
}

/// What a model is asked.
#[derive(Clone, Copy)]
pub struct ModelRequest<'a> {
    pub turn: TurnView<'a>,
    /// What may be called.
    pub tools: &'a [ToolEntry],
    /// Which try of this round it is, from 1. Tries that a restart cut off do not count.
    pub attempt: u32,
}

/// A turn as models and tools see it: what was asked, and everything that has happened since.
#[derive(Clone, Copy)]
pub struct TurnView<'a> {
    pub turn_id: &'a TurnId,
    pub input: &'a [Part],
    pub options: &'a Metadata,
    pub transcript: &'a Transcript,
}

/// A whole answer, apart from the text that went through the sink.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// `end_turn`, `tool_use`, `length` or the provider's own word.
    pub stop_reason: String,
    pub usage: Usage,
    pub artifacts: Vec<Artifact>,
    pub calls: Vec<ToolDraft>,
}

/// Content to keep beside the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Artifact {
    pub name: Option<String>,
    pub media_type: String,
    pub content: ArtifactContent,
}

/// What an artifact is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum ArtifactContent {
    Bytes(Bytes),
    /// It is elsewhere, and nobody here has looked at it.
    Url(String),
}

/// One piece of an answer under way.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    Text(String),
    Reasoning(String),
    ReasoningSummary(String),
    Status { phase: Phase, title: String, detail: Option<String> },
}

/// Where a model puts the pieces of its answer. Waits when the log cannot keep up, so no answer is held in memory twice.
pub struct Sink {
    pieces: Arc<Pieces>,
}

impl Sink {
    pub(crate) fn new() -> (Sink, Arc<Pieces>) {
        let pieces = Arc::<Pieces>::default();
        (Sink { pieces: pieces.clone() }, pieces)
    }

    /// A piece of the answer's text.
    pub async fn text(&self, text: impl Into<String>) {
        self.put(Piece::Text(text.into())).await;
    }

    /// A piece of reasoning outside the answer.
    pub async fn reasoning(&self, text: impl Into<String>) {
        self.put(Piece::Reasoning(text.into())).await;
    }

    /// Reasoning in short.
    pub async fn reasoning_summary(&self, text: impl Into<String>) {
        self.put(Piece::ReasoningSummary(text.into())).await;
    }

    /// What is being done, for people.
    pub async fn status(&self, phase: Phase, title: impl Into<String>, detail: Option<String>) {
        self.put(Piece::Status { phase, title: title.into(), detail }).await;
    }

    async fn put(&self, piece: Piece) {
        self.pieces.put(piece).await;
    }
}
