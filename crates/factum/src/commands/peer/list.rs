//! `factum peer list`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::ListRemoteChannels;
use factum_model::peer::ChannelRecord;
use jiff::tz::TimeZone;

use super::{Here, role, state};
use crate::table::Table;
use crate::when::local;

#[derive(Debug, Args)]
pub(super) struct List {
    /// So many at most.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

pub(super) async fn run(list: &List, here: &Here) -> Result<()> {
    let (mut channels, mut cursor) = (Vec::<ChannelRecord>::new(), None);
    loop {
        let page = here.run(&ListRemoteChannels { limit: Some(200), cursor }).await?;
        channels.extend(page.channels);
        cursor = page.next_cursor;
        if cursor.is_none() || list.limit.is_some_and(|limit| channels.len() >= limit) {
            break;
        }
    }
    channels.truncate(list.limit.unwrap_or(usize::MAX));
    if here.output.is_json() {
        return Ok(here.output.rows(&channels)?);
    }
    let zone = TimeZone::system();
    let mut table = Table::default();
    for channel in &channels {
        table.row([
            channel.channel_id.to_string(),
            role(channel.identity.peer_role).to_owned(),
            state(channel.state).to_owned(),
            channel.last_seen_at.map_or_else(String::new, |at| format!("last seen {}", local(at, &zone))),
            channel.identity.capabilities.join(" "),
        ]);
    }
    table.lines().iter().try_for_each(|line| here.output.line(line))?;
    if channels.is_empty() {
        here.output.note("no remote channels; peers make them with enroll_channel");
    }
    Ok(())
}
