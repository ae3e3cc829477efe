//! `factum task retry`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::RetryTask;
use factum_model::id::TaskId;
use factum_model::task::Propagation;

use super::Here;
use crate::commands::look::Stands;
use crate::glyphs::Glyphs;
use crate::words::one_of;

#[derive(Debug, Args)]
pub(super) struct Retry {
    /// The task's id.
    #[arg(value_name = "TASK")]
    task: TaskId,
    /// Why, for those who read the attempts later.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// How far it reaches below the task.
    #[arg(long, value_name = "HOW", default_value = "none", value_parser = one_of::<Propagation>())]
    propagate: Propagation,
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

pub(super) async fn run(retry: Retry, here: &Here) -> Result<()> {
    let command = RetryTask {
        task_id: retry.task,
        reason: retry.reason,
        propagation: retry.propagate,
        worker: retry.worker,
        input_refs: retry.inputs,
        idempotency_key: retry.key,
    };
    let result = here.run(&command).await?;
    if here.output.is_json() {
        return Ok(here.output.json(&result)?);
    }
    here.output.line(&result.run_id)?;
    let status = result.status.shown(Glyphs::of_locale());
    here.output.note(format_args!("{} is {status}, attempt {}", result.task_id, result.attempt_count));
    Ok(())
}
