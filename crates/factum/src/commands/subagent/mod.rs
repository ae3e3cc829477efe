//! `factum subagent …`: child agents on a running server, one file per subcommand.
//!
//! `describe` is a child in words, `tree` a family as branches. Nothing here decides what a child may do: the server says,
//! and its words are shown.

mod close;
mod describe;
mod input;
mod list;
mod resume;
mod send;
mod show;
mod spawn;
mod tree;
mod wait;

use anyhow::Result;
use clap::{Args, Subcommand};
use factum_model::commands::SubagentResult;

use super::here::{Here, On};
use super::look::Stands;
use crate::cli::App;
use crate::client::Remote;
use crate::failure::Exit;
use crate::glyphs::Glyphs;

/// Where the server knows no such child.
const FIND: &str = "`factum subagent list SESSION` shows the child agents of a session that you can see";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  factum subagent spawn sess_... 'Read the paper' --role reader
  factum subagent spawn sess_... 'Check the numbers' --parent sub_... --isolation workspace
  factum subagent list sess_...
  factum subagent wait sub_... sub_... --timeout 5m
  factum subagent send sub_... 'and the next one'
  factum subagent close sub_... --grace 5s --reason enough")]
pub(crate) struct Subagent {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Start a child agent below a thread of a session; prints its id.
    Spawn(Box<On<spawn::Spawn>>),
    /// Show the child agents of a session, or below one of them, as a tree.
    List(On<list::List>),
    /// Show a child agent: where it stands, what it shares, who it belongs to.
    Show(On<show::Show>),
    /// Say something to a child agent; prints the id of the turn.
    Send(On<send::Send>),
    /// Wait until child agents have come to rest. Fails where the time is over first.
    Wait(On<wait::Wait>),
    /// Carry on a child agent that stopped; prints the id of the turn.
    Resume(On<resume::Resume>),
    /// Stop a child agent and everything below it, for good.
    Close(On<close::Close>),
}

pub(crate) async fn run(subagent: Subagent, app: &App) -> Result<Exit> {
    let here = |remote: &Remote| Here::new(remote, app, FIND);
    match subagent.action {
        Action::Spawn(on) => spawn::run(on.what, &here(&on.remote)?).await?,
        Action::List(on) => list::run(on.what, &here(&on.remote)?).await?,
        Action::Show(on) => show::run(on.what, &here(&on.remote)?).await?,
        Action::Send(on) => send::run(on.what, &here(&on.remote)?).await?,
        Action::Wait(on) => return wait::run(on.what, &here(&on.remote)?).await,
        Action::Resume(on) => resume::run(on.what, &here(&on.remote)?).await?,
        Action::Close(on) => close::run(on.what, &here(&on.remote)?).await?,
    }
    Ok(Exit::Ok)
}

/// What came of a command: the answer for a machine; the turn it began and a sentence for a person.
fn report(result: &SubagentResult, here: &Here) -> Result<()> {
    if here.output.is_json() {
        return Ok(here.output.json(result)?);
    }
    if let Some(turn) = &result.turn_id {
        here.output.line(turn)?;
    }
    here.output.note(format_args!("{} is {}", result.subagent_id, result.status.shown(Glyphs::of_locale())));
    Ok(())
}
