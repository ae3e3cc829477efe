//! `factum task list`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::{ListTasks, TaskFilters};
use factum_model::id::{SessionId, TaskId, ThreadId};
use factum_model::task::{TaskRecord, TaskStatus, Visibility};

use super::Here;
use super::describe::{how_far, title, who};
use crate::commands::look::Stands;
use crate::glyphs::Glyphs;
use crate::output::DIM;
use crate::table::{Table, fit, pad};
use crate::terminal::columns;
use crate::words::{one_of, word};

/// As many tasks as the server puts on a page.
const PAGE_TASKS: u32 = 200;
/// Titles are cut at this width in a list.
const TITLE_WIDTH_MAX: usize = 60;
/// On the narrowest terminal there is still so much of a task.
const ROW_WIDTH_MIN: usize = 12;

#[derive(Debug, Args)]
pub(super) struct List {
    /// Only of this session.
    #[arg(long, value_name = "SESSION")]
    session: Option<SessionId>,
    /// Only of this thread.
    #[arg(long, value_name = "THREAD")]
    thread: Option<ThreadId>,
    /// Only children of this task.
    #[arg(long, value_name = "TASK")]
    parent: Option<TaskId>,
    /// Only of the graph with this root.
    #[arg(long, value_name = "TASK")]
    root: Option<TaskId>,
    /// Only those that stand here; may be given several times.
    #[arg(long, value_name = "STATUS", value_parser = one_of::<TaskStatus>())]
    status: Vec<TaskStatus>,
    /// Only of this kind.
    #[arg(long, value_name = "WORD")]
    kind: Option<String>,
    /// Only those seen by these.
    #[arg(long, value_name = "WHO", value_parser = one_of::<Visibility>())]
    visibility: Option<Visibility>,
    /// Only those this principal answers for.
    #[arg(long, value_name = "PRINCIPAL")]
    owner: Option<String>,
    /// Only those this principal does.
    #[arg(long, value_name = "PRINCIPAL")]
    assignee: Option<String>,
    /// So many tasks at most.
    #[arg(long, default_value = "50", value_name = "N", conflicts_with = "all")]
    limit: usize,
    /// Everything there is, however much.
    #[arg(long)]
    all: bool,
}

pub(super) async fn run(list: List, here: &Here) -> Result<()> {
    let max = if list.all { usize::MAX } else { list.limit };
    let filters = TaskFilters {
        session_id: list.session,
        thread_id: list.thread,
        parent_task_id: list.parent,
        root_task_id: list.root,
        status: list.status,
        task_kind: list.kind,
        visibility: list.visibility,
        owner: list.owner,
        assignee: list.assignee,
    };
    let found = find(filters, max, here).await?;
    if here.output.is_json() {
        here.output.rows(&found.tasks)?;
    } else {
        let width = if here.output.is_terminal() { columns() } else { usize::MAX };
        lines(&found.tasks, Glyphs::of_locale(), width).iter().try_for_each(|line| here.output.line(line))?;
    }
    match found.more {
        true => here.output.note("there are more; --limit or --all shows them"),
        false if found.tasks.is_empty() => here.output.note("no tasks; `factum task create` makes one"),
        false => {}
    }
    Ok(())
}

/// Tasks, and whether there are more.
pub(super) struct Found {
    pub(super) tasks: Vec<TaskRecord>,
    pub(super) more: bool,
}

/// The tasks these filters let through, newest first, up to a number.
pub(super) async fn find(filters: TaskFilters, max: usize, here: &Here) -> Result<Found> {
    let mut command = ListTasks { filters, beside: TaskFilters::default(), limit: None, cursor: None };
    let mut tasks = Vec::new();
    loop {
        let left = u32::try_from(max - tasks.len()).unwrap_or(u32::MAX);
        command.limit = Some(left.clamp(1, PAGE_TASKS));
        let page = here.run(&command).await?;
        tasks.extend(page.tasks);
        command.cursor = page.next_cursor;
        if command.cursor.is_none() || tasks.len() >= max {
            let more = command.cursor.is_some() || tasks.len() > max;
            tasks.truncate(max);
            return Ok(Found { tasks, more });
        }
    }
}

/// One line each, in columns.
fn lines(tasks: &[TaskRecord], glyphs: Glyphs, width: usize) -> Vec<String> {
    let mut table = Table::default();
    for task in tasks {
        let name = fit(&title(task), TITLE_WIDTH_MAX, glyphs);
        table.row([word(task.status), name, how_far(task.progress.as_ref()), who(task).unwrap_or_default()]);
    }
    let id_width = tasks.iter().map(|task| task.task_id.as_str().len()).max().unwrap_or(0);
    let rows = table.lines().into_iter().zip(tasks);
    rows.map(|(row, task)| {
        // The id first and whole, since it is what other commands want; the rest in what room there is.
        let (id, room) = (pad(task.task_id.as_str(), id_width), width.saturating_sub(id_width + 4));
        let row = fit(&row, room.max(ROW_WIDTH_MIN), glyphs);
        format!("{DIM}{id}{DIM:#}  {} {}", task.status.look().sign(glyphs), task.status.look().paint(&row))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::super::describe::tests::task;
    use super::*;

    #[test]
    fn a_list_is_columns_with_whole_ids() {
        let mut long = task("task_2", "completed");
        long.title = Some("A very long title indeed, which does not fit".to_owned());
        let tasks = [task("task_1", "running"), long];
        let shown = |width| -> Vec<String> {
            let lines = lines(&tasks, Glyphs::Ascii, width);
            lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect()
        };
        let expected = [
            "task_1  * running    Task task_1                                   agent://a",
            "task_2  + completed  A very long title indeed, which does not fit  agent://a",
        ];
        assert_eq!(shown(usize::MAX), expected);
        assert_eq!(shown(40)[1], "task_2  + completed  A very long titl...");
    }
}
