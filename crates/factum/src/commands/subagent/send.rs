//! `factum subagent send`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::SendSubagentInput;
use factum_model::id::SubagentId;

use super::{Here, input, report};

#[derive(Debug, Args)]
pub(super) struct Send {
    /// The child agent's id.
    #[arg(value_name = "SUBAGENT")]
    subagent: SubagentId,
    /// What is said, or - for stdin.
    #[arg(value_name = "TEXT", required = true)]
    input: Vec<String>,
    /// Repeating the command with the same key says nothing more.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(super) async fn run(send: Send, here: &Here) -> Result<()> {
    let input = input::read(&send.input)?;
    let command = SendSubagentInput { subagent_id: send.subagent, input, idempotency_key: send.key };
    report(&here.run(&command).await?, here)
}
