//! `factum task progress`: how far a task has come.

use anyhow::Result;
use clap::Args;
use factum_model::commands::AppendTaskProgress;
use factum_model::events::Phase;
use factum_model::id::{RunId, TaskId};
use factum_model::task::{OutputOffset, Progress};

use super::{Here, report};
use crate::words::one_of;

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true)
    .args(["percent", "phase", "step", "summary", "counters", "outputs"]))]
pub(super) struct Report {
    /// The task's id.
    #[arg(value_name = "TASK")]
    task: TaskId,
    /// 0 to 100.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=100))]
    percent: Option<u8>,
    /// What kind of work it is now.
    #[arg(long, value_name = "PHASE", value_parser = one_of::<Phase>())]
    phase: Option<Phase>,
    /// What is being done now.
    #[arg(long, value_name = "TEXT")]
    step: Option<String>,
    /// What has been done so far.
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// A number worth knowing; may be given several times.
    #[arg(long = "counter", value_name = "NAME=N", value_parser = parse_counter)]
    counters: Vec<(String, u64)>,
    /// Output, and up to which byte it belongs here; may be given several times.
    #[arg(long = "output-ref", value_name = "REF=OFFSET", value_parser = parse_output)]
    outputs: Vec<OutputOffset>,
    /// The run that reports; an old one is refused.
    #[arg(long, value_name = "RUN")]
    run: Option<RunId>,
    /// The token of the claim, where a worker reports.
    #[arg(long, value_name = "N", requires = "run")]
    lease_token: Option<u64>,
    /// Repeating the command with the same key reports nothing more.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(super) async fn run(args: Report, here: &Here) -> Result<()> {
    let progress = Progress {
        phase: args.phase,
        percent: args.percent,
        current_step: args.step,
        counters: args.counters.into_iter().collect(),
        summary: args.summary,
        output_refs: args.outputs,
        delivery_state: None,
    };
    let command = AppendTaskProgress {
        task_id: args.task,
        run_id: args.run,
        lease_token: args.lease_token,
        native_status: None,
        progress,
        idempotency_key: args.key,
    };
    let result = here.run(&command).await?;
    report(&result, &result.task_id, result.status, here)
}

fn parse_counter(text: &str) -> Result<(String, u64), String> {
    let (name, number) = text.rsplit_once('=').ok_or("write NAME=N")?;
    let number = number.parse().map_err(|_| format!("{number:?} is not a number"))?;
    Ok((name.to_owned(), number))
}

fn parse_output(text: &str) -> Result<OutputOffset, String> {
    let (output_ref, offset) = parse_counter(text).map_err(|_| "write REF=OFFSET".to_owned())?;
    Ok(OutputOffset { output_ref, offset })
}
