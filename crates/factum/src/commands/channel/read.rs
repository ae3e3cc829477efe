//! `factum channel read`: up to where somebody has read.

use anyhow::Result;
use clap::Args;
use factum_model::commands::MarkChannelRead;

use super::Here;
use super::target::{Target, find};
use crate::failure::Problem;
use crate::table::count;

#[derive(Debug, Args)]
#[command(override_usage = "\
factum channel read [OPTIONS] <CHANNEL> [SEQUENCE]
       factum channel read [OPTIONS] --peer <PRINCIPAL> [SEQUENCE]")]
pub(super) struct Read {
    /// The channel's id, its name, or @PRINCIPAL; then the last message you have read [default: the last there is]
    #[arg(value_name = "CHANNEL SEQUENCE", required_unless_present = "peer", num_args = 1..=2)]
    words: Vec<String>,
    /// The direct channel with this principal, instead of CHANNEL.
    #[arg(long, value_name = "PRINCIPAL")]
    peer: Option<String>,
}

pub(super) async fn run(read: &Read, here: &Here) -> Result<()> {
    let (channel, sequence) = split(read)?;
    let target = match channel {
        Some(channel) => find(channel, here).await?,
        None => Target::with(read.peer.as_deref().unwrap_or_default(), here),
    };
    let sequence = match sequence {
        Some(sequence) => sequence,
        None => target.channel(here).await?.message_count,
    };
    let result = here.run(&mark(&target, sequence)).await?;
    if here.output.is_json() {
        return Ok(here.output.json(&result)?);
    }
    let unread = count(result.read_cursor.unread_count, "unread message");
    here.output.note(format_args!("read up to {}; {unread}", result.read_cursor.sequence));
    Ok(())
}

pub(super) fn mark(target: &Target, sequence: u64) -> MarkChannelRead {
    MarkChannelRead { channel_id: target.channel_id(), peer: target.peer(), sequence, idempotency_key: None }
}

fn split(read: &Read) -> Result<(Option<&str>, Option<u64>)> {
    let (channel, rest) = match (&read.peer, read.words.as_slice()) {
        (None, [channel, rest @ ..]) => (Some(channel.as_str()), rest),
        (_, rest) => (None, rest),
    };
    let sequence = match rest {
        [] => None,
        [one] => Some(one.parse().map_err(|_| Problem::cannot_run(format!("{one:?} is not the number of a message")))?),
        _ => return Err(Problem::cannot_run("with --peer only the number of a message can follow").into()),
    };
    Ok((channel, sequence))
}
