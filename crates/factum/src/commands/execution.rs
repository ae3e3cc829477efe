//! Who does the work: the flags that tasks, jobs and schedules share.

use clap::Args;
use factum_model::task::Execution;

// (No doc comment: it would become the subcommand's help.)
#[derive(Debug, Args)]
pub(super) struct ExecutionArgs {
    /// Workers claim it from this queue.
    #[arg(long, value_name = "QUEUE", conflicts_with = "agent")]
    queue: Option<String>,
    /// What a worker has to be able to do; may be given several times.
    #[arg(long = "capability", value_name = "WORD", requires = "queue")]
    capabilities: Vec<String>,
    /// An agent of the server does it.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
}

impl ExecutionArgs {
    pub(super) fn into_execution(self, auto_complete: bool) -> Execution {
        Execution {
            queue: self.queue,
            required_capabilities: self.capabilities,
            agent: self.agent,
            peer: None,
            auto_complete,
        }
    }
}

/// The same in words; nothing where nobody is named.
pub(super) fn describe(execution: &Execution) -> Option<String> {
    let able = match execution.required_capabilities.as_slice() {
        [] => String::new(),
        words => format!(" ({})", words.join(", ")),
    };
    match (&execution.agent, &execution.queue, &execution.peer) {
        (Some(agent), ..) => Some(format!("agent {agent}")),
        (None, Some(queue), _) => Some(format!("queue {queue}{able}")),
        (None, None, Some(peer)) => Some(format!("peer {peer}")),
        (None, None, None) => None,
    }
}
