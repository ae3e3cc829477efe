//! `factum peer close`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::CloseChannel;
use factum_model::id::ChannelId;

use super::Here;

#[derive(Debug, Args)]
pub(super) struct Close {
    /// The channel's id.
    #[arg(value_name = "CHANNEL")]
    channel_id: ChannelId,
    /// Why, for those who read it later.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(super) async fn run(close: Close, here: &Here) -> Result<()> {
    let Close { channel_id, reason } = close;
    let result = here.run(&CloseChannel { channel_id, reason, idempotency_key: None }).await?;
    if here.output.is_json() {
        return Ok(here.output.json(&result)?);
    }
    here.output.note(format_args!("{} is closed; it has to enroll again", result.channel_id));
    Ok(())
}
