//! `factum subagent show`: one child agent as it stands now.

use anyhow::Result;
use clap::Args;
use factum_model::commands::{WaitSubagents, WaitUntil};
use factum_model::id::SubagentId;
use jiff::tz::TimeZone;

use super::Here;
use super::describe::describe;
use crate::glyphs::Glyphs;

#[derive(Debug, Args)]
pub(super) struct Show {
    /// The child agent's id.
    #[arg(value_name = "SUBAGENT")]
    subagent: SubagentId,
}

pub(super) async fn run(show: Show, here: &Here) -> Result<()> {
    // A wait without time only looks.
    let look = WaitSubagents { subagent_ids: vec![show.subagent], until: WaitUntil::All, timeout_ms: Some(0) };
    let found = here.run(&look).await?.subagents;
    for subagent in &found {
        if here.output.is_json() {
            here.output.json(subagent)?;
            continue;
        }
        let lines = describe(subagent, &TimeZone::system(), Glyphs::of_locale());
        lines.iter().try_for_each(|line| here.output.line(line))?;
    }
    Ok(())
}
