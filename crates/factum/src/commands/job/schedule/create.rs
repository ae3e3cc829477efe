//! `factum job schedule create`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::{CreateSchedule, NewJobItem};
use factum_model::id::{ScheduleId, SessionId};
use factum_model::job::{JobTemplate, MissedRuns, Overlap, Schedule};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::Here;
use crate::commands::execution::ExecutionArgs;
use crate::commands::job::items::ItemArgs;
use crate::when::{local, parse_ms};
use crate::words::one_of;

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("when").required(true).args(["cron", "every"]))]
pub(super) struct Create {
    /// Minute, hour, day of month, month, day of week: '0 6 * * 1-5'.
    #[arg(long, value_name = "FIELDS")]
    cron: Option<String>,
    /// In which the fields are meant, such as Europe/Vienna [default: UTC]
    #[arg(long, value_name = "ZONE", requires = "cron")]
    time_zone: Option<String>,
    /// Every so long: 30s, 10m, 2h, 1d.
    #[arg(long, value_name = "SPAN", value_parser = parse_ms)]
    every: Option<u64>,
    /// Not before, such as 2026-01-01T00:00:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    start: Option<Timestamp>,
    /// Not after.
    #[arg(long, value_name = "TIME")]
    end: Option<Timestamp>,
    /// What to do about times that passed while nobody was there.
    #[arg(long, value_name = "WHAT", default_value = "once", value_parser = one_of::<MissedRuns>())]
    missed: MissedRuns,
    /// What to do while the job before is still at work.
    #[arg(long, value_name = "WHAT", default_value = "allow", value_parser = one_of::<Overlap>())]
    overlap: Overlap,
    /// What to do with each item.
    #[arg(long, value_name = "TEXT")]
    instruction: String,
    #[command(flatten)]
    items: ItemArgs,
    /// A few words for lists.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The session it belongs to [default: a new one]
    #[arg(long, value_name = "SESSION")]
    session: Option<SessionId>,
    /// An id of your own; repeating the command with the same one gives the same schedule.
    #[arg(long, value_name = "SCHEDULE")]
    id: Option<ScheduleId>,
    #[command(flatten)]
    execution: ExecutionArgs,
    /// How long one job may take: 30s, 10m, 2h.
    #[arg(long, value_name = "SPAN", value_parser = parse_ms)]
    max_runtime: Option<u64>,
    /// So many items of a job at once at most.
    #[arg(long, value_name = "N")]
    concurrency: Option<u32>,
    /// So many attempts of one item at most.
    #[arg(long, value_name = "N")]
    attempts: Option<u32>,
    /// Repeating the command with the same key gives the same schedule.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(super) async fn run(create: Create, here: &Here) -> Result<()> {
    let item = |arguments| NewJobItem { job_item_id: None, arguments: Some(arguments), input_ref: None };
    let mut items: Vec<NewJobItem> = create.items.read()?.into_iter().map(item).collect();
    if items.is_empty() {
        items.push(NewJobItem::default());
    }
    let job = JobTemplate {
        title: create.title.clone(),
        instruction: create.instruction,
        execution: create.execution.into_execution(false),
        items,
        max_runtime_ms: create.max_runtime,
        max_concurrency: create.concurrency,
        max_item_attempts: create.attempts,
    };
    let schedule = Schedule {
        title: create.title,
        cron: create.cron,
        time_zone: create.time_zone,
        every_ms: create.every,
        start_at: create.start,
        end_at: create.end,
        missed: create.missed,
        overlap: create.overlap,
        job,
    };
    let command =
        CreateSchedule { session_id: create.session, schedule_id: create.id, schedule, idempotency_key: create.key };
    let created = here.run(&command).await?;
    if here.output.is_json() {
        return Ok(here.output.json(&created)?);
    }
    here.output.line(&created.schedule_id)?;
    match created.next_at {
        Some(at) => here.output.note(format_args!("first on {}", local(at, &TimeZone::system()))),
        None => here.output.note("it will never come"),
    }
    Ok(())
}
