//! `factum job list`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::ListJobs;
use factum_model::id::{SessionId, TaskId, ThreadId};
use factum_model::job::JobStatus;

use super::Here;
use super::describe::rows;
use crate::glyphs::Glyphs;
use crate::words::one_of;

/// As many jobs as the server puts on a page.
const PAGE_JOBS: u32 = 200;

#[derive(Debug, Args)]
pub(super) struct List {
    /// Only of this session.
    #[arg(long, value_name = "SESSION")]
    session: Option<SessionId>,
    /// Only those that work in this thread.
    #[arg(long, value_name = "THREAD")]
    thread: Option<ThreadId>,
    /// Only those of this task.
    #[arg(long, value_name = "TASK")]
    task: Option<TaskId>,
    /// Only those that stand here; may be given several times.
    #[arg(long, value_name = "STATUS", value_parser = one_of::<JobStatus>())]
    status: Vec<JobStatus>,
    /// So many jobs at most.
    #[arg(long, default_value = "50", value_name = "N", conflicts_with = "all")]
    limit: usize,
    /// Everything there is, however much.
    #[arg(long)]
    all: bool,
}

pub(super) async fn run(list: List, here: &Here) -> Result<()> {
    let max = if list.all { usize::MAX } else { list.limit };
    let mut command = ListJobs {
        session_id: list.session,
        thread_id: list.thread,
        task_id: list.task,
        status: list.status,
        limit: None,
        cursor: None,
    };
    let mut jobs = Vec::new();
    while jobs.len() < max {
        command.limit = Some(u32::try_from(max - jobs.len()).unwrap_or(u32::MAX).min(PAGE_JOBS));
        let page = here.run(&command).await?;
        jobs.extend(page.jobs);
        command.cursor = page.next_cursor;
        if command.cursor.is_none() {
            break;
        }
    }
    if here.output.is_json() {
        here.output.rows(&jobs)?;
    } else {
        rows(&jobs, Glyphs::of_locale()).iter().try_for_each(|line| here.output.line(line))?;
    }
    match command.cursor {
        Some(_) => here.output.note("there are more; --limit or --all shows them"),
        None if jobs.is_empty() => here.output.note("no jobs; `factum job create` makes one"),
        None => {}
    }
    Ok(())
}
