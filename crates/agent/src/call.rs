//! Running tool calls: the intent is durable before the tool begins, the outcome before anybody hears of it.

use std::panic::AssertUnwindSafe;

use bytes::Bytes;
use factum_model::Event;
use factum_model::id::ToolCallId;
use factum_model::report::{Report, ToolReport};
use factum_model::value::{Failure, OutputRef};
use futures::FutureExt;
use futures::stream::{FuturesUnordered, StreamExt};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::host::Stopped;
use crate::panic::panic_text;
use crate::tools::{DELEGATE_TOOL, Note, ProgressSink, ToolInvocation, ToolOutput};
use crate::transcript::Call;
use crate::turn::Run;

/// A result up to this size stands in its fact; a larger one becomes a blob with a preview.
const RESULT_INLINE_BYTES_MAX: usize = 16 << 10;
/// How much of a result that became a blob stays in sight.
const RESULT_PREVIEW_CHARS: usize = 1_000;

impl Run<'_> {
    /// Runs these calls at the same time. What `next` gives together may run together.
    pub(crate) async fn run_calls(&mut self, ids: &[ToolCallId]) -> Result<(), Stopped> {
        let mut events = Vec::new();
        let mut running: FuturesUnordered<_> =
            ids.iter().filter_map(|id| self.locate(id)).map(|at| self.run_call(at)).collect();
        let mut outcome = Ok(());
        while let Some(facts) = running.next().await {
            match facts {
                Ok(facts) => events.extend(facts),
                Err(stopped) => {
                    let rests = stopped.rests;
                    outcome = Err(stopped);
                    // The others have begun, and what they did is not to be lost.
                    if !rests {
                        break;
                    }
                }
            }
        }
        drop(running);
        self.transcript.extend(&events);
        outcome
    }

    fn locate(&self, id: &ToolCallId) -> Option<At> {
        self.transcript.rounds.iter().enumerate().find_map(|(round, answer)| {
            let index = answer.calls.iter().position(|call| call.id == *id)?;
            Some(At { round, index })
        })
    }

    /// Runs one call and returns its facts.
    async fn run_call(&self, at: At) -> Result<Vec<Event>, Stopped> {
        let call = &self.transcript.rounds[at.round].calls[at.index];
        let intent =
            Report::ToolRunning { tool_call_id: call.id.clone(), arguments_digest: call.arguments_digest.clone() };
        let mut events = self.host.report(intent).await?;
        let started_at = Instant::now();
        let (output, noted) = self.run_tool(call, at).await?;
        events.extend(noted);
        let duration_ms = u64::try_from(started_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        let outcome = match output {
            Ok(output) => self.kept_result(output, duration_ms).await?,
            Err(error) => ToolReport::Failed { error, duration_ms },
        };
        events.extend(self.host.report(Report::ToolFinished { tool_call_id: call.id.clone(), outcome }).await?);
        Ok(events)
    }

    async fn run_tool(&self, call: &Call, at: At) -> Result<(Result<ToolOutput, Failure>, Vec<Event>), Stopped> {
        if call.tool_name == DELEGATE_TOOL {
            let text = |name: &str| call.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
            return Ok((self.host.delegate(&call.id, text("peer"), text("message")).await?, Vec::new()));
        }
        let invocation = ToolInvocation {
            id: &call.id,
            name: &call.tool_name,
            arguments: &call.arguments,
            attempt: call.attempts + 1,
            idempotency_key: call.id.as_str(),
            round: at.round,
            index: at.index,
            turn: self.view(),
        };
        let (sink, notes) = ProgressSink::channel();
        let running = async move {
            let output = AssertUnwindSafe(self.agent.tools.run(&invocation, &sink)).catch_unwind().await;
            Ok(output.unwrap_or_else(|panic| Err(panicked(&call.tool_name, panic_text(&*panic)))))
        };
        tokio::try_join!(running, self.report_notes(&call.id, notes))
    }

    async fn report_notes(&self, id: &ToolCallId, mut notes: mpsc::Receiver<Note>) -> Result<Vec<Event>, Stopped> {
        let mut events = Vec::new();
        while let Some(Note { message, percent }) = notes.recv().await {
            let report = Report::ToolProgressed { tool_call_id: id.clone(), message, percent };
            events.extend(self.host.report(report).await?);
        }
        Ok(events)
    }

    /// A result as it is recorded. Bytes go first: a fact never refers to what is not there.
    async fn kept_result(&self, output: ToolOutput, duration_ms: u64) -> Result<ToolReport, Stopped> {
        let ToolOutput { text, structured } = output;
        let json = structured.as_ref().map(Value::to_string).filter(|json| json.len() > RESULT_INLINE_BYTES_MAX);
        let long = text.as_ref().filter(|text| text.len() > RESULT_INLINE_BYTES_MAX);
        let result_ref = match (&json, long) {
            (Some(json), _) => Some(self.blob("application/json", json).await?),
            (None, Some(text)) => Some(self.blob("text/plain; charset=utf-8", text).await?),
            (None, None) => None,
        };
        let preview = match (&json, &text) {
            (Some(json), None) => Some(shortened(json)),
            (_, Some(text)) if text.len() > RESULT_INLINE_BYTES_MAX => Some(shortened(text)),
            (_, text) => text.clone(),
        };
        let structured_content = structured.filter(|_| json.is_none());
        Ok(ToolReport::Succeeded { preview, structured_content, result_ref, duration_ms })
    }

    async fn blob(&self, media_type: &str, text: &str) -> Result<OutputRef, Stopped> {
        self.host.put_blob(media_type, Bytes::copy_from_slice(text.as_bytes())).await
    }
}

/// Where a call stands in the transcript.
#[derive(Clone, Copy)]
struct At {
    round: usize,
    index: usize,
}

fn shortened(text: &str) -> String {
    let mut preview: String = text.chars().take(RESULT_PREVIEW_CHARS).collect();
    preview.push('…');
    preview
}

fn panicked(tool_name: &str, message: &str) -> Failure {
    Failure {
        category: "tool_panicked".to_owned(),
        message: format!("the tool {tool_name} panicked: {message}"),
        retryable: false,
        advice: Some("this is a bug of the tool; whether it took effect before is not known".to_owned()),
    }
}
