//! `factum channel create`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::{CreateChannel, NewChannelMember};
use factum_model::messaging::ChannelVisibility;
use factum_model::value::Metadata;

use super::Here;
use super::principal::{parse_member, remark};

#[derive(Debug, Args)]
pub(super) struct Create {
    /// What to call it, up to 128 characters.
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Let everybody of the account read it.
    #[arg(long)]
    public: bool,
    /// Somebody who is in it from the beginning; may be given several times.
    #[arg(long = "member", value_name = "PRINCIPAL[:ROLE]", value_parser = parse_member)]
    members: Vec<NewChannelMember>,
    /// Anything else, as a JSON object.
    #[arg(long, value_name = "JSON", value_parser = parse_metadata)]
    metadata: Option<Metadata>,
    /// Repeating the command with the same key gives the same channel.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(super) async fn run(create: Create, here: &Here) -> Result<()> {
    create.members.iter().for_each(|member| remark(&member.principal_id, here));
    let command = CreateChannel {
        name: create.name,
        visibility: create.public.then_some(ChannelVisibility::Public),
        metadata: create.metadata,
        members: (!create.members.is_empty()).then_some(create.members),
        idempotency_key: create.key,
    };
    let channel = here.run(&command).await?.channel;
    if here.output.is_json() {
        return Ok(here.output.json(&channel)?);
    }
    here.output.line(&channel.id)?;
    match channel.members.len() {
        0 | 1 => here.output.note("created; you are its only member"),
        members => here.output.note(format_args!("created, with {members} members")),
    }
    Ok(())
}

fn parse_metadata(text: &str) -> Result<Metadata, String> {
    serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))
}
