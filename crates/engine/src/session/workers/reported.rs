//! What a worker reports, as facts: the classes it may report, and how many at once.

use factum_model::commands::{ReportRun, ReportedFact};
use factum_model::{Fact, NewEvent, Refusal, Scope};

use crate::context::{Context, check};

/// The classes a worker may report besides `run.status`: what it sees happen, never what a task or session is.
const FAMILIES: [&str; 5] = ["model.", "reasoning.", "tool.", "artifact.", "output."];

/// The facts of a report, about the run that `scope` names. All of them or none.
pub(in super::super) fn reported_facts(
    scope: &Scope,
    command: &ReportRun,
    context: &Context<'_>,
) -> Result<Vec<NewEvent>, Refusal> {
    check("report_facts", command.facts.len() + command.checkpoint_refs.len(), context.limits.report_facts_max)?;
    command.facts.iter().map(|fact| event(scope, fact)).collect()
}

fn event(scope: &Scope, reported: &ReportedFact) -> Result<NewEvent, Refusal> {
    let name = reported.r#type.as_str();
    if name != "run.status" && !FAMILIES.iter().any(|family| name.starts_with(family)) {
        let message = "a worker reports run.status, model.*, reasoning.*, tool.*, artifact.* and output.*";
        return Err(Refusal::invalid(message).with("type", name));
    }
    let fact = Fact::decode(name, &reported.payload.to_string());
    let fact = fact.map_err(|error| Refusal::invalid(format!("{name} does not fit: {error}")).with("type", name))?;
    let mut scope = scope.clone();
    scope.step_id.clone_from(&reported.step_id);
    scope.tool_call_id.clone_from(&reported.tool_call_id);
    scope.model_request_id.clone_from(&reported.model_request_id);
    scope.artifact_id.clone_from(&reported.artifact_id);
    Ok(NewEvent { refs: reported.refs.clone(), ..NewEvent::new(scope, fact) })
}
