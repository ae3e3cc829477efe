//! `factum task pause`, `resume` and `cancel`: orders that may reach the tasks below as well.

use anyhow::Result;
use clap::Args;
use factum_model::commands::{CancelTask, PauseTask, PropagatedTaskResult, ResumeTask};
use factum_model::id::TaskId;
use factum_model::task::Propagation;

use super::Here;
use crate::commands::look::Stands;
use crate::glyphs::Glyphs;
use crate::table::count;
use crate::words::one_of;

#[derive(Debug, Args)]
pub(super) struct Steer {
    /// The task's id.
    #[arg(value_name = "TASK")]
    task: TaskId,
    /// Why, for those who read it later.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// How far it reaches below the task.
    #[arg(long, value_name = "HOW", default_value = "none", value_parser = one_of::<Propagation>())]
    propagate: Propagation,
    /// Repeating the command with the same key does nothing more.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(super) async fn pause(steer: Steer, here: &Here) -> Result<()> {
    let Steer { task: task_id, reason, propagate: propagation, key: idempotency_key } = steer;
    print(&here.run(&PauseTask { task_id, reason, propagation, idempotency_key }).await?, here)
}

pub(super) async fn resume(steer: Steer, here: &Here) -> Result<()> {
    let Steer { task: task_id, reason, propagate: propagation, key: idempotency_key } = steer;
    print(&here.run(&ResumeTask { task_id, reason, propagation, idempotency_key }).await?, here)
}

pub(super) async fn cancel(steer: Steer, here: &Here) -> Result<()> {
    let Steer { task: task_id, reason, propagate: propagation, key: idempotency_key } = steer;
    print(&here.run(&CancelTask { task_id, reason, propagation, idempotency_key }).await?, here)
}

fn print(result: &PropagatedTaskResult, here: &Here) -> Result<()> {
    if here.output.is_json() {
        return Ok(here.output.json(result)?);
    }
    let others = match result.affected_total {
        0 => String::new(),
        others => format!("; it reached {} below", count(others, "task")),
    };
    let status = result.status.shown(Glyphs::of_locale());
    here.output.note(format_args!("{} is {status}{others}", result.task_id));
    Ok(())
}
