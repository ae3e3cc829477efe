//! `factum verify`: a store, from its bytes to its facts. Changes nothing.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use factum_store::{FindingKind, VerifyReport, verify};
use serde_json::{Value, json};

use crate::cli::{App, Usual};
use crate::config::Flags;
use crate::domain::{Domain, Report};
use crate::failure::{Exit, Problem};
use crate::host;
use crate::output::{GREEN, RED};

#[derive(Debug, Args)]
#[command(
    after_help = "Exits with 0 where the store is sound, 1 where something was found, 2 where it cannot be checked."
)]
pub(crate) struct Verify {
    /// The directory of the store [default: ./.factum]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

pub(crate) fn run(command: &Verify, app: &App) -> Result<Exit> {
    let data_dir = command.data_dir.as_ref().map(|dir| dir.display().to_string());
    let settings = app.load(&Flags::default().with("store", "data_dir", data_dir), Usual::Quiet)?.settings;
    let dir = &settings.store.data_dir;
    if !dir.join("FORMAT").exists() {
        let problem = Problem::cannot_run(format!("there is no store in {}", dir.display()));
        return Err(problem.advice("give the directory of one with --data-dir").into());
    }
    let mut domain = Domain::default();
    let log = verify(dir, &mut |commit| domain.commit(commit)).map_err(|error| host::cannot_open(dir, error))?;
    let facts = domain.finish();
    let sound = log.is_sound() && facts.findings.is_empty();
    if app.output.is_json() {
        app.output.json(&json_report(&log, &facts, sound))?;
    } else {
        print(&log, &facts, app)?;
    }
    Ok(if sound { Exit::Ok } else { Exit::Findings })
}

fn print(log: &VerifyReport, facts: &Report, app: &App) -> Result<()> {
    let output = &app.output;
    for finding in &log.findings {
        output.line(format_args!("{RED}found{RED:#}  {finding}"))?;
    }
    for finding in &facts.findings {
        let (stream, sequence, position) = (&finding.stream, finding.sequence, finding.position);
        output.line(format_args!(
            "{RED}found{RED:#}  {stream} sequence {sequence} (position {position}): {}",
            finding.what
        ))?;
    }
    let more = log.findings_left_out + facts.findings_left_out;
    if more > 0 {
        output.line(format_args!("{RED}found{RED:#}  and {more} more"))?;
    }
    let (segments, commits, records, streams) = (log.segments, log.commits, log.records, log.streams);
    output.line(format_args!(
        "log    {segments} segments, {commits} commits, {records} records, {streams} streams: checksums and hash chains"
    ))?;
    let index = log
        .index_position
        .map_or_else(|| "none, made at the next start".to_owned(), |at| format!("compared at position {at}"));
    output.line(format_args!("index  {index}"))?;
    let (events, folded, sessions, channels) = (facts.events, facts.folded_commits, facts.sessions, facts.channels);
    output.line(format_args!(
        "facts  {events} events read, {folded} commits of {sessions} sessions and {channels} channels folded again and compared"
    ))?;
    if facts.not_folded_commits > 0 {
        output.line(format_args!(
            "       {} commits were not folded: too many sessions or channels, or damage before them",
            facts.not_folded_commits
        ))?;
    }
    if facts.unknown_stream_commits > 0 {
        output.line(format_args!(
            "       {} commits are of streams this version does not know",
            facts.unknown_stream_commits
        ))?;
    }
    match log.findings.len() + facts.findings.len() + usize::try_from(more).unwrap_or(usize::MAX) {
        0 => output.line(format_args!("{GREEN}sound{GREEN:#}"))?,
        count => {
            output.line(format_args!("{RED}{count} findings{RED:#}"))?;
            advise(log, app);
        }
    }
    Ok(())
}

fn advise(log: &VerifyReport, app: &App) {
    let all = |kind: FindingKind| !log.findings.is_empty() && log.findings.iter().all(|finding| finding.kind == kind);
    if all(FindingKind::IndexDiffers) {
        app.output
            .note("The log is whole; only the derived index differs. Delete index/ and the next start makes it again.");
    } else if all(FindingKind::Torn) {
        app.output.note("Only an interrupted write was found, which nobody was told of. The next start drops it.");
    } else if !log.findings.is_empty() {
        app.output.note("Restore what is damaged from a backup. `factum repair --truncate-tail --dry-run` shows what cutting the end off would cost.");
    }
}

fn json_report(log: &VerifyReport, facts: &Report, sound: bool) -> Value {
    let findings: Vec<Value> = log.findings.iter().map(|finding| {
        json!({
            "kind": kind(finding.kind), "file": finding.file, "offset": finding.offset, "position": finding.position,
            "stream": finding.stream.as_deref(), "sequence": finding.sequence, "what": finding.what,
        })
    }).collect();
    json!({
        "sound": sound,
        "log": {
            "segments": log.segments, "commits": log.commits, "records": log.records, "streams": log.streams,
            "position": log.position, "index_position": log.index_position,
            "findings": findings, "findings_left_out": log.findings_left_out,
        },
        "facts": facts,
    })
}

fn kind(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Flipped => "flipped",
        FindingKind::Missing => "missing",
        FindingKind::Cut => "cut",
        FindingKind::OutOfPlace => "out_of_place",
        FindingKind::Torn => "torn",
        FindingKind::IndexDiffers => "index_differs",
        FindingKind::Unreadable => "unreadable",
    }
}
