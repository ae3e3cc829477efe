//! `factum subagent spawn`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::SpawnSubagent;
use factum_model::id::{SessionId, SubagentId, TaskId, ThreadId, TurnId};
use factum_model::permission::PermissionMode;
use factum_model::subagent::{Isolation, ModelChoice, ModelPolicy};
use factum_model::value::Metadata;

use super::{Here, input};
use crate::commands::look::Stands;
use crate::glyphs::Glyphs;
use crate::words::one_of;

#[derive(Debug, Args)]
pub(super) struct Spawn {
    /// The session it belongs to.
    #[arg(value_name = "SESSION")]
    session: SessionId,
    /// Its first input, or - for stdin; without one it is idle.
    #[arg(value_name = "TEXT")]
    input: Vec<String>,
    /// The child agent it is a child of.
    #[arg(long, value_name = "SUBAGENT", conflicts_with = "thread")]
    parent: Option<SubagentId>,
    /// The thread it is a child of [default: the main one]
    #[arg(long, value_name = "THREAD")]
    thread: Option<ThreadId>,
    /// The turn it is spawned by.
    #[arg(long, value_name = "TURN")]
    turn: Option<TurnId>,
    /// The task it is spawned for.
    #[arg(long, value_name = "TASK")]
    parent_task: Option<TaskId>,
    /// The task it works on.
    #[arg(long, value_name = "TASK")]
    task: Option<TaskId>,
    /// An id of your own; repeating the command with the same one gives the same child.
    #[arg(long, value_name = "SUBAGENT")]
    id: Option<SubagentId>,
    /// Which agent it is [default: the parent's]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// What it is there for, in your words.
    #[arg(long, value_name = "WORD")]
    role: Option<String>,
    /// What to call it in lists.
    #[arg(long, value_name = "NAME")]
    nickname: Option<String>,
    /// What it shares with its parent; never weaker than the parent's, which is the default.
    #[arg(long, value_name = "HOW", value_parser = one_of::<Isolation>())]
    isolation: Option<Isolation>,
    /// What it may do without asking; never wider than the parent's, which is the default.
    #[arg(long, value_name = "MODE", value_parser = one_of::<PermissionMode>())]
    mode: Option<PermissionMode>,
    /// Which model it uses: the parent's, a fixed one, or what routing decides.
    #[arg(long, value_name = "CHOICE", value_parser = one_of::<ModelChoice>())]
    model_choice: Option<ModelChoice>,
    /// The model's provider.
    #[arg(long, value_name = "NAME", requires = "model_choice")]
    provider: Option<String>,
    /// The model.
    #[arg(long, value_name = "NAME", requires = "model_choice")]
    model: Option<String>,
    /// Repeating the command with the same key gives the same child.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(super) async fn run(spawn: Spawn, here: &Here) -> Result<()> {
    let (provider, model) = (spawn.provider, spawn.model);
    let command = SpawnSubagent {
        input: input::read(&spawn.input)?,
        session_id: spawn.session,
        parent_thread_id: spawn.thread,
        parent_turn_id: spawn.turn,
        parent_task_id: spawn.parent_task,
        parent_subagent_id: spawn.parent,
        task_id: spawn.task,
        subagent_id: spawn.id,
        agent: spawn.agent,
        role: spawn.role,
        nickname: spawn.nickname,
        isolation: spawn.isolation,
        model_policy: spawn.model_choice.map(|choice| ModelPolicy { choice, provider, model }),
        permission_mode: spawn.mode,
        metadata: Metadata::new(),
        idempotency_key: spawn.key,
    };
    let spawned = here.run(&command).await?;
    if here.output.is_json() {
        return Ok(here.output.json(&spawned)?);
    }
    here.output.line(&spawned.subagent_id)?;
    here.output.note(format_args!("{} in {}", spawned.status.shown(Glyphs::of_locale()), spawned.thread_id));
    Ok(())
}
