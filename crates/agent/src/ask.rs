//! One request to the model: intent, pieces, outcome.
//!
//! Pieces become durable in batches: while one report is on its way to the disk, the pieces that come in wait, and all of
//! them go into the next one; the last ones go with the whole answer, and the end of the turn too where nothing is left to
//! do. A slow disk makes larger commits, not a longer queue. Each piece stays a fact of its own, so what readers see does
//! not depend on how fast the disk was.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use bytes::Bytes;
use factum_model::Event;
use factum_model::events::ToolEntry;
use factum_model::id::{ModelRequestId, StepId};
use factum_model::report::{ArtifactDraft, Chunk, Ends, ModelAnswer, Report, TurnReport};
use factum_model::value::{Failure, OutputRef};
use futures::FutureExt;

use crate::host::{Host, Stopped};
use crate::model::{Answer, ArtifactContent, ModelRequest, Piece, Sink};
use crate::next::{Next, next_behind};
use crate::panic::panic_text;
use crate::pieces::{Numbered, Pieces, Taken};
use crate::transcript::{INTERRUPTED, Round, Transcript};
use crate::turn::Run;

/// How often one round is tried before the turn fails.
pub const MODEL_TRIES_MAX: u32 = 4;
/// The pause before the second try; each further one is twice as long.
const RETRY_DELAY_FIRST: Duration = Duration::from_millis(250);
/// How long the text of one answer may get.
pub const ANSWER_BYTES_MAX: usize = 16 << 20;
/// A text up to this size stands in the fact that ends the answer; a longer one becomes a blob.
pub(crate) const TEXT_INLINE_BYTES_MAX: usize = 16 << 10;
/// How many calls one answer may ask for. The engine has a bound of its own behind this one.
pub const CALLS_PER_ANSWER_MAX: usize = 64;
/// How many artifacts one answer may bring.
const ARTIFACTS_PER_ANSWER_MAX: usize = 64;
/// How large the arguments of one call may be, as JSON.
const ARGUMENTS_BYTES_MAX: usize = 1 << 20;

