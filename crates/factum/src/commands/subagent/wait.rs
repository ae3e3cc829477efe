//! `factum subagent wait`: until child agents have come to rest, or the time is over.
//!
//! A server bounds how long one request may take, so a long wait is several, each woken by what happens.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use factum_model::commands::{WaitSubagents, WaitSubagentsResult, WaitUntil};
use factum_model::id::SubagentId;
use tokio::time::Instant;

use super::Here;
use super::describe::rows;
use crate::failure::Exit;
use crate::glyphs::Glyphs;
use crate::when::parse_ms;

/// As long as one request waits: less than servers give one.
const REQUEST_WAIT_MAX: Duration = Duration::from_secs(20);

#[derive(Debug, Args)]
#[command(after_help = "\
A child rests when it is idle, completed, failed, cancelled, lost or closed. One that waits for a person does not.
Ends with 0 where they rest, with 1 where the time is over first.")]
pub(super) struct Wait {
    /// The child agents' ids.
    #[arg(value_name = "SUBAGENT", required = true)]
    subagents: Vec<SubagentId>,
    /// Until one of them rests, not all.
    #[arg(long)]
    any: bool,
    /// How long at most: 30s, 10m, 2h [default: as long as it takes]
    #[arg(long, value_name = "SPAN", value_parser = parse_ms)]
    timeout: Option<u64>,
}

pub(super) async fn run(wait: Wait, here: &Here) -> Result<Exit> {
    let waited = until_they_rest(&wait, here).await?;
    if here.output.is_json() {
        here.output.json(&waited)?;
    } else {
        rows(&waited.subagents, Glyphs::of_locale()).iter().try_for_each(|line| here.output.line(line))?;
    }
    if !waited.timed_out {
        return Ok(Exit::Ok);
    }
    here.output.note("the time is over and they do not rest yet");
    Ok(Exit::Findings)
}

async fn until_they_rest(wait: &Wait, here: &Here) -> Result<WaitSubagentsResult> {
    let began = Instant::now();
    loop {
        let left = wait.timeout.map(|ms| Duration::from_millis(ms).saturating_sub(began.elapsed()));
        let now = left.map_or(REQUEST_WAIT_MAX, |left| left.min(REQUEST_WAIT_MAX));
        let waited = here.run(&question(wait, now)).await?;
        if !waited.timed_out || left.is_some_and(|left| left <= REQUEST_WAIT_MAX) {
            return Ok(waited);
        }
    }
}

fn question(wait: &Wait, time: Duration) -> WaitSubagents {
    WaitSubagents {
        subagent_ids: wait.subagents.clone(),
        until: if wait.any { WaitUntil::Any } else { WaitUntil::All },
        timeout_ms: Some(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
    }
}
