//! `factum channel show`.

use anyhow::Result;
use clap::Args;
use factum_model::messaging::Channel;
use jiff::tz::TimeZone;

use super::Here;
use super::describe::describe;
use super::target::Which;

#[derive(Debug, Args)]
pub(super) struct Show {
    #[command(flatten)]
    which: Which,
}

pub(super) async fn run(show: &Show, here: &Here) -> Result<()> {
    let channel = show.which.find(here).await?.channel(here).await?;
    print(&channel, here)
}

fn print(channel: &Channel, here: &Here) -> Result<()> {
    if here.output.is_json() {
        return Ok(here.output.json(channel)?);
    }
    describe(channel, &TimeZone::system()).iter().try_for_each(|line| here.output.line(line))?;
    Ok(())
}
