//! An answer that takes nothing to know: it is there before the turn's first commit is, and goes into it.
//!
//! Only for what no one could notice being done: a model that would have to wait, pay or tell somebody is asked by the loop,
//! when the intent to ask it is durable.

use std::panic::{AssertUnwindSafe, catch_unwind};

use factum_model::report::{ModelAnswer, Report};
use factum_model::value::{Metadata, Part};

use crate::agents::Agent;
use crate::ask::{TEXT_INLINE_BYTES_MAX, add_texts, ends};
use crate::model::TurnView;
use crate::pieces::Numbered;
use crate::transcript::Transcript;

/// An answer of more pieces than this is left to the loop, which records them bit by bit.
const PIECES_MAX: usize = 64;

/// What the agent has to report of a turn that was just submitted and announces its first request, if that is known at once.
/// The same as the loop would report.
pub fn at_once(agent: &Agent, input: &[Part], options: &Metadata, mut transcript: Transcript) -> Option<Report> {
    let open = transcript.request.as_ref()?;
    let (request_id, step_id) = (open.request_id.clone(), open.step_id.clone());
    let turn = TurnView { turn_id: transcript.turn_id(), input, options, transcript: &transcript };
    // The loop tells of a panic; here it only means that nothing is known.
    let (pieces, answer) = catch_unwind(AssertUnwindSafe(|| agent.model.at_once(turn))).ok()??;
    if pieces.len() > PIECES_MAX || !answer.calls.is_empty() || !answer.artifacts.is_empty() {
        return None;
    }
    let mut numbered = Numbered::default();
    let chunks = pieces.into_iter().map(|piece| numbered.chunk(piece)).collect::<Result<Vec<_>, _>>().ok()?;
    if numbered.bytes > TEXT_INLINE_BYTES_MAX {
        return None;
    }
    let mut text = String::new();
    add_texts(&mut text, &chunks);
    let ends = ends(&mut transcript, &[], &text, &answer.stop_reason);
    let text = Some(text).filter(|text| !text.is_empty());
    let (stop_reason, usage) = (answer.stop_reason, answer.usage);
    let answer =
        ModelAnswer { chunks, stop_reason, text, text_ref: None, usage, artifacts: vec![], calls: vec![], ends };
    Some(Report::ModelCompleted { request_id, step_id, answer })
}
