//! `factum subagent resume`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::ResumeSubagent;
use factum_model::id::SubagentId;

use super::{Here, input, report};

#[derive(Debug, Args)]
pub(super) struct Resume {
    /// The child agent's id.
    #[arg(value_name = "SUBAGENT")]
    subagent: SubagentId,
    /// What is said, or - for stdin [default: that it shall continue]
    #[arg(value_name = "TEXT")]
    input: Vec<String>,
    /// Repeating the command with the same key resumes nothing more.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(super) async fn run(resume: Resume, here: &Here) -> Result<()> {
    let input = Some(input::read(&resume.input)?).filter(|parts| !parts.is_empty());
    let (subagent_id, idempotency_key) = (resume.subagent, resume.key);
    report(&here.run(&ResumeSubagent { subagent_id, input, resume_token: None, idempotency_key }).await?, here)
}
