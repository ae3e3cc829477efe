//! `factum subagent close`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::CloseSubagent;
use factum_model::id::SubagentId;

use super::{Here, report};
use crate::when::parse_ms;

#[derive(Debug, Args)]
pub(super) struct Close {
    /// The child agent's id.
    #[arg(value_name = "SUBAGENT")]
    subagent: SubagentId,
    /// How long what runs may take to end by itself: 500ms, 5s, 1m [default: it is ended at once]
    #[arg(long, value_name = "SPAN", value_parser = parse_ms)]
    grace: Option<u64>,
    /// Why, for those who read it later.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Repeating the command with the same key does nothing more.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(super) async fn run(close: Close, here: &Here) -> Result<()> {
    let Close { subagent: subagent_id, grace: grace_ms, reason, key: idempotency_key } = close;
    report(&here.run(&CloseSubagent { subagent_id, reason, grace_ms, idempotency_key }).await?, here)
}
