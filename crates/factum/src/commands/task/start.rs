//! `factum task start`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::StartTask;
use factum_model::id::TaskId;

use super::{Here, report};

#[derive(Debug, Args)]
pub(super) struct Start {
    /// The task's id.
    #[arg(value_name = "TASK")]
    task: TaskId,
    /// Who will do it, where that is known already.
    #[arg(long, value_name = "WORKER")]
    worker: Option<String>,
    /// Something the attempt is given; may be given several times.
    #[arg(long = "input", value_name = "REF")]
    inputs: Vec<String>,
    /// Repeating the command with the same key starts nothing more.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(super) async fn run(start: Start, here: &Here) -> Result<()> {
    let command =
        StartTask { task_id: start.task, worker: start.worker, input_refs: start.inputs, idempotency_key: start.key };
    let started = here.run(&command).await?;
    if !here.output.is_json() {
        here.output.line(&started.run_id)?;
    }
    report(&started, &started.task_id, started.status, here)
}
