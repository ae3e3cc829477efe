//! `factum channel add` and `remove`: who is in a channel, and as what.

use anyhow::Result;
use clap::{Args, ValueEnum};
use factum_model::commands::{AddChannelMember, NewChannelMember, RemoveChannelMember};
use factum_model::messaging::{Channel, ChannelRole};

use super::Here;
use super::describe::role;
use super::target::find_to_manage;
use crate::nearest::nearest;
use crate::render::{Breaks, clean};

#[derive(Debug, Args)]
pub(super) struct Add {
    /// The channel's id or name.
    #[arg(value_name = "CHANNEL")]
    channel: String,
    /// Whom, such as agent://bob.
    #[arg(value_name = "PRINCIPAL")]
    principal: String,
    /// As what.
    #[arg(long, value_enum, default_value = "member", value_name = "ROLE")]
    role: Role,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Role {
    /// Manages the channel.
    Owner,
    /// Reads and publishes.
    Member,
    /// A member, for now.
    Moderator,
}

impl From<Role> for ChannelRole {
    fn from(role: Role) -> Self {
        match role {
            Role::Owner => Self::Owner,
            Role::Member => Self::Member,
            Role::Moderator => Self::Moderator,
        }
    }
}

pub(super) async fn add(add: Add, here: &Here) -> Result<()> {
    let channel_id = find_to_manage(&add.channel, here).await?;
    let (principal_id, given) = (add.principal, ChannelRole::from(add.role));
    let command =
        AddChannelMember { channel_id, principal_id: principal_id.clone(), role: Some(given), idempotency_key: None };
    let channel = here.run(&command).await?.channel;
    report(&channel, here, &format!("{principal_id} is {} now", with_article(given)))
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

fn with_article(given: ChannelRole) -> String {
    let article = if given == ChannelRole::Owner { "an" } else { "a" };
    format!("{article} {}", role(given))
}

/// `agent://bob` or `agent://bob:owner`.
pub(super) fn parse_member(text: &str) -> Result<NewChannelMember, String> {
    let plain = NewChannelMember { principal_id: text.to_owned(), role: None };
    let Some((principal, word)) = text.rsplit_once(':') else { return Ok(plain) };
    if let Ok(role) = Role::from_str(word, false) {
        return Ok(NewChannelMember { principal_id: principal.to_owned(), role: Some(role.into()) });
    }
    // A port or a path is part of the name; a slip in a role would be too, and nobody would notice.
    match nearest(word, ["owner", "member", "moderator"]) {
        Some(meant) => Err(format!("there is no role {word:?}; did you mean {meant:?}?")),
        None => Ok(plain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_may_have_a_role() {
        let parsed = |text| parse_member(text).map(|member| (member.principal_id, member.role));
        assert_eq!(parsed("agent://bob"), Ok(("agent://bob".to_owned(), None)));
        assert_eq!(parsed("agent://bob:owner"), Ok(("agent://bob".to_owned(), Some(ChannelRole::Owner))));
        assert_eq!(parsed("agent://host:8080"), Ok(("agent://host:8080".to_owned(), None)));
        assert!(parsed("agent://bob:ownr").unwrap_err().contains("did you mean \"owner\"?"));
    }
}
