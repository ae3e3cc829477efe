//! Turns at work: lets an agent run a turn, feeds its reports back as commands, and stops it when the turn is over.
//!
//! A run keeps nothing that is not in the log. When the agent only waits for a decision the run ends and its memory goes;
//! the decision's fact starts another one, which finds everything in the facts, exactly as after a crash.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use factum_agent::{Host, Progress, Stopped, Turn};
use factum_engine::session::decide_report;
use factum_model::id::{ThreadId, TurnId};
use factum_model::report::{Report, Runner, TurnReport};
use factum_model::value::{Failure, OutputRef};
use factum_model::{ErrorCode, Event, Fact, Refusal, Trace};
use factum_store::ReadLimit;
use futures::FutureExt;

use crate::cell::{Cell, Run};
use crate::commit::{Accept, Actor};
use crate::error::read_refusal;
use crate::runtime::Runtime;

/// How a report waits for a store that has no room at the moment.
const RETRY_DELAY_MIN: Duration = Duration::from_millis(20);
const RETRY_DELAY_MAX: Duration = Duration::from_secs(5);

/// How many events of a turn are read at a time.
const TURN_PAGE_EVENTS: usize = 1_000;

/// Characters of a blob's text shown in its reference.
const PREVIEW_CHARS_MAX: usize = 256;

/// Stops the run of a turn, if there is one.
pub(crate) fn stop_turn(cell: &Cell, turn_id: &TurnId) {
    if let Some(run) = cell.runs.lock().remove(turn_id)
        && let Some(abort) = run.abort
    {
        abort.abort();
    }
}

impl Runtime {
    /// Lets the agent work on a turn. A run that is under way is told to look again instead of being doubled.
    pub(crate) fn run_turn(
        &self,
        cell: &Arc<Cell>,
        thread_id: ThreadId,
        turn_id: TurnId,
        commit: Option<Arc<Vec<Event>>>,
    ) {
        if self.is_closing() {
            return;
        }
        let mut runs = cell.runs.lock();
        if let Some(run) = runs.get_mut(&turn_id) {
            run.again = true;
            return;
        }
        runs.insert(turn_id.clone(), Run { abort: None, again: false });
        let work = run(self.clone(), cell.clone(), thread_id, turn_id.clone(), commit);
        let abort = self.0.tasks.spawn_on(work, &self.0.tokio).abort_handle();
        if let Some(run) = runs.get_mut(&turn_id) {
            run.abort = Some(abort);
        }
    }
}

/// Runs a turn until nobody asks to look at it again.
async fn run(
    runtime: Runtime,
    cell: Arc<Cell>,
    thread_id: ThreadId,
    turn_id: TurnId,
    mut commit: Option<Arc<Vec<Event>>>,
) {
    loop {
        // Boxed: reading is short, and a run may wait for its model for hours in a task of this size.
        match Box::pin(runtime.turn_of(&cell, &thread_id, &turn_id, commit.take())).await {
            Ok(Some(turn)) => work(&runtime, &cell, turn).await,
            Ok(None) => {}
            Err(error) => tracing::error!(stream = %cell.stream, %turn_id, %error, "a turn could not be read"),
        }
        let mut runs = cell.runs.lock();
        match runs.get_mut(&turn_id) {
            Some(run) if run.again => run.again = false,
            _ => {
                runs.remove(&turn_id);
                return;
            }
        }
    }
}

/// One pass of the agent over the turn.
async fn work(runtime: &Runtime, cell: &Arc<Cell>, turn: Turn) {
    let host = TurnHost { runtime: runtime.clone(), cell: cell.clone(), runner: turn.runner.clone() };
    let turn_id = turn.runner.turn_id.clone();
    let Some(agent) = runtime.0.agents.get(&turn.agent) else {
        let message = format!("there is no agent named {:?} here any more", turn.agent);
        host.fail("agent_unavailable", message).await;
        return;
    };
    match AssertUnwindSafe(factum_agent::run_turn(agent, turn, &host)).catch_unwind().await {
        Ok(Ok(Progress::Finished | Progress::Waiting)) => {}
        // Usually the turn is over, and this report is refused like any other of a run that lost it. If it is not, nobody
        // would work on it any more, and a turn must not show as running when that is so.
        Ok(Err(stopped)) => {
            tracing::debug!(stream = %cell.stream, %turn_id, reason = %stopped.reason, "a run stopped");
            host.fail("agent_stopped", stopped.reason).await;
        }
        Err(_) => {
            tracing::error!(stream = %cell.stream, %turn_id, "an agent panicked");
            host.fail("internal", "the agent failed in a way it should not".to_owned()).await;
        }
    }
}

