//! `factum job create`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::{CreateJob, NewJobItem};
use factum_model::id::{JobId, SessionId, TaskId};

use super::Here;
use super::items::{ItemArgs, none};
use crate::commands::execution::ExecutionArgs;
use crate::commands::look::Stands;
use crate::glyphs::Glyphs;
use crate::table::count;
use crate::when::parse_ms;

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["instruction", "instruction_ref"]))]
pub(super) struct Create {
    /// What to do with each item.
    #[arg(long, value_name = "TEXT")]
    instruction: Option<String>,
    /// A ref to what to do with each item.
    #[arg(long, value_name = "REF")]
    instruction_ref: Option<String>,
    #[command(flatten)]
    items: ItemArgs,
    /// A few words for lists.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The session it belongs to [default: a new one]
    #[arg(long, value_name = "SESSION")]
    session: Option<SessionId>,
    /// The task it is a part of.
    #[arg(long, value_name = "TASK")]
    task: Option<TaskId>,
    /// An id of your own; repeating the command with the same one gives the same job.
    #[arg(long, value_name = "JOB")]
    id: Option<JobId>,
    #[command(flatten)]
    execution: ExecutionArgs,
    /// Something all items are given; may be given several times.
    #[arg(long = "input", value_name = "REF")]
    inputs: Vec<String>,
    /// A ref to the schema of what comes out.
    #[arg(long, value_name = "REF")]
    output_schema: Option<String>,
    /// How long the whole batch may take: 30s, 10m, 2h.
    #[arg(long, value_name = "SPAN", value_parser = parse_ms)]
    max_runtime: Option<u64>,
    /// So many items at once at most.
    #[arg(long, value_name = "N")]
    concurrency: Option<u32>,
    /// So many attempts of one item at most.
    #[arg(long, value_name = "N")]
    attempts: Option<u32>,
    /// Repeating the command with the same key gives the same job.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(super) async fn run(create: Create, here: &Here) -> Result<()> {
    let items = create.items.read()?;
    if items.is_empty() {
        return Err(none().into());
    }
    let item = |arguments| NewJobItem { job_item_id: None, arguments: Some(arguments), input_ref: None };
    let command = CreateJob {
        session_id: create.session,
        task_id: create.task,
        job_id: create.id,
        title: create.title,
        instruction: create.instruction,
        instruction_ref: create.instruction_ref,
        execution: create.execution.into_execution(false),
        items: items.into_iter().map(item).collect(),
        input_refs: create.inputs,
        output_schema_ref: create.output_schema,
        max_runtime_ms: create.max_runtime,
        max_concurrency: create.concurrency,
        max_item_attempts: create.attempts,
        idempotency_key: create.key,
    };
    let created = here.run(&command).await?;
    if here.output.is_json() {
        return Ok(here.output.json(&created)?);
    }
    here.output.line(&created.job_id)?;
    let (status, items) = (created.status.shown(Glyphs::of_locale()), count(created.items_total, "item"));
    here.output.note(format_args!("{status} with {items} in {}", created.session_id));
    Ok(())
}
