//! `factum channel presence`: who follows a channel right now.

use anyhow::Result;
use clap::Args;
use factum_model::commands::{GetChannelPresence, PresentPrincipal};
use jiff::tz::TimeZone;

use super::Here;
use super::describe::when;
use super::target::{Target, Which};
use crate::table::Table;

#[derive(Debug, Args)]
pub(super) struct Presence {
    #[command(flatten)]
    which: Which,
}

pub(super) async fn run(presence: &Presence, here: &Here) -> Result<()> {
    let target = presence.which.find(here).await?;
    let present = who(&target, here).await?;
    if here.output.is_json() {
        return Ok(here.output.rows(&present)?);
    }
    lines(&present, &TimeZone::system()).iter().try_for_each(|line| here.output.line(line))?;
    if present.is_empty() {
        here.output.note("nobody follows it right now");
    }
    Ok(())
}

pub(super) async fn who(target: &Target, here: &Here) -> Result<Vec<PresentPrincipal>> {
    let command = GetChannelPresence { channel_id: target.channel_id(), peer: target.peer() };
    Ok(here.run(&command).await?.present)
}

pub(super) fn lines(present: &[PresentPrincipal], zone: &TimeZone) -> Vec<String> {
    let mut table = Table::default();
    for one in present {
        let streams = if one.streams > 1 { format!("{} streams", one.streams) } else { String::new() };
        table.row([one.principal_id.clone(), format!("since {}", when(one.since, zone)), streams]);
    }
    table.lines()
}
