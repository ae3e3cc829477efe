//! `factum channel follow`: what happens in a channel, as it happens.

use anyhow::Result;
use clap::Args;
use factum_model::messaging::{Channel, StreamChannel};

use super::Here;
use super::render::Printer;
use super::target::{Target, Which};
use crate::client::{FollowChannel, Heard};

#[derive(Debug, Args)]
pub(super) struct Follow {
    #[command(flatten)]
    which: Which,
    /// Start behind this message; 0 is the beginning [default: only what is new]
    #[arg(long, value_name = "SEQUENCE")]
    since: Option<u64>,
    /// Also changes of members, name and metadata.
    #[arg(long)]
    control: bool,
    /// Also who comes and goes.
    #[arg(long)]
    presence: bool,
}

/// What is of interest besides messages.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Also {
    pub(super) control: bool,
    pub(super) presence: bool,
}

pub(super) async fn run(follow: &Follow, here: &Here) -> Result<()> {
    let target = follow.which.find(here).await?;
    let also = Also { control: follow.control, presence: follow.presence };
    let channel = target.channel(here).await?;
    let mut stream = match follow.since {
        Some(sequence) => open(&target, sequence, 0, also, here),
        None => open_new(&target, &channel, also, here),
    };
    let mut printer = Printer::new(here.output);
    printer.expect(channel.members.iter().map(|member| member.principal_id.as_str()));
    tokio::select! {
        outcome = async { loop { print(&stream.next().await?, &mut printer, here)?; } } => outcome,
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

/// A stream of what comes behind the channel as it is known.
pub(super) fn open_new(target: &Target, channel: &Channel, also: Also, here: &Here) -> FollowChannel {
    open(target, channel.message_count, channel.version, also, here)
}

/// However seldom the server sends heartbeats by itself: a connection without any is taken for dead after a minute.
const HEARTBEAT_MS: u64 = 15_000;

/// A stream of what comes behind a message; changes up to `version` are known.
fn open(target: &Target, since: u64, version: u64, also: Also, here: &Here) -> FollowChannel {
    let params = StreamChannel {
        channel_id: target.channel_id(),
        peer: target.peer(),
        since_sequence: Some(since),
        since_version: None,
        heartbeat_interval_ms: Some(HEARTBEAT_MS),
        control_events: also.control.then_some(true),
        presence: also.presence.then_some(true),
    };
    FollowChannel::new(here.client.clone(), params, version)
}

fn print(heard: &Heard, printer: &mut Printer, here: &Here) -> Result<()> {
    match heard {
        Heard::Entry(entry) => printer.entry(entry)?,
        Heard::Lost(why) => here.output.note(format_args!("the connection is lost ({why}); trying again")),
        Heard::Back => here.output.note("connected again"),
    }
    Ok(())
}
