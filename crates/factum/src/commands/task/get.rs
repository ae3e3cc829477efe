//! `factum task get`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::GetTask;
use factum_model::id::TaskId;
use jiff::tz::TimeZone;

use super::Here;
use super::describe::describe;
use crate::glyphs::Glyphs;

#[derive(Debug, Args)]
pub(super) struct Get {
    /// The task's id.
    #[arg(value_name = "TASK")]
    task: TaskId,
    /// As it was at this sequence of its session.
    #[arg(long, value_name = "SEQUENCE")]
    as_of: Option<u64>,
}

pub(super) async fn run(get: Get, here: &Here) -> Result<()> {
    let task = here.run(&GetTask { task_id: get.task, as_of: get.as_of }).await?;
    if here.output.is_json() {
        return Ok(here.output.json(&task)?);
    }
    let lines = describe(&task, &TimeZone::system(), Glyphs::of_locale());
    Ok(lines.iter().try_for_each(|line| here.output.line(line))?)
}
