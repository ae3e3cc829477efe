//! Turns at work: lets an agent run a turn, feeds its reports back as commands, and stops it when the turn is over.
//!
//! A run keeps nothing that is not in the log. When the agent only waits for a decision the run ends and its memory goes;
//! the decision's fact starts another one, which finds everything in the facts, exactly as after a crash.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use factum_agent::{Host, Progress, Stopped, ToolOutput, Turn};
use factum_engine::session::decide_report;
use factum_engine::session::tasks::{GivenAway, PAUSED};
use factum_model::id::{ThreadId, ToolCallId, TurnId};
use factum_model::report::{Report, Runner, TurnReport};
use factum_model::value::{Failure, OutputRef};
use factum_model::{ErrorCode, Event, Fact, Refusal, Trace};
use futures::FutureExt;

use crate::commit::{Accept, Actor};
use crate::runtime::Runtime;
use crate::session::{Run, SessionCell};

/// How a report waits for a store that has no room at the moment.
const RETRY_DELAY_MIN: Duration = Duration::from_millis(20);
const RETRY_DELAY_MAX: Duration = Duration::from_secs(5);

/// Characters of a blob's text shown in its reference.
const PREVIEW_CHARS_MAX: usize = 256;

/// On whose behalf an agent reports.
pub(crate) fn agent_principal(agent: &str) -> String {
    ["agent://", agent].concat()
}

/// Stops the run of a turn, if there is one.
pub(crate) fn stop_turn(cell: &SessionCell, turn_id: &TurnId) {
    if let Some(run) = cell.work.lock().runs.remove(turn_id) {
        run.abort.abort();
    }
}

impl Runtime {
    /// Lets the agent work on a turn. A run that is under way is told to look again instead of being doubled.
    pub(crate) fn run_turn(
        &self,
        cell: &Arc<SessionCell>,
        thread_id: ThreadId,
        turn_id: TurnId,
        commit: Option<Arc<Vec<Event>>>,
    ) {
        if self.is_closing() {
            return;
        }
        let runs = &mut cell.work.lock().runs;
        if let Some(run) = runs.get(&turn_id) {
            run.again = true;
            return;
        }
        // The run cannot look for itself in `runs` before the lock is gone.
        let work = run(self.clone(), cell.clone(), thread_id, turn_id.clone(), commit);
        let abort = self.0.tasks.spawn_on(work, &self.0.tokio).abort_handle();
        runs.insert(Run { turn_id, abort, again: false });
    }
}

/// Runs a turn until nobody asks to look at it again.
async fn run(
    runtime: Runtime,
    cell: Arc<SessionCell>,
    thread_id: ThreadId,
    turn_id: TurnId,
    mut commit: Option<Arc<Vec<Event>>>,
) {
    loop {
        let opened = commit.as_deref().is_some_and(|events| opens(events, &turn_id));
        match runtime.turn_of(&cell, &thread_id, &turn_id, commit.take()).await {
            Ok(Some(mut turn)) => {
                turn.opened = opened;
                work(&runtime, &cell, turn).await;
            }
            Ok(None) => {}
            Err(error) => tracing::error!(stream = %cell.stream, %turn_id, %error, "a turn could not be read"),
        }
        {
            let runs = &mut cell.work.lock().runs;
            match runs.get(&turn_id) {
                Some(run) if run.again => {
                    run.again = false;
                    continue;
                }
                _ => drop(runs.remove(&turn_id)),
            }
        }
        runtime.came_to_rest(&cell);
        return;
    }
}

/// Whether the commit that starts this run announces the turn's first request, so that the request is this run's to make.
fn opens(commit: &[Event], turn_id: &TurnId) -> bool {
    let announces = |event: &Event| matches!(event.fact, Fact::ModelRequested(_));
    commit.iter().any(|event| announces(event) && event.scope.turn_id.as_ref() == Some(turn_id))
}