impl Run<'_> {
    /// Records the intent to ask the model.
    pub(crate) async fn announce(&mut self) -> Result<(), Stopped> {
        pause_before(self.transcript.failed_tries).await;
        self.report(Report::ModelRequested(self.agent.opening())).await
    }

    /// Asks the model, as was announced, and records what came of it.
    pub(crate) async fn answer(&mut self) -> Result<(), Stopped> {
        let Some(open) = &self.transcript.request else {
            return Err(Stopped::new("the intent to ask the model was recorded without ids"));
        };
        let (request_id, step_id) = (open.request_id.clone(), open.step_id.clone());
        let streamed = self.stream(&request_id, &step_id).await?;
        Box::pin(self.answered(request_id, step_id, streamed)).await
    }

    async fn answered(
        &mut self,
        request_id: ModelRequestId,
        step_id: StepId,
        Streamed { answer, rest }: Streamed,
    ) -> Result<(), Stopped> {
        let report = match answer.and_then(checked) {
            Ok(answer) => {
                let answer = self.kept(answer, rest).await?;
                Report::ModelCompleted { request_id, step_id, answer }
            }
            Err(error) => {
                if !rest.is_empty() {
                    let (request_id, step_id) = (request_id.clone(), step_id.clone());
                    self.report(Report::ModelStreamed { request_id, step_id, chunks: rest }).await?;
                }
                let will_retry = error.retryable && self.transcript.failed_tries + 1 < MODEL_TRIES_MAX;
                Report::ModelFailed { request_id, step_id, error: told_apart(error), will_retry }
            }
        };
        self.report(report).await
    }

    /// Lets the model answer and makes its pieces durable meanwhile. Whichever of the two gives up ends the other.
    async fn stream(&mut self, request_id: &ModelRequestId, step_id: &StepId) -> Result<Streamed, Stopped> {
        let (sink, pieces) = Sink::new();
        let model = &self.agent.model;
        let request =
            ModelRequest { turn: self.view(), tools: &self.catalog, attempt: self.transcript.failed_tries + 1 };
        let answer = AssertUnwindSafe(model.answer(request, &sink)).catch_unwind();
        let answering = async {
            let answer = answer.await;
            pieces.close();
            Ok(answer.unwrap_or_else(|panic| Err(model_error(format!("the model panicked: {}", panic_text(&*panic))))))
        };
        let mut pump = Pump { host: self.host, request_id, step_id, numbered: Numbered::default(), events: Vec::new() };
        let streamed = tokio::try_join!(answering, pump.run(&pieces));
        let events = pump.events;
        self.transcript.extend(&events);
        match streamed {
            Ok((answer, rest)) => Ok(Streamed { answer, rest }),
            Err(Cut::TooLong) => {
                let answer = Err(model_error(format!("the answer is longer than {ANSWER_BYTES_MAX} bytes")));
                Ok(Streamed { answer, rest: Vec::new() })
            }
            Err(Cut::Stopped(stopped)) => Err(stopped),
        }
    }

    /// Keeps what is too large for a fact. Bytes go first: a fact never refers to what is not there.
    async fn kept(&mut self, answer: Answer, rest: Vec<Chunk>) -> Result<ModelAnswer, Stopped> {
        let mut artifacts = Vec::with_capacity(answer.artifacts.len());
        for artifact in answer.artifacts {
            let content = match artifact.content {
                ArtifactContent::Bytes(bytes) => self.host.put_blob(&artifact.media_type, bytes).await?,
                ArtifactContent::Url(url) => elsewhere(url, artifact.media_type),
            };
            artifacts.push(ArtifactDraft { name: artifact.name, content });
        }
        let Answer { stop_reason, usage, calls, .. } = answer;
        let text = self.whole_text(&rest);
        let ends = if calls.is_empty() && artifacts.is_empty() {
            ends(&mut self.transcript, &self.catalog, &text, &stop_reason)
        } else {
            None
        };
        let (text, text_ref) = match text {
            text if text.is_empty() => (None, None),
            text if text.len() > TEXT_INLINE_BYTES_MAX => {
                (None, Some(self.host.put_blob("text/plain; charset=utf-8", Bytes::from(text)).await?))
            }
            text => (Some(text), None),
        };
        Ok(ModelAnswer { chunks: rest, stop_reason, text, text_ref, usage, artifacts, calls, ends })
    }

    /// What was recorded of the answer's text, and what will be with the answer.
    fn whole_text(&self, rest: &[Chunk]) -> String {
        let mut text = self.transcript.request.as_ref().map_or_else(String::new, |request| request.text.clone());
        add_texts(&mut text, rest);
        text
    }
}

pub(crate) fn add_texts(text: &mut String, chunks: &[Chunk]) {
    for chunk in chunks {
        if let Chunk::Text { text: piece, .. } = chunk {
            text.push_str(piece);
        }
    }
}

/// How the turn ends behind an answer that asks for nothing, if that is what comes next.
pub(crate) fn ends(transcript: &mut Transcript, catalog: &[ToolEntry], text: &str, stop_reason: &str) -> Option<Ends> {
    let round = Round { text: text.to_owned(), stop_reason: stop_reason.to_owned(), calls: Vec::new() };
    match next_behind(transcript, round, catalog) {
        Next::Finish(TurnReport::Completed { preview, .. }) => Some(Ends { preview }),
        _ => None,
    }
}

/// An answer, and the last pieces of it, which are not recorded yet.
struct Streamed {
    answer: Result<Answer, Failure>,
    rest: Vec<Chunk>,
}

/// Content that is not ours. Its size and digest are its owner's to know.
fn elsewhere(url: String, media_type: String) -> OutputRef {
    OutputRef {
        r#ref: url,
        owner: None,
        media_type,
        encoding: None,
        size: None,
        digest: None,
        preview: None,
        preview_dropped: 0,
        redacted: false,
        expires_at: None,
    }
}

/// Why the pieces stopped flowing before the model was done.
enum Cut {
    Stopped(Stopped),
    TooLong,
}

/// Carries pieces from the model to the log.
struct Pump<'a> {
    host: &'a dyn Host,
    request_id: &'a ModelRequestId,
    step_id: &'a StepId,
    numbered: Numbered,
    events: Vec<Event>,
}

