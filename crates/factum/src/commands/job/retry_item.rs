//! `factum job retry-item`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::RetryJobItem;
use factum_model::id::{JobId, JobItemId};

use super::Here;
use crate::commands::look::Stands;
use crate::glyphs::Glyphs;

#[derive(Debug, Args)]
pub(super) struct RetryItem {
    /// The job's id.
    #[arg(value_name = "JOB")]
    job: JobId,
    /// The item's id, from `factum job get`.
    #[arg(value_name = "ITEM")]
    item: JobItemId,
    /// Why, for those who read it later.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Repeating the command with the same key does nothing more.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(super) async fn run(retry: RetryItem, here: &Here) -> Result<()> {
    let command =
        RetryJobItem { job_id: retry.job, job_item_id: retry.item, reason: retry.reason, idempotency_key: retry.key };
    let result = here.run(&command).await?;
    if here.output.is_json() {
        return Ok(here.output.json(&result)?);
    }
    let status = result.status.shown(Glyphs::of_locale());
    here.output.note(format_args!("{} is {status}", result.job_item_id));
    Ok(())
}
