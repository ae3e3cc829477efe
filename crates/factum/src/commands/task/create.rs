//! `factum task create`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::{CreateTask, CreateTaskResult, StartTask};
use factum_model::id::{SessionId, TaskId, ThreadId};
use factum_model::task::{Execution, Priority, TaskStatus, Visibility};
use factum_model::value::Metadata;
use serde_json::Value;

use super::Here;
use super::policy::{Needs, Policy, parse_json};
use crate::commands::execution::ExecutionArgs;
use crate::commands::look::Stands;
use crate::glyphs::Glyphs;
use crate::words::one_of;

#[derive(Debug, Args)]
pub(super) struct Create {
    /// What is to be reached.
    #[arg(value_name = "OBJECTIVE", required = true)]
    objective: Vec<String>,
    /// A few words for lists.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The session it belongs to [default: the parent's, or a new one]
    #[arg(long, value_name = "SESSION")]
    session: Option<SessionId>,
    /// The thread it belongs to.
    #[arg(long, value_name = "THREAD")]
    thread: Option<ThreadId>,
    /// The task it is a part of.
    #[arg(long, value_name = "TASK")]
    parent: Option<TaskId>,
    /// An id of your own; repeating the command with the same one gives the same task.
    #[arg(long, value_name = "TASK")]
    id: Option<TaskId>,
    /// A task that has to complete first; may be given several times.
    #[arg(long, value_name = "TASK")]
    blocked_by: Vec<TaskId>,
    /// What kind of task, in your words.
    #[arg(long, value_name = "WORD")]
    kind: Option<String>,
    /// What family of tasks, in your words.
    #[arg(long, value_name = "WORD")]
    family: Option<String>,
    /// Leave it a draft: nobody takes it on yet.
    #[arg(long, conflicts_with = "start")]
    draft: bool,
    /// Who sees it.
    #[arg(long, value_name = "WHO", value_parser = one_of::<Visibility>())]
    visibility: Option<Visibility>,
    /// Which of two goes first.
    #[arg(long, value_name = "LEVEL", value_parser = one_of::<Priority>())]
    priority: Option<Priority>,
    /// Who answers for it.
    #[arg(long, value_name = "PRINCIPAL")]
    owner: Option<String>,
    /// Who does it, where neither a queue nor an agent does.
    #[arg(long, value_name = "PRINCIPAL")]
    assignee: Option<String>,
    #[command(flatten)]
    execution: ExecutionArgs,
    /// An agent elsewhere does it: a peer of the server's configuration.
    #[arg(long, value_name = "PEER", conflicts_with_all = ["queue", "agent"])]
    peer: Option<String>,
    /// A run that ends well completes it, once nothing it needs is missing.
    #[arg(long)]
    auto_complete: bool,
    /// Something it is given; may be given several times.
    #[arg(long = "input", value_name = "REF")]
    inputs: Vec<String>,
    /// What it may touch, as JSON.
    #[arg(long, value_name = "JSON", value_parser = parse_json)]
    scope: Option<Value>,
    /// What it has to keep to, as JSON.
    #[arg(long, value_name = "JSON", value_parser = parse_json)]
    constraints: Option<Value>,
    /// Anything else, as a JSON object.
    #[arg(long, value_name = "JSON", value_parser = parse_metadata)]
    metadata: Option<Metadata>,
    /// Begin its first attempt at once.
    #[arg(long)]
    start: bool,
    /// Repeating the command with the same key gives the same task.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    #[command(flatten)]
    policy: Policy,
    #[command(flatten)]
    needs: Needs,
}

pub(super) async fn run(create: Create, here: &Here) -> Result<()> {
    let (start, key) = (create.start, create.key.clone());
    let mut created = here.run(&command(create)).await?;
    if start {
        // A key of its own: the same one would stand for another command.
        let idempotency_key = key.map(|key| format!("{key}:start"));
        let task_id = created.task_id.clone();
        let started = here.run(&StartTask { task_id, worker: None, input_refs: Vec::new(), idempotency_key }).await?;
        (created.status, created.sequence) = (started.status, started.sequence);
    }
    print(&created, here)
}

fn print(created: &CreateTaskResult, here: &Here) -> Result<()> {
    if here.output.is_json() {
        return Ok(here.output.json(created)?);
    }
    here.output.line(&created.task_id)?;
    let status = created.status.shown(Glyphs::of_locale());
    here.output.note(format_args!("{status} in {}", created.session_id));
    Ok(())
}

fn command(create: Create) -> CreateTask {
    CreateTask {
        session_id: create.session,
        thread_id: create.thread,
        turn_id: None,
        parent_task_id: create.parent,
        task_id: create.id,
        title: create.title,
        objective: create.objective.join(" "),
        task_kind: create.kind,
        task_family: create.family,
        status: create.draft.then_some(TaskStatus::Draft),
        visibility: create.visibility,
        priority: create.priority,
        owner: create.owner,
        assignee: create.assignee,
        execution: Execution { peer: create.peer, ..create.execution.into_execution(create.auto_complete) },
        scope: create.scope,
        constraints: create.constraints,
        task_profile: None,
        acceptance: create.needs.into_acceptance(),
        retry_policy: create.policy.into_policy(),
        blocked_by: create.blocked_by,
        input_refs: create.inputs,
        metadata: create.metadata.unwrap_or_default(),
        idempotency_key: create.key,
    }
}

pub(super) fn parse_metadata(text: &str) -> Result<Metadata, String> {
    serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))
}
