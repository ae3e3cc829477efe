//! A model that follows a script.

use std::sync::Arc;

use async_trait::async_trait;
use factum_model::value::{Effect, Failure, Part, text_of};
use tokio::time::Instant;

use super::Script;
use super::entry::Reply;
use super::play::{End, Play, plan};
use super::say::{Pace, sleep_to};
use crate::model::{Answer, Model, ModelRequest, Piece, Sink, TurnView};

/// Answers as its script says. Keeps nothing: where it stands is read from the transcript.
pub struct ScriptModel {
    script: Arc<Script>,
}

impl ScriptModel {
    pub fn new(script: Arc<Script>) -> Self {
        Self { script }
    }
}

#[async_trait]
impl Model for ScriptModel {
    fn provider(&self) -> &str {
        "script"
    }

    fn name(&self) -> &str {
        &self.script.name
    }

    fn effect(&self) -> Effect {
        Effect::Idempotent
    }

    fn replies_with_message(&self, input: &[Part]) -> bool {
        self.script.entry_for(&text_of(input)).is_some_and(|(entry, _)| entry.reply == Reply::Message)
    }

    /// A script that neither waits nor calls anything is known to its end.
    fn at_once(&self, turn: TurnView<'_>) -> Option<(Vec<Piece>, Answer)> {
        let plan = plan(&self.script, turn, &turn.transcript.rounds)?;
        let End::Stop(stop_reason) = plan.end else { return None };
        let mut answer = Answer { stop_reason, ..Answer::default() };
        let mut pieces = Vec::new();
        for play in plan.plays {
            match play {
                Play::Say { text, pace } if pace.takes_no_time() => {
                    pieces.extend(pace.pieces(&text).into_iter().map(|(_, piece)| Piece::Text(piece.to_owned())));
                }
                Play::Reason(text) => pieces.push(Piece::Reasoning(text)),
                Play::Summarize(text) => pieces.push(Piece::ReasoningSummary(text)),
                Play::Use(usage) => answer.usage = answer.usage.plus(&usage),
                _ => return None,
            }
        }
        Some((pieces, answer))
    }

    async fn answer(&self, request: ModelRequest<'_>, sink: &Sink) -> Result<Answer, Failure> {
        let rounds = &request.turn.transcript.rounds;
        let plan = plan(&self.script, request.turn, rounds).ok_or_else(|| self.no_entry())?;
        let mut answer = Answer::default();
        for play in plan.plays {
            match play {
                Play::Artifact(artifact) => answer.artifacts.push(artifact),
                Play::Use(usage) => answer.usage = answer.usage.plus(&usage),
                Play::Fail { times: Some(times), .. } if u64::from(request.attempt) > times => {}
                Play::Fail { error, .. } => return Err(error),
                Play::Wait(None) => std::future::pending().await,
                // Boxed: many answers wait for ever, and saying something needs room of its own.
                audible => Box::pin(perform(audible, sink)).await,
            }
        }
        match plan.end {
            End::Calls(calls) => {
                answer.stop_reason = "tool_use".to_owned();
                answer.calls = calls.into_iter().map(|call| call.draft).collect();
            }
            End::Stop(reason) => answer.stop_reason = reason,
        }
        Ok(answer)
    }
}

impl ScriptModel {
    fn no_entry(&self) -> Failure {
        Failure {
            category: "script_no_entry".to_owned(),
            message: format!("the script {:?} has no entry for this input", self.script.name),
            retryable: false,
            advice: Some("add an [[on]] entry with any = true at the end of the script".to_owned()),
        }
    }
}

/// Does what somebody sees: pieces and pauses.
async fn perform(play: Play, sink: &Sink) {
    match play {
        Play::Say { text, pace } => say(&text, pace, sink).await,
        Play::Reason(text) => sink.reasoning(text).await,
        Play::Summarize(text) => sink.reasoning_summary(text).await,
        Play::Status { phase, title, detail } => sink.status(phase, title, detail).await,
        Play::Wait(Some(time)) => sleep_to(Instant::now(), time).await,
        Play::Wait(None) | Play::Artifact(_) | Play::Use(_) | Play::Fail { .. } => {}
    }
}

/// Pieces are due at times counted from the first one, so that waiting for the disk does not add up.
async fn say(text: &str, pace: Pace, sink: &Sink) {
    let start = Instant::now();
    for (due, piece) in pace.pieces(text) {
        sleep_to(start, due).await;
        sink.text(piece).await;
    }
}
