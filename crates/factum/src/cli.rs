//! The command line: the global flags and the list of subcommands. What each does is in `commands/`.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand};

use crate::commands::{
    bench, call, channel, completions, dev, doctor, job, key, peer, reference, repair, serve, stdio, subagent, tail, task,
    verify,
};
use crate::config::{Flags, Loaded, LogLevel, load};
use crate::failure::EXIT_CODES;
use crate::logging;
use crate::output::{Color, Format, Output};

/// A durable agent runtime in one binary.
#[derive(Debug, Parser)]
#[command(name = "factum", version, after_help = EXIT_CODES, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that every subcommand takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// How data is written to stdout.
    #[arg(short, long, global = true, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,
    /// When to use colors; NO_COLOR is heard too.
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) color: Color,
    /// Log more; again for even more.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Say and log less.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) quiet: u8,
    /// The configuration; factum.toml is read where it is there.
    #[arg(long, global = true, env = "FACTUM_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start on loopback with a demo agent, no credentials needed.
    Dev(dev::Dev),
    /// Start in production: credentials required.
    Serve(serve::Serve),
    /// Call any command of the control plane.
    Call(call::Call),
    /// Follow the events of a session.
    Tail(tail::Tail),
    /// Messaging channels: create, publish, read, follow, chat.
    Channel(channel::Channel),
    /// Remote channels: who is connected, up to where, and what they were asked to decide.
    Peer(peer::Peer),
    /// Tasks: create, start, follow, steer, complete.
    Task(task::Task),
    /// Jobs: batches of items, and schedules that make them.
    Job(job::Job),
    /// Child agents: spawn, list as a tree, talk to, wait for, close.
    Subagent(subagent::Subagent),
    /// Speak JSON-RPC over stdin and stdout.
    Stdio(stdio::Stdio),
    /// Issue, list and revoke API keys.
    Key(key::Key),
    /// Check a store: every byte of the log, every fact, every index entry.
    Verify(verify::Verify),
    /// Cut a damaged tail off a store, keeping the bytes aside.
    Repair(repair::Repair),
    /// Check whether this machine suits a store.
    Doctor(doctor::Doctor),
    /// Print a completion script for a shell.
    Completions(completions::Completions),
    /// Write the reference pages.
    #[command(hide = true)]
    Reference(reference::Reference),
    /// Measure.
    #[command(hide = true)]
    Bench(bench::Bench),
}

/// What a subcommand gets besides its own flags.
pub(crate) struct App {
    pub(crate) global: Global,
    pub(crate) output: Output,
}

impl App {
    pub(crate) fn new(global: Global) -> Self {
        let output = Output::new(global.output, global.color, global.quiet > 0);
        Self { global, output }
    }

    /// The settings of a command that works on a data directory, with the log set up as they say.
    pub(crate) fn load(&self, flags: &Flags, usual: Usual) -> anyhow::Result<Loaded> {
        let loaded = load(self.global.config.as_deref(), flags)?;
        let log = &loaded.settings.log;
        let level = match usual {
            Usual::Quiet if !loaded.is_given("log", "level") => LogLevel::Warn,
            _ => log.level,
        };
        logging::init(log.format, level.louder(i32::from(self.global.verbose) - i32::from(self.global.quiet)));
        for warning in &loaded.warnings {
            self.output.warn(warning);
        }
        Ok(loaded)
    }
}

/// How much is logged where nobody says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Usual {
    /// Warnings only, for commands somebody looks at.
    Quiet,
    /// What the settings say.
    Configured,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_makes_sense() {
        Cli::command().debug_assert();
    }

    #[test]
    fn global_flags_may_stand_behind_the_subcommand() {
        let cli = Cli::try_parse_from(["factum", "verify", "-o", "json", "-vv", "--data-dir", "x"]).unwrap();
        assert_eq!((cli.global.output, cli.global.verbose), (Some(Format::Json), 2));
    }
}
