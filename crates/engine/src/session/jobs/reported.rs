//! What a worker says about an item it works on, as facts: progress as `run.status`, the rest as it reports it.

use factum_model::commands::{ReportRun, ReportedFact};
use factum_model::events::{Phase, RunStatus};
use factum_model::value::Metadata;
use factum_model::{Fact, NewEvent, Refusal, Scope};
use serde_json::json;

use crate::context::{Context, check};

/// The classes a worker may report.
const FAMILIES: [&str; 5] = ["model.", "reasoning.", "tool.", "artifact.", "output."];

/// All of the report or none of it.
pub(super) fn reported(scope: &Scope, command: &ReportRun, context: &Context<'_>) -> Result<Vec<NewEvent>, Refusal> {
    check("report_facts", command.facts.len(), context.limits.report_facts_max)?;
    check("refs", command.checkpoint_refs.len(), context.limits.input_parts_max)?;
    let status = status(command).map(|status| Ok(NewEvent::new(scope.clone(), status)));
    status.into_iter().chain(command.facts.iter().map(|fact| event(scope, fact))).collect()
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

fn event(scope: &Scope, reported: &ReportedFact) -> Result<NewEvent, Refusal> {
    let name = reported.r#type.as_str();
    if name != "run.status" && !FAMILIES.iter().any(|family| name.starts_with(family)) {
        return Err(Refusal::invalid(format!("a worker cannot report {name:?}")).with("type", name));
    }
    let fact = Fact::decode(name, &reported.payload.to_string());
    let fact = fact.map_err(|error| Refusal::invalid(format!("{name} does not fit: {error}")).with("type", name))?;
    let mut scope = scope.clone();
    scope.step_id = reported.step_id.clone();
    scope.tool_call_id = reported.tool_call_id.clone();
    scope.model_request_id = reported.model_request_id.clone();
    scope.artifact_id = reported.artifact_id.clone();
    Ok(NewEvent { refs: reported.refs.clone(), ..NewEvent::new(scope, fact) })
}
