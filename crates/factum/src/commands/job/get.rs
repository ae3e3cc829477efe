//! `factum job get`: a batch and a page of its items, or all of them.

use anyhow::Result;
use clap::Args;
use factum_model::commands::{GetJob, GetJobResult};
use factum_model::id::JobId;
use factum_model::job::JobItemStatus;
use jiff::tz::TimeZone;

use super::Here;
use super::describe::describe;
use crate::glyphs::Glyphs;
use crate::words::one_of;

/// As many items as are asked for at once.
const PAGE_ITEMS: u32 = 200;

#[derive(Debug, Args)]
pub(super) struct Get {
    /// The job's id.
    #[arg(value_name = "JOB")]
    job: JobId,
    /// Only items that stand here.
    #[arg(long, value_name = "STATUS", value_parser = one_of::<JobItemStatus>())]
    status: Option<JobItemStatus>,
    /// So many items at most.
    #[arg(long, default_value = "50", value_name = "N", conflicts_with = "all")]
    limit: usize,
    /// All items, however many.
    #[arg(long)]
    all: bool,
}

pub(super) async fn run(get: Get, here: &Here) -> Result<()> {
    let max = if get.all { usize::MAX } else { get.limit };
    let found = find(get, max, here).await?;
    let more = found.next_item_cursor.is_some();
    if here.output.is_json() {
        here.output.json(&found)?;
    } else {
        let lines = describe(&found.job, &found.items, &TimeZone::system(), Glyphs::of_locale());
        lines.iter().try_for_each(|line| here.output.line(line))?;
    }
    if more {
        here.output.note("there are more items; --limit or --all shows them");
    }
    Ok(())
}

async fn find(get: Get, max: usize, here: &Here) -> Result<GetJobResult> {
    let ask = |item_cursor, left: usize| GetJob {
        job_id: get.job.clone(),
        item_status: get.status,
        item_limit: Some(u32::try_from(left).unwrap_or(u32::MAX).clamp(1, PAGE_ITEMS)),
        item_cursor,
    };
    let mut found = here.run(&ask(None, max)).await?;
    while found.items.len() < max && found.next_item_cursor.is_some() {
        let page = here.run(&ask(found.next_item_cursor.take(), max - found.items.len())).await?;
        found.items.extend(page.items);
        (found.job, found.next_item_cursor) = (page.job, page.next_item_cursor);
    }
    Ok(found)
}