impl Pump<'_> {
    /// Records pieces as they come, and gives back those that the end of the answer came with.
    async fn run(&mut self, pieces: &Pieces) -> Result<Vec<Chunk>, Cut> {
        loop {
            // Boxed: most of a run is waiting for the next piece, and reporting needs room of its own.
            let rest = match pieces.take().await {
                Taken::Some(batch) => {
                    let chunks = Box::pin(self.record(batch)).await?;
                    Box::pin(self.flush(chunks)).await?;
                    None
                }
                Taken::Rest(batch) if batch.is_empty() => return Ok(Vec::new()),
                Taken::Rest(batch) => Some(Box::pin(self.record(batch)).await?),
            };
            if self.numbered.bytes > ANSWER_BYTES_MAX {
                if let Some(rest) = rest {
                    Box::pin(self.flush(rest)).await?;
                }
                return Err(Cut::TooLong);
            }
            if let Some(rest) = rest {
                return Ok(rest);
            }
        }
    }

    /// The pieces as chunks. What has to be told before a status is recorded with it; the chunks behind the last one are left.
    async fn record(&mut self, batch: Vec<Piece>) -> Result<Vec<Chunk>, Cut> {
        let mut chunks = Vec::with_capacity(batch.len());
        for piece in batch {
            match self.numbered.chunk(piece) {
                Ok(chunk) => chunks.push(chunk),
                Err(status) => {
                    self.flush(std::mem::take(&mut chunks)).await?;
                    self.report(*status).await?;
                }
            }
        }
        Ok(chunks)
    }

    async fn flush(&mut self, chunks: Vec<Chunk>) -> Result<(), Cut> {
        if chunks.is_empty() {
            return Ok(());
        }
        let (request_id, step_id) = (self.request_id.clone(), self.step_id.clone());
        self.report(Report::ModelStreamed { request_id, step_id, chunks }).await
    }

    async fn report(&mut self, report: Report) -> Result<(), Cut> {
        self.events.extend(self.host.report(report).await.map_err(Cut::Stopped)?);
        Ok(())
    }
}

/// No pause before the first try, then longer and longer ones. Even a pause of nothing would cost a tick of the timer.
async fn pause_before(failed_tries: u32) {
    if let Some(doublings) = failed_tries.checked_sub(1) {
        tokio::time::sleep(RETRY_DELAY_FIRST * (1 << doublings.min(MODEL_TRIES_MAX))).await;
    }
}

/// An answer that asks for the impossible is no answer. The next try may be better.
fn checked(answer: Answer) -> Result<Answer, Failure> {
    let nonsense = |message: String| Failure { retryable: true, ..model_error(message) };
    if answer.calls.len() > CALLS_PER_ANSWER_MAX {
        let asked = answer.calls.len();
        return Err(nonsense(format!("the answer asks for {asked} tool calls; {CALLS_PER_ANSWER_MAX} are allowed")));
    }
    if answer.artifacts.len() > ARTIFACTS_PER_ANSWER_MAX {
        let brought = answer.artifacts.len();
        return Err(nonsense(format!("the answer brings {brought} artifacts; {ARTIFACTS_PER_ANSWER_MAX} are allowed")));
    }
    for call in &answer.calls {
        if call.tool_name.trim().is_empty() {
            return Err(nonsense("the answer asks for a tool without a name".to_owned()));
        }
        let size = call.arguments.to_string().len();
        if size > ARGUMENTS_BYTES_MAX {
            let name = &call.tool_name;
            return Err(nonsense(format!("{name} was called with {size} bytes; {ARGUMENTS_BYTES_MAX} are allowed")));
        }
    }
    Ok(answer)
}

/// Only the engine says that a restart cut a request off; a model that uses that word must not be tried forever.
fn told_apart(error: Failure) -> Failure {
    if error.category == INTERRUPTED { Failure { category: "model_error".to_owned(), ..error } } else { error }
}

fn model_error(message: String) -> Failure {
    Failure { category: "model_error".to_owned(), message, retryable: false, advice: None }
}
