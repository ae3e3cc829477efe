//! `factum task update`: a task's own data. What is not given stays as it is.

use anyhow::Result;
use clap::Args;
use factum_model::commands::UpdateTask;
use factum_model::id::TaskId;
use factum_model::task::{DeliveryState, Priority, TaskStatus, Visibility};
use factum_model::value::Metadata;
use serde_json::Value;

use super::create::parse_metadata;
use super::policy::{Needs, Policy, parse_json};
use super::{Here, report};
use crate::words::one_of;

#[derive(Debug, Args)]
pub(super) struct Update {
    /// The task's id.
    #[arg(value_name = "TASK")]
    task: TaskId,
    /// Where it stands from now on; only what may follow where it stands now.
    #[arg(long, value_name = "STATUS", value_parser = one_of::<TaskStatus>())]
    status: Option<TaskStatus>,
    /// Why it stands there.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// A few words for lists.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// What is to be reached.
    #[arg(long, value_name = "TEXT")]
    objective: Option<String>,
    /// Who sees it.
    #[arg(long, value_name = "WHO", value_parser = one_of::<Visibility>())]
    visibility: Option<Visibility>,
    /// Which of two goes first.
    #[arg(long, value_name = "LEVEL", value_parser = one_of::<Priority>())]
    priority: Option<Priority>,
    /// Who answers for it.
    #[arg(long, value_name = "PRINCIPAL")]
    owner: Option<String>,
    /// Who does it.
    #[arg(long, value_name = "PRINCIPAL")]
    assignee: Option<String>,
    /// What it may touch, as JSON.
    #[arg(long, value_name = "JSON", value_parser = parse_json)]
    scope: Option<Value>,
    /// What it has to keep to, as JSON.
    #[arg(long, value_name = "JSON", value_parser = parse_json)]
    constraints: Option<Value>,
    /// Whether the outcome reached whoever asked for it.
    #[arg(long, value_name = "STATE", value_parser = one_of::<DeliveryState>())]
    delivery: Option<DeliveryState>,
    /// The whole new metadata, as a JSON object.
    #[arg(long, value_name = "JSON", value_parser = parse_metadata)]
    metadata: Option<Metadata>,
    /// Repeating the command with the same key changes nothing more.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    #[command(flatten)]
    policy: Policy,
    #[command(flatten)]
    needs: Needs,
}

pub(super) async fn run(update: Update, here: &Here) -> Result<()> {
    let command = UpdateTask {
        task_id: update.task,
        status: update.status,
        native_status: None,
        status_reason: update.reason,
        title: update.title,
        objective: update.objective,
        visibility: update.visibility,
        priority: update.priority,
        owner: update.owner,
        assignee: update.assignee,
        scope: update.scope,
        constraints: update.constraints,
        task_profile: None,
        acceptance: update.needs.into_acceptance(),
        retry_policy: update.policy.into_policy(),
        delivery_state: update.delivery,
        metadata: update.metadata,
        idempotency_key: update.key,
    };
    let result = here.run(&command).await?;
    report(&result, &result.task_id, result.status, here)
}
