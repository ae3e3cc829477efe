//! `factum peer …`: your remote channels on a running server, one file per subcommand.
//!
//! Peers enroll and come back by themselves, with the commands of the control plane; here a person looks at them. Messaging
//! channels are `factum channel`.

mod close;
mod list;
mod show;

use anyhow::Result;
use clap::{Args, Subcommand};
use factum_model::peer::{ChannelState, PeerRole};
use serde::Serialize;

use super::here::{Here, On};
use crate::cli::App;
use crate::client::Remote;
use crate::failure::Exit;

/// Where the server knows no such channel.
const FIND: &str = "`factum peer list` shows your remote channels";

#[derive(Debug, Args)]
#[command(after_help = "\
A remote channel belongs to the principal that enrolled it; others do not see it.

Examples:
  factum call enroll_channel '{\"channel_id\": \"my-ide\", \"peer_role\": \"client\"}'
  factum peer list
  factum peer show my-ide
  factum peer close my-ide --reason 'moved to another machine'")]
pub(crate) struct Peer {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List your remote channels.
    List(On<list::List>),
    /// Show a remote channel: what it follows and up to where, and what it was asked to decide.
    Show(On<show::Show>),
    /// Close a remote channel. It follows nothing any more, and its resume token is void.
    Close(On<close::Close>),
}

pub(crate) async fn run(peer: Peer, app: &App) -> Result<Exit> {
    let here = |remote: &Remote| Here::new(remote, app, FIND);
    match peer.action {
        Action::List(on) => list::run(&on.what, &here(&on.remote)?).await?,
        Action::Show(on) => show::run(on.what, &here(&on.remote)?).await?,
        Action::Close(on) => close::run(on.what, &here(&on.remote)?).await?,
    }
    Ok(Exit::Ok)
}

fn state(state: ChannelState) -> &'static str {
    match state {
        ChannelState::Connected => "connected",
        ChannelState::Disconnected => "disconnected",
        ChannelState::Unknown => "unknown",
    }
}

fn role(role: PeerRole) -> &'static str {
    match role {
        PeerRole::Client => "client",
        PeerRole::Host => "host",
        PeerRole::Worker => "worker",
        PeerRole::RemoteRuntime => "remote runtime",
        PeerRole::PeerAgent => "peer agent",
        PeerRole::ToolServer => "tool server",
    }
}

/// A word of the wire as it is.
fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
