//! What a worker says about an item it works on, as facts: progress as `run.status`, the rest as it reports it.

use factum_model::commands::ReportRun;
use factum_model::events::{Phase, RunStatus};
use factum_model::value::Metadata;
use factum_model::{NewEvent, Refusal, Scope};
use serde_json::json;

use crate::context::Context;
use crate::session::workers::reported_facts;

/// All of the report or none of it.
pub(super) fn reported(scope: &Scope, command: &ReportRun, context: &Context<'_>) -> Result<Vec<NewEvent>, Refusal> {
    let facts = reported_facts(scope, command, context)?;
    let status = status(command).map(|status| NewEvent::new(scope.clone(), status));
    Ok(status.into_iter().chain(facts).collect())
}

fn status(command: &ReportRun) -> Option<RunStatus> {
    if command.progress.is_none() && command.checkpoint_refs.is_empty() {
        return None;
    }
    let progress = command.progress.clone().unwrap_or_default();
    let percent = progress.percent.map(|percent| ("percent".to_owned(), json!(percent)));
    let counters = Some(progress.counters).filter(|counters| !counters.is_empty());
    let counters = counters.map(|counters| ("counters".to_owned(), json!(counters)));
    let outputs = Some(progress.output_refs).filter(|refs| !refs.is_empty());
    let outputs = outputs.map(|refs| ("output_refs".to_owned(), json!(refs)));
    Some(RunStatus {
        phase: progress.phase.unwrap_or(Phase::Working),
        title: progress.current_step.unwrap_or_else(|| "Working".to_owned()),
        detail: progress.summary,
        checkpoints: command.checkpoint_refs.clone(),
        metadata: percent.into_iter().chain(counters).chain(outputs).collect::<Metadata>(),
    })
}
