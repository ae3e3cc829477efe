//! `factum channel …`: messaging channels on a running server, one file per subcommand.
//!
//! `target` finds the channel that somebody means, `render` is what a message looks like.
//! Nothing here decides who may do what: the server says, and its words are shown.

mod audit;
mod chat;
mod create;
mod delete;
mod describe;
mod follow;
mod history;
mod list;
mod members;
mod message;
mod presence;
mod principal;
mod publish;
mod read;
mod render;
mod show;
mod target;
mod update;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::here::{Here, On};
use crate::cli::App;
use crate::client::Remote;
use crate::failure::Exit;

/// Where the server knows no such channel.
const FIND: &str = "`factum channel list` shows the channels you can see";

#[derive(Debug, Args)]
#[command(after_help = "\
CHANNEL is a channel's id, its name, or @PRINCIPAL for the direct channel with somebody.
A message is named by its sequence in the channel, or by its id.

Examples:
  factum channel create --name general --member agent://bob
  factum channel publish general hello there
  factum channel publish @agent://bob 'just between us'
  factum channel history general --limit 10
  factum channel follow general
  factum channel chat general")]
pub(crate) struct Channel {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List your channels and the public ones. Direct channels are not listed.
    List(On<list::List>),
    /// Create a channel that you own; prints its id.
    Create(On<create::Create>),
    /// Show a channel: members, metadata, how much you have not read.
    Show(On<show::Show>),
    /// Change a channel's name or metadata.
    Update(On<update::Update>),
    /// Delete a channel. There is no way back.
    Delete(On<delete::Delete>),
    /// Add a member, or give one another role.
    Add(On<members::Add>),
    /// Take a member out.
    Remove(On<members::Remove>),
    /// Publish a message; prints its id.
    Publish(On<publish::Publish>),
    /// Read messages: the last ones, or from somewhere on.
    History(On<history::History>),
    /// Print messages as they come.
    Follow(On<follow::Follow>),
    /// Say up to where you have read.
    Read(On<read::Read>),
    /// Show who follows a channel right now.
    Presence(On<presence::Presence>),
    /// Show who did what; admins only.
    Audit(On<audit::Audit>),
    /// Follow a channel and post to it.
    Chat(On<chat::Chat>),
}

pub(crate) async fn run(channel: Channel, app: &App) -> Result<Exit> {
    let here = |remote: &Remote| Here::new(remote, app, FIND);
    match channel.action {
        Action::List(on) => list::run(&on.what, &here(&on.remote)?).await?,
        Action::Create(on) => create::run(on.what, &here(&on.remote)?).await?,
        Action::Show(on) => show::run(&on.what, &here(&on.remote)?).await?,
        Action::Update(on) => update::run(on.what, &here(&on.remote)?).await?,
        Action::Delete(on) => delete::run(&on.what, &here(&on.remote)?).await?,
        Action::Add(on) => members::add(on.what, &here(&on.remote)?).await?,
        Action::Remove(on) => members::remove(on.what, &here(&on.remote)?).await?,
        Action::Publish(on) => publish::run(on.what, &here(&on.remote)?).await?,
        Action::History(on) => history::run(on.what, &here(&on.remote)?).await?,
        Action::Follow(on) => follow::run(&on.what, &here(&on.remote)?).await?,
        Action::Read(on) => read::run(&on.what, &here(&on.remote)?).await?,
        Action::Presence(on) => presence::run(&on.what, &here(&on.remote)?).await?,
        Action::Audit(on) => audit::run(&on.what, &here(&on.remote)?).await?,
        Action::Chat(on) => chat::run(&on.what, &here(&on.remote)?).await?,
    }
    Ok(Exit::Ok)
}
