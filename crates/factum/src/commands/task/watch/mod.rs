//! `factum task watch`: a task and everything below it, until it ends.
//!
//! What stands there is read once, then the session's events are followed from the sequence before that reading on. Facts
//! that a task's record already reflects are left out, so nothing is told twice and nothing is missed in between.

mod graph;

use anyhow::Result;
use clap::Args;
use factum_model::commands::{GetTask, GetTaskSnapshot};
use factum_model::id::TaskId;
use factum_model::task::TaskStatus;
use jiff::tz::TimeZone;

use self::graph::{Change, Graph, Seen};
use super::Here;
use super::tree::below;
use crate::client::{Follow, Followed};
use crate::commands::live::{Live, Weight};
use crate::commands::look::Stands;
use crate::failure::Exit;
use crate::glyphs::Glyphs;
use crate::output::DIM;

/// As many tasks as are watched.
const WATCH_TASKS_MAX: usize = 10_000;

#[derive(Debug, Args)]
#[command(after_help = "\
Ends with 0 where the task completes, with 1 where it ends in any other way. A lost task has not ended.
With -o jsonl the events themselves are printed.")]
pub(super) struct Watch {
    /// The task at the top.
    #[arg(value_name = "TASK")]
    task: TaskId,
}

pub(super) async fn run(watch: &Watch, here: &Here) -> Result<Exit> {
    let (mut graph, mut follow) = open(&watch.task, here).await?;
    if here.output.is_json() {
        while graph.outcome().is_none() {
            let event = follow.next().await?;
            if graph.saw(&seen(&event)?).is_some() {
                here.output.json_text(&event.json)?;
            }
        }
    } else {
        show(&mut graph, &mut follow, here).await?;
    }
    Ok(match graph.outcome() {
        Some(TaskStatus::Completed) => Exit::Ok,
        _ => Exit::Findings,
    })
}

/// The graph as it stands, and what follows.
async fn open(top: &TaskId, here: &Here) -> Result<(Graph, Follow)> {
    let session_id = here.run(&GetTask { task_id: top.clone(), as_of: None }).await?.session_id;
    let question = GetTaskSnapshot { session_id, root_task_id: Some(top.clone()), limit: Some(1) };
    let snapshot = here.run(&question).await?;
    let tasks = below(top, WATCH_TASKS_MAX, here).await?;
    if !tasks.complete {
        here.output.warn(format_args!("there are more than {WATCH_TASKS_MAX} tasks; not all of them are watched"));
    }
    let follow = Follow::new(here.client.clone(), snapshot.session_id.as_str(), snapshot.as_of_sequence);
    Ok((Graph::new(top, tasks.tasks), follow))
}

async fn show(graph: &mut Graph, follow: &mut Follow, here: &Here) -> Result<()> {
    let (glyphs, zone) = (Glyphs::of_locale(), TimeZone::system());
    let mut live = Live::new(here.output, glyphs);
    if graph.outcome().is_none() {
        live.changed(Weight::Step, &graph.stand(glyphs))?;
    }
    live.show(&graph.board(live.rows_max()));
    while graph.outcome().is_none() {
        let event = seen(&follow.next().await?)?;
        if let Some(change) = graph.saw(&event) {
            let weight = if change.ended { Weight::End } else { Weight::Step };
            live.changed(weight, &line(&change, &event, &zone, glyphs))?;
            live.show(&graph.board(live.rows_max()));
        }
    }
    live.finish();
    Ok(here.output.line(graph.stand(glyphs))?)
}

fn seen(event: &Followed) -> Result<Seen> {
    Ok(serde_json::from_str(&event.json)?)
}

/// `10:00:00  ● running    Write the report  40% counting`.
fn line(change: &Change, event: &Seen, zone: &TimeZone, glyphs: Glyphs) -> String {
    let time = event.timestamp.to_zoned(zone.clone()).strftime("%H:%M:%S");
    let note = if change.note.is_empty() { String::new() } else { format!("  {}", change.note) };
    format!("{DIM}{time}{DIM:#}  {}  {}{note}", change.status.shown(glyphs), change.name)
}
