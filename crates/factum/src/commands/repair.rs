//! `factum repair --truncate-tail`: cuts off what is damaged at the end of the log, after asking.

use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use factum_store::{RepairMode, RepairReport, repair_truncate_tail};
use serde_json::{Value, json};

use crate::cli::{App, Usual};
use crate::config::Flags;
use crate::failure::{Exit, Problem};
use crate::host;
use crate::output::say;

#[derive(Debug, Args)]
pub(crate) struct Repair {
    /// Keep everything up to the last intact commit of the last segment, set the rest aside.
    #[arg(long, required = true)]
    truncate_tail: bool,
    /// Only say what would be dropped.
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    /// The directory of the store [default: ./.factum]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

pub(crate) fn run(repair: &Repair, app: &App) -> Result<Exit> {
    let data_dir = repair.data_dir.as_ref().map(|dir| dir.display().to_string());
    let settings = app.load(&Flags::default().with("store", "data_dir", data_dir), Usual::Quiet)?.settings;
    let dir = &settings.store.data_dir;
    let cut = |mode| repair_truncate_tail(dir, mode).map_err(|error| host::cannot_open(dir, error));
    let mut report = cut(RepairMode::DryRun)?;
    let needed = report.dropped_bytes > 0 || report.was_cut;
    let apply = needed && !repair.dry_run;
    if apply {
        if !repair.yes {
            print(&report, Tense::Future, app)?;
            confirm()?;
        }
        report = cut(RepairMode::Apply)?;
    }
    if app.output.is_json() {
        app.output.json(&json_report(&report, apply))?;
    } else {
        print(&report, if apply { Tense::Past } else { Tense::Future }, app)?;
    }
    Ok(if needed && !apply { Exit::Findings } else { Exit::Ok })
}

/// Nobody is asked where nobody can answer.
fn confirm() -> Result<()> {
    if !std::io::stdin().is_terminal() {
        let problem = Problem::cannot_run("nothing was changed").because("there is nobody to ask");
        return Err(problem.advice("give --yes once --dry-run has shown what would be lost").into());
    }
    say("Type yes to go on:");
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    if answer.trim() == "yes" { Ok(()) } else { Err(Problem::refused("nothing was changed").into()) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tense {
    Past,
    Future,
}

fn print(report: &RepairReport, tense: Tense, app: &App) -> Result<()> {
    let output = &app.output;
    if report.dropped_bytes == 0 && !report.was_cut {
        output.line("nothing to repair: the log ends with an intact commit")?;
        return Ok(());
    }
    let verb = if tense == Tense::Past { "dropped" } else { "would drop" };
    let (bytes, file, offset) = (report.dropped_bytes, &report.file, report.offset);
    output.line(format_args!(
        "{verb} {bytes} bytes of {file} from offset {offset}; the log ends at position {}",
        report.position
    ))?;
    if report.was_cut {
        output.line("the file is shorter than it was made and gets its length back")?;
    }
    for commit in &report.dropped_commits {
        let (first, last) = (commit.first_sequence, commit.last_sequence);
        output.line(format_args!("{verb} a readable commit of {}: sequences {first} to {last}", commit.stream))?;
    }
    if let Some(kept) = &report.kept_in {
        output.line(format_args!("the bytes are kept in {kept}"))?;
    }
    Ok(())
}

fn json_report(report: &RepairReport, applied: bool) -> Value {
    let commits: Vec<Value> = report
        .dropped_commits
        .iter()
        .map(|commit| {
            json!({
                "stream": &*commit.stream, "first_sequence": commit.first_sequence,
                "last_sequence": commit.last_sequence, "position": commit.position,
            })
        })
        .collect();
    json!({
        "applied": applied, "file": report.file, "offset": report.offset, "position": report.position,
        "dropped_bytes": report.dropped_bytes, "dropped_commits": commits, "kept_in": report.kept_in,
        "was_cut": report.was_cut,
    })
}
