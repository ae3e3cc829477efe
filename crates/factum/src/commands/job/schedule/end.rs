//! `factum job schedule end`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::EndSchedule;
use factum_model::id::ScheduleId;

use super::Here;

#[derive(Debug, Args)]
pub(super) struct End {
    /// The schedule's id.
    #[arg(value_name = "SCHEDULE")]
    schedule: ScheduleId,
    /// Why, for those who read it later.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Repeating the command with the same key does nothing more.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(super) async fn run(end: End, here: &Here) -> Result<()> {
    let command = EndSchedule { schedule_id: end.schedule, reason: end.reason, idempotency_key: end.key };
    let result = here.run(&command).await?;
    if here.output.is_json() {
        return Ok(here.output.json(&result)?);
    }
    here.output.note(format_args!("{} makes no more jobs", result.schedule_id));
    Ok(())
}
