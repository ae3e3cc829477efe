//! `factum channel add` and `remove`: who is in a channel, and as what.

use anyhow::Result;
use clap::Args;
use factum_model::commands::{AddChannelMember, NewChannelMember, RemoveChannelMember};
use factum_model::messaging::{Channel, ChannelRole};

use super::Here;
use super::describe::role;
use super::principal::{Role, parse_member, remark};
use super::target::find_to_manage;
use crate::failure::Problem;
use crate::render::{Breaks, clean};

#[derive(Debug, Args)]
pub(super) struct Add {
    /// The channel's id or name.
    #[arg(value_name = "CHANNEL")]
    channel: String,
    /// Whom, such as agent://bob, or agent://bob:owner.
    #[arg(value_name = "PRINCIPAL[:ROLE]", value_parser = parse_member)]
    member: NewChannelMember,
    /// As what; without it somebody new comes in as a member, and a member stays what they are
    #[arg(long, value_enum, value_name = "ROLE")]
    role: Option<Role>,
}

#[derive(Debug, Args)]
pub(super) struct Remove {
    /// The channel's id or name.
    #[arg(value_name = "CHANNEL")]
    channel: String,
    /// Whom, such as agent://bob.
    #[arg(value_name = "PRINCIPAL")]
    principal: String,
}

pub(super) async fn add(add: Add, here: &Here) -> Result<()> {
    let role = one_role(add.member.role, add.role.map(ChannelRole::from))?;
    let channel_id = find_to_manage(&add.channel, here).await?;
    let principal_id = add.member.principal_id;
    remark(&principal_id, here);
    let command = AddChannelMember { channel_id, principal_id: principal_id.clone(), role, idempotency_key: None };
    let channel = here.run(&command).await?.channel;
    // Where no role was named, the channel says which one it is.
    let member = channel.members.iter().find(|member| member.principal_id == principal_id);
    let role = member.map(|member| member.role).or(role).unwrap_or_default();
    report(&channel, here, &format!("{principal_id} is {} now", with_article(role)))
}

pub(super) async fn remove(remove: Remove, here: &Here) -> Result<()> {
    let channel_id = find_to_manage(&remove.channel, here).await?;
    let principal_id = remove.principal;
    let command = RemoveChannelMember { channel_id, principal_id: principal_id.clone(), idempotency_key: None };
    let channel = here.run(&command).await?.channel;
    report(&channel, here, &format!("{principal_id} is no longer a member"))
}

/// What came of a change: the channel for a machine, a sentence for a person.
pub(super) fn report(channel: &Channel, here: &Here, what: &str) -> Result<()> {
    if here.output.is_json() {
        return Ok(here.output.json(channel)?);
    }
    let what = clean(what, Breaks::Shown);
    here.output.note(format_args!("{what}; version {} of {}", channel.version, channel.id));
    Ok(())
}

/// The role, which may be said behind the principal or on its own, but not as two.
fn one_role(behind: Option<ChannelRole>, alone: Option<ChannelRole>) -> Result<Option<ChannelRole>, Problem> {
    match (behind, alone) {
        (Some(behind), Some(alone)) if behind != alone => {
            let what = format!("{} and --role {} are two roles", role(behind), role(alone));
            Err(Problem::cannot_run(what).advice("give one of them"))
        }
        (behind, alone) => Ok(behind.or(alone)),
    }
}

fn with_article(given: ChannelRole) -> String {
    let article = if given == ChannelRole::Owner { "an" } else { "a" };
    format!("{article} {}", role(given))
}
