//! What to do next, as a function of the facts alone. The one place where the course of a turn is decided.

use factum_model::events::ToolEntry;
use factum_model::id::ToolCallId;
use factum_model::report::TurnReport;
use factum_model::value::Failure;

use crate::transcript::{Call, CallState, Round, Transcript};

/// How many answers a turn may take. The engine has a bound of its own behind this one.
pub const MODEL_ROUNDS_MAX: usize = 200;
/// How many calls run together.
pub const CALLS_AT_ONCE_MAX: usize = 8;
/// How many characters of the answer stand for it in lists.
const PREVIEW_CHARS: usize = 200;

/// The next thing to do with a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Nothing: it has ended.
    Over,
    /// Nothing yet: somebody has to decide or answer.
    Wait,
    /// Run these calls, together where there are several.
    Run(Vec<ToolCallId>),
    AskModel,
    /// End it.
    Finish(TurnReport),
    /// An earlier run left something open; the engine's recovery has to say what became of it, not a guess here.
    Recover,
}

/// Decides. Calls that can run go first, so that nobody's decision holds up work that needs none.
pub fn next(transcript: &Transcript, catalog: &[ToolEntry]) -> Next {
    if transcript.over {
        return Next::Over;
    }
    if transcript.request.is_some() || transcript.calls().any(|call| call.state == CallState::Running) {
        return Next::Recover;
    }
    let ready = ready_calls(transcript, catalog);
    if !ready.is_empty() {
        return Next::Run(ready);
    }
    let waiting = transcript.calls().find(|call| call.state == CallState::Waiting);
    match (waiting, transcript.open_actions.is_empty()) {
        (_, false) => Next::Wait,
        (Some(call), true) => fail(nobody_asked(call)),
        (None, true) => next_round(transcript),
    }
}

/// What would be next behind a whole answer to the open request. The transcript is left as it was.
pub(crate) fn next_behind(transcript: &mut Transcript, answer: Round, catalog: &[ToolEntry]) -> Next {
    let (request, failure) = (transcript.request.take(), transcript.failure.take());
    transcript.rounds.push(answer);
    let next = next(transcript, catalog);
    transcript.rounds.pop();
    (transcript.request, transcript.failure) = (request, failure);
    next
}

/// Nothing is open: ask again, or be done.
fn next_round(transcript: &Transcript) -> Next {
    if let Some(failure) = transcript.failure.as_ref().filter(|failure| !failure.will_retry) {
        return fail(failure.error.clone());
    }
    match transcript.rounds.last() {
        Some(round) if round.calls.is_empty() => {
            Next::Finish(TurnReport::Completed { stop_reason: round.stop_reason.clone(), preview: preview(transcript) })
        }
        _ if transcript.rounds.len() >= MODEL_ROUNDS_MAX => fail(too_many_rounds()),
        _ => Next::AskModel,
    }
}

/// The first calls that can run: one, or all of a row that may run together.
fn ready_calls(transcript: &Transcript, catalog: &[ToolEntry]) -> Vec<ToolCallId> {
    let together = |call: &Call| {
        let entry = catalog.iter().find(|entry| entry.tool_name == call.tool_name);
        entry.is_some_and(|entry| entry.is_read_only || entry.is_concurrency_safe)
    };
    let mut ready = transcript.calls().filter(|call| call.state == CallState::Ready);
    let Some(first) = ready.next() else { return Vec::new() };
    let mut ids = vec![first.id.clone()];
    if together(first) {
        ids.extend(ready.take_while(|call| together(call)).take(CALLS_AT_ONCE_MAX - 1).map(|call| call.id.clone()));
    }
    ids
}

/// The beginning of the last words, for lists.
fn preview(transcript: &Transcript) -> Option<String> {
    let text = transcript.rounds.iter().rev().map(|round| round.text.trim()).find(|text| !text.is_empty())?;
    let mut preview: String = text.chars().take(PREVIEW_CHARS).collect();
    if preview.len() < text.len() {
        preview.push('…');
    }
    Some(preview)
}

fn fail(error: Failure) -> Next {
    Next::Finish(TurnReport::Failed { error })
}

fn too_many_rounds() -> Failure {
    Failure {
        category: "model_rounds_exceeded".to_owned(),
        message: format!("the model was asked {MODEL_ROUNDS_MAX} times in this turn and still wants to go on"),
        retryable: false,
        advice: Some(
            "split the work into several turns, or look for a model that calls the same tool forever".to_owned(),
        ),
    }
}

fn nobody_asked(call: &Call) -> Failure {
    Failure {
        category: "runtime_error".to_owned(),
        message: format!("the tool call {} waits for a decision that nobody is asked for", call.id),
        retryable: false,
        advice: Some("this is a bug of the runtime; the facts of the turn show how it came about".to_owned()),
    }
}
