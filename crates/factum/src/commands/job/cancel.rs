//! `factum job cancel`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::CancelJob;
use factum_model::id::JobId;

use super::Here;
use super::describe::counts;
use crate::commands::look::Stands;
use crate::glyphs::Glyphs;

#[derive(Debug, Args)]
pub(super) struct Cancel {
    /// The job's id.
    #[arg(value_name = "JOB")]
    job: JobId,
    /// Why, for those who read it later.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Repeating the command with the same key does nothing more.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(super) async fn run(cancel: Cancel, here: &Here) -> Result<()> {
    let command = CancelJob { job_id: cancel.job, reason: cancel.reason, idempotency_key: cancel.key };
    let result = here.run(&command).await?;
    if here.output.is_json() {
        return Ok(here.output.json(&result)?);
    }
    let status = result.status.shown(Glyphs::of_locale());
    here.output.note(format_args!("{} is {status}; {}", result.job_id, counts(&result.progress)));
    Ok(())
}