impl Runtime {
    /// A turn with all its facts, or `None` where it is over or only waits.
    async fn turn_of(
        &self,
        cell: &Arc<Cell>,
        thread_id: &ThreadId,
        turn_id: &TurnId,
        commit: Option<Arc<Vec<Event>>>,
    ) -> Result<Option<Turn>, Refusal> {
        let look = |state: &factum_engine::session::SessionState| {
            let turn = state.thread(thread_id).and_then(|thread| thread.active.as_ref());
            let turn = turn.filter(|turn| turn.turn_id == *turn_id);
            Ok(turn.map(|turn| (turn.attempt, turn.agent.clone(), turn.submitted_sequence, state.sequence)))
        };
        let (active, _) = self.look(&cell.account, &cell.session_id, look).await?;
        let Some((attempt, agent, from, to)) = active else { return Ok(None) };
        let of_turn = |event: &Event| event.scope.turn_id.as_ref() == Some(turn_id);
        let whole = commit.filter(|events| {
            events.first().is_some_and(|first| first.sequence <= from)
                && events.last().is_some_and(|last| last.sequence >= to)
        });
        let events: Vec<Event> = match whole {
            Some(events) => events.iter().filter(|event| of_turn(event)).cloned().collect(),
            None => self.read_turn(&cell.stream, from, to, of_turn).await?,
        };
        let submitted = events.iter().find_map(|event| match &event.fact {
            Fact::TurnSubmitted(fact) => Some((fact.input.clone(), fact.options.clone())),
            _ => None,
        });
        let (input, options) = submitted.ok_or_else(|| Refusal::internal("a turn has no turn.submitted"))?;
        let runner = Runner { thread_id: thread_id.clone(), turn_id: turn_id.clone(), attempt };
        Ok(Some(Turn { runner, agent, input, options, events }))
    }

    async fn read_turn(
        &self,
        stream: &str,
        from: u64,
        to: u64,
        of_turn: impl Fn(&Event) -> bool,
    ) -> Result<Vec<Event>, Refusal> {
        let mut events = Vec::new();
        let mut next = from;
        while next <= to {
            let limit = ReadLimit::records(TURN_PAGE_EVENTS);
            let records = self.0.store.read(stream, next, limit).await.map_err(|error| read_refusal(&error))?;
            let Some(last) = records.last() else { break };
            next = last.sequence + 1;
            for record in records.iter().filter(|record| record.sequence <= to) {
                let event = Event::decode(&record.bytes).map_err(|error| Refusal::internal(error.to_string()))?;
                if of_turn(&event) {
                    events.push(event);
                }
            }
        }
        Ok(events)
    }
}

/// The shell as an agent sees it.
struct TurnHost {
    runtime: Runtime,
    cell: Arc<Cell>,
    runner: Runner,
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
        let principal = format!("agent://{}", self.runner.turn_id);
        let actor = Actor { principal: &principal, trace: &Trace::default() };
        let decide = |state: &factum_engine::session::SessionState, context: &mut factum_engine::Context<'_>| {
            decide_report(state, &self.runner, report, context)
        };
        let cell = &self.cell;
        self.runtime
            .execute(&cell.account, &cell.session_id, &actor, &Accept::default(), decide)
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
                Err(refusal) => return Err(Stopped { reason: refusal.message }),
            }
        }
    }

    async fn put_blob(&self, media_type: &str, bytes: Bytes) -> Result<OutputRef, Stopped> {
        let size = bytes.len() as u64;
        let text = std::str::from_utf8(&bytes)
            .ok()
            .filter(|_| media_type.starts_with("text/") || media_type.ends_with("json"));
        let preview: Option<String> = text.map(|text| text.chars().take(PREVIEW_CHARS_MAX).collect());
        let preview_dropped = preview.as_ref().map_or(size, |preview| size - preview.len() as u64);
        let digest = self.runtime.0.blobs.put(bytes).await.map_err(|error| Stopped { reason: error.to_string() })?;
        Ok(OutputRef {
            r#ref: format!("blob:sha256:{digest}"),
            owner: Some("runtime".to_owned()),
            media_type: media_type.to_owned(),
            encoding: None,
            size,
            digest: format!("sha256:{digest}"),
            preview,
            preview_dropped,
            redacted: false,
            expires_at: None,
        })
    }
}