/// One pass of the agent over the turn.
async fn work(runtime: &Runtime, cell: &Arc<SessionCell>, turn: Box<Turn>) {
    let host = TurnHost {
        runtime: runtime.clone(),
        cell: cell.clone(),
        runner: turn.runner.clone(),
        principal: agent_principal(&turn.agent),
        trace: turn.trace.clone(),
    };
    let Some(agent) = runtime.0.agents.get(&turn.agent) else {
        let message = format!("there is no agent named {:?} here any more", turn.agent);
        Box::pin(host.fail("agent_unavailable", message)).await;
        return;
    };
    match AssertUnwindSafe(factum_agent::run_turn(agent, turn, &host)).catch_unwind().await {
        Ok(Ok(Progress::Finished | Progress::Waiting)) => {}
        // Whatever lets the turn go on asks for another run of it.
        Ok(Err(stopped)) if stopped.rests => {
            tracing::debug!(stream = %cell.stream, turn_id = %host.runner.turn_id, "a run rests");
        }
        // Usually the turn is over, and this report is refused like any other of a run that lost it. If it is not, nobody
        // would work on it any more, and a turn must not show as running when that is so.
        Ok(Err(stopped)) => {
            let turn_id = &host.runner.turn_id;
            tracing::debug!(stream = %cell.stream, %turn_id, reason = %stopped.reason, "a run stopped");
            Box::pin(host.fail("agent_stopped", stopped.reason)).await;
        }
        Err(_) => {
            tracing::error!(stream = %cell.stream, turn_id = %host.runner.turn_id, "an agent panicked");
            Box::pin(host.fail("internal", "the agent failed in a way it should not".to_owned())).await;
        }
    }
}

/// The shell as an agent sees it.
struct TurnHost {
    runtime: Runtime,
    cell: Arc<SessionCell>,
    runner: Runner,
    /// On whose behalf it reports: the agent.
    principal: String,
    trace: Trace,
}

impl TurnHost {
    async fn fail(&self, category: &str, message: String) {
        let error = Failure { category: category.to_owned(), message, retryable: false, advice: None };
        let report = Report::TurnFinished { outcome: TurnReport::Failed { error } };
        if let Err(stopped) = self.report(report).await {
            tracing::debug!(reason = %stopped.reason, "a failed turn was over already");
        }
    }

    async fn try_report(&self, report: Report) -> Result<Arc<Vec<Event>>, Refusal> {
        let actor = Actor { principal: &self.principal, trace: &self.trace, through: None };
        let decide = |state: &factum_engine::session::SessionState, context: &mut factum_engine::Context<'_>| {
            decide_report(state, &self.runner, report, context)
        };
        let cell = &self.cell;
        self.runtime
            .execute(&cell.account, &cell.id, &actor, &Accept::default(), decide)
            .await
            .map(|((), events)| events)
    }
}

#[async_trait]
impl Host for TurnHost {
    /// A store without room is waited for: the turn is no worse off than any other. Every other refusal ends the run.
    async fn report(&self, report: Report) -> Result<Vec<Event>, Stopped> {
        let mut delay = RETRY_DELAY_MIN;
        loop {
            match self.try_report(report.clone()).await {
                Ok(events) => return Ok(Arc::unwrap_or_clone(events)),
                Err(refusal)
                    if refusal.code == ErrorCode::Unavailable && refusal.retryable && !self.runtime.is_closing() =>
                {
                    tokio::time::sleep(delay).await;
                    delay = (delay * 2).min(RETRY_DELAY_MAX);
                }
                Err(refusal) => {
                    let rests = refusal.details.get("cause").is_some_and(|cause| cause == PAUSED);
                    return Err(Stopped { reason: refusal.message, rests });
                }
            }
        }
    }

    async fn put_blob(&self, media_type: &str, bytes: Bytes) -> Result<OutputRef, Stopped> {
        self.runtime.keep(media_type, bytes).await.map_err(Stopped::new)
    }

    async fn delegate(
        &self,
        call: &ToolCallId,
        peer: &str,
        message: &str,
    ) -> Result<Result<ToolOutput, Failure>, Stopped> {
        let work = GivenAway { tool_call_id: call, peer, message };
        crate::delegations::run_tool(&self.runtime, &self.cell, (&self.runner, &self.principal), work).await
    }
}

impl Runtime {
    /// Keeps bytes as a blob. The same bytes again give the same reference.
    pub(crate) async fn keep(&self, media_type: &str, bytes: Bytes) -> Result<OutputRef, String> {
        let size = bytes.len() as u64;
        let text = std::str::from_utf8(&bytes)
            .ok()
            .filter(|_| media_type.starts_with("text/") || media_type.ends_with("json"));
        let preview: Option<String> = text.map(|text| text.chars().take(PREVIEW_CHARS_MAX).collect());
        let preview_dropped = preview.as_ref().map_or(size, |preview| size - preview.len() as u64);
        let digest = self.0.blobs.put(bytes).await.map_err(|error| error.to_string())?;
        Ok(OutputRef {
            r#ref: format!("blob:sha256:{digest}"),
            owner: Some("runtime".to_owned()),
            media_type: media_type.to_owned(),
            encoding: None,
            size: Some(size),
            digest: Some(format!("sha256:{digest}")),
            preview,
            preview_dropped,
            redacted: false,
            expires_at: None,
        })
    }
}
