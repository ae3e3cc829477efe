//! `factum task link` and `unlink`: the edges of the graph, read from left to right.

use anyhow::Result;
use clap::Args;
use factum_model::commands::{LinkTasks, UnlinkTasks};
use factum_model::id::TaskId;
use factum_model::task::Relationship;

use super::Here;
use crate::words::{one_of, word};

#[derive(Debug, Args)]
pub(super) struct Edge {
    /// The task on the left.
    #[arg(value_name = "FROM")]
    from: TaskId,
    /// What it is to the other.
    #[arg(value_name = "RELATIONSHIP", value_parser = one_of::<Relationship>())]
    relationship: Relationship,
    /// The task on the right, or whatever the relationship points at.
    #[arg(value_name = "TO")]
    to: String,
    /// Why, for those who read it later.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Repeating the command with the same key changes nothing more.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(super) async fn link(edge: Edge, here: &Here) -> Result<()> {
    let said = format!("{} {} {}", edge.from, word(edge.relationship), edge.to);
    let Edge { from, relationship, to, reason, key: idempotency_key } = edge;
    let result = here.run(&LinkTasks { from, to, relationship, reason, idempotency_key }).await?;
    if here.output.is_json() {
        return Ok(here.output.json(&result)?);
    }
    here.output.note(said);
    Ok(())
}

pub(super) async fn unlink(edge: Edge, here: &Here) -> Result<()> {
    let said = format!("{} {} {} no longer", edge.from, word(edge.relationship), edge.to);
    let Edge { from, relationship, to, reason, key: idempotency_key } = edge;
    let result = here.run(&UnlinkTasks { from, to, relationship, reason, idempotency_key }).await?;
    if here.output.is_json() {
        return Ok(here.output.json(&result)?);
    }
    here.output.note(said);
    Ok(())
}
