//! `factum task complete`: the work is done and its facts are reconciled, or the server says what is missing.

use anyhow::Result;
use clap::Args;
use factum_model::commands::CompleteTask;
use factum_model::id::{RunId, TaskId};
use factum_model::task::{Criterion, CriterionState, DeliveryState};

use super::policy::criterion;
use super::{Here, report};
use crate::words::one_of;

#[derive(Debug, Args)]
pub(super) struct Complete {
    /// The task's id.
    #[arg(value_name = "TASK")]
    task: TaskId,
    /// What came of it.
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// A criterion that is met, and what shows it; may be given several times.
    #[arg(long, value_name = "ID[=EVIDENCE]")]
    met: Vec<String>,
    /// A criterion that is not met, and why; may be given several times.
    #[arg(long, value_name = "ID[=NOTE]")]
    unmet: Vec<String>,
    /// A criterion that does not matter any more, and why; may be given several times.
    #[arg(long, value_name = "ID[=NOTE]")]
    waive: Vec<String>,
    /// An artifact it produced; may be given several times.
    #[arg(long = "artifact", value_name = "REF")]
    artifacts: Vec<String>,
    /// Evidence of it; may be given several times.
    #[arg(long, value_name = "REF")]
    evidence: Vec<String>,
    /// Output of it; may be given several times.
    #[arg(long = "output-ref", value_name = "REF")]
    outputs: Vec<String>,
    /// Whether the outcome reached whoever asked for it.
    #[arg(long, value_name = "STATE", value_parser = one_of::<DeliveryState>())]
    delivery: Option<DeliveryState>,
    /// The run that did it; an old one is refused.
    #[arg(long, value_name = "RUN")]
    run: Option<RunId>,
    /// The token of the claim, where a worker reports.
    #[arg(long, value_name = "N", requires = "run")]
    lease_token: Option<u64>,
    /// Repeating the command with the same key does nothing more.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(super) async fn run(complete: Complete, here: &Here) -> Result<()> {
    let criteria = criteria(&complete);
    let command = CompleteTask {
        task_id: complete.task,
        run_id: complete.run,
        lease_token: complete.lease_token,
        summary: complete.summary,
        criteria,
        artifacts: complete.artifacts,
        evidence_refs: complete.evidence,
        output_refs: complete.outputs,
        delivery_state: complete.delivery,
        native_status: None,
        idempotency_key: complete.key,
    };
    let result = here.run(&command).await?;
    report(&result, &result.task_id, result.status, here)
}

fn criteria(complete: &Complete) -> Vec<Criterion> {
    let met = complete.met.iter().map(|text| {
        let (id, evidence_ref) = split(text);
        Criterion { evidence_ref, ..criterion(id, CriterionState::Met) }
    });
    let noted = |state| {
        move |text: &String| {
            let (id, note) = split(text);
            Criterion { note, ..criterion(id, state) }
        }
    };
    let unmet = complete.unmet.iter().map(noted(CriterionState::Unmet));
    met.chain(unmet).chain(complete.waive.iter().map(noted(CriterionState::Waived))).collect()
}

fn split(text: &str) -> (&str, Option<String>) {
    match text.split_once('=') {
        Some((id, rest)) => (id, Some(rest.to_owned())),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};

    use super::*;

    #[test]
    fn criteria_come_with_their_evidence_or_a_note() {
        let args = ["test", "task_1", "--met", "tests=evd_1", "--unmet", "speed=too slow", "--waive", "docs"];
        let matches = Complete::augment_args(Command::new("test")).get_matches_from(args);
        let criteria = criteria(&Complete::from_arg_matches(&matches).unwrap());
        let expected = [
            Criterion { evidence_ref: Some("evd_1".into()), ..criterion("tests", CriterionState::Met) },
            Criterion { note: Some("too slow".into()), ..criterion("speed", CriterionState::Unmet) },
            criterion("docs", CriterionState::Waived),
        ];
        assert_eq!(criteria, expected);
    }
}
