//! Running one turn: ask `next`, do it, fold the facts that come back, until the turn is over or waits.
//!
//! The loop keeps nothing that is not in the facts, so where it was cut off does not matter: the next run reads the same
//! facts and does the same thing next.

use factum_model::Trace;
use factum_model::events::ToolEntry;
use factum_model::report::{Report, Runner};
use factum_model::value::{Metadata, Part};

use crate::agents::Agent;
use crate::host::{Host, Stopped};
use crate::model::TurnView;
use crate::next::{Next, next};
use crate::transcript::Transcript;

/// A turn to work on. Where it stands is read from its facts, so a restart carries it on.
#[derive(Clone, Debug)]
pub struct Turn {
    pub runner: Runner,
    pub agent: String,
    pub input: Vec<Part>,
    pub options: Metadata,
    /// All facts of this turn so far, folded.
    pub transcript: Transcript,
    /// The trace context that its facts belong to.
    pub trace: Trace,
    /// The open request to the model is this run's own: the commit that started the turn announced it. Without this, an
    /// open request is what an earlier run left behind.
    pub opened: bool,
}

/// How far a run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The turn has ended, well or not.
    Finished,
    /// Only open actions are left. Run the turn again when one is resolved; one that was resolved while this run was at
    /// work elsewhere counts too.
    Waiting,
}

/// Works on a turn until it is over or waits.
///
/// One run of a turn at a time; the shell sees to that. Dropping the future stops the run at its last report.
///
/// The turn comes in a box, and rare steps run in boxes, because what is inline here is held by every turn that waits for
/// its model.
#[allow(clippy::boxed_local, reason = "an argument by value would stay in the future next to what is made of it")]
pub async fn run_turn(agent: &Agent, turn: Box<Turn>, host: &dyn Host) -> Result<Progress, Stopped> {
    let opened = turn.opened;
    let mut run = Run::new(agent, turn, host);
    if opened && run.transcript.request.is_some() {
        run.answer().await?;
    }
    loop {
        let facts = run.transcript.facts;
        match next(&run.transcript, &run.catalog) {
            Next::Over => return Ok(Progress::Finished),
            Next::Wait => return Ok(Progress::Waiting),
            Next::Recover => return Err(Stopped::new("an earlier run left work open; recover the session first")),
            Next::AskModel => {
                Box::pin(run.announce()).await?;
                run.answer().await?;
            }
            Next::Run(calls) => Box::pin(run.run_calls(&calls)).await?,
            Next::Finish(outcome) => Box::pin(run.report(Report::TurnFinished { outcome })).await?,
        }
        if run.transcript.facts == facts {
            return Err(Stopped::new("a report was accepted without facts, so the turn cannot go on"));
        }
    }
}

/// One run of a turn.
pub(crate) struct Run<'a> {
    pub agent: &'a Agent,
    pub host: &'a dyn Host,
    pub catalog: Vec<ToolEntry>,
    pub transcript: Transcript,
    input: Vec<Part>,
    options: Metadata,
}

impl<'a> Run<'a> {
    fn new(agent: &'a Agent, turn: Box<Turn>, host: &'a dyn Host) -> Self {
        let Turn { transcript, input, options, .. } = *turn;
        Run { agent, host, catalog: agent.tools.catalog(), transcript, input, options }
    }

    pub(crate) fn view(&self) -> TurnView<'_> {
        TurnView {
            turn_id: self.transcript.turn_id(),
            input: &self.input,
            options: &self.options,
            transcript: &self.transcript,
        }
    }

    pub(crate) async fn report(&mut self, report: Report) -> Result<(), Stopped> {
        let events = self.host.report(report).await?;
        self.transcript.extend(&events);
        Ok(())
    }
}
