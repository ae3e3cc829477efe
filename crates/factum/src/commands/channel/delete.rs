//! `factum channel delete`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::DeleteChannel;

use super::Here;
use super::target::find_to_manage;

#[derive(Debug, Args)]
pub(super) struct Delete {
    /// The channel's id or name.
    #[arg(value_name = "CHANNEL")]
    channel: String,
}

pub(super) async fn run(delete: &Delete, here: &Here) -> Result<()> {
    let channel_id = find_to_manage(&delete.channel, here).await?;
    let result = here.run(&DeleteChannel { channel_id, idempotency_key: None }).await?;
    if here.output.is_json() {
        return Ok(here.output.json(&result)?);
    }
    here.output.note(format_args!("{} is gone", result.channel_id));
    Ok(())
}
