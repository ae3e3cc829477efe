//! `factum channel list`.

use anyhow::Result;
use clap::Args;
use factum_model::messaging::{Channel, ChannelVisibility};

use super::Here;
use super::describe::visibility;
use super::target::all;
use crate::table::{Table, count};

#[derive(Debug, Args)]
pub(super) struct List {
    /// Only public ones.
    #[arg(long, conflicts_with = "private")]
    public: bool,
    /// Only private ones.
    #[arg(long)]
    private: bool,
}

pub(super) async fn run(list: &List, here: &Here) -> Result<()> {
    let visibility = match (list.public, list.private) {
        (true, _) => Some(ChannelVisibility::Public),
        (_, true) => Some(ChannelVisibility::Private),
        _ => None,
    };
    let channels = all(here, visibility).await?;
    if here.output.is_json() {
        return Ok(here.output.rows(&channels)?);
    }
    let mut table = Table::default();
    channels.iter().for_each(|channel| add(&mut table, channel));
    table.lines().iter().try_for_each(|line| here.output.line(line))?;
    if channels.is_empty() {
        here.output.note("no channels; `factum channel create` makes one");
    }
    Ok(())
}

fn add(table: &mut Table, channel: &Channel) {
    let unread = channel.read_cursor.as_ref().map_or(0, |cursor| cursor.unread_count);
    table.row([
        channel.id.to_string(),
        visibility(channel.visibility).to_owned(),
        count(channel.members.len() as u64, "member"),
        count(channel.message_count, "message"),
        if unread > 0 { format!("{unread} unread") } else { String::new() },
        channel.name.clone().unwrap_or_else(|| "-".to_owned()),
    ]);
}
