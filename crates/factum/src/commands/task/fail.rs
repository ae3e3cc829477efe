//! `factum task fail`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::FailTask;
use factum_model::id::{RunId, TaskId};
use factum_model::value::Failure;

use super::{Here, report};

#[derive(Debug, Args)]
pub(super) struct Fail {
    /// The task's id.
    #[arg(value_name = "TASK")]
    task: TaskId,
    /// What went wrong.
    #[arg(value_name = "MESSAGE", required = true)]
    message: Vec<String>,
    /// What kind of failure it is, which the retry policy looks at.
    #[arg(long, value_name = "WORD", default_value = "failed")]
    category: String,
    /// Trying again will not help.
    #[arg(long = "final")]
    no_retry: bool,
    /// What somebody could do about it.
    #[arg(long, value_name = "TEXT")]
    advice: Option<String>,
    /// The run that failed; an old one is refused.
    #[arg(long, value_name = "RUN")]
    run: Option<RunId>,
    /// The token of the claim, where a worker reports.
    #[arg(long, value_name = "N", requires = "run")]
    lease_token: Option<u64>,
    /// Repeating the command with the same key does nothing more.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(super) async fn run(fail: Fail, here: &Here) -> Result<()> {
    let error = Failure {
        category: fail.category,
        message: fail.message.join(" "),
        retryable: !fail.no_retry,
        advice: fail.advice,
    };
    let command = FailTask {
        task_id: fail.task,
        run_id: fail.run,
        lease_token: fail.lease_token,
        error,
        native_status: None,
        idempotency_key: fail.key,
    };
    let result = here.run(&command).await?;
    report(&result, &result.task_id, result.status, here)
}
