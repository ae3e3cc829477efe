//! One file per subcommand: its flags and what it does.

pub(crate) mod bench;
pub(crate) mod call;
pub(crate) mod channel;
pub(crate) mod completions;
pub(crate) mod dev;
pub(crate) mod doctor;
mod execution;
mod here;
pub(crate) mod job;
pub(crate) mod key;
mod live;
mod look;
pub(crate) mod peer;
pub(crate) mod reference;
pub(crate) mod repair;
pub(crate) mod serve;
pub(crate) mod stdio;
pub(crate) mod subagent;
pub(crate) mod tail;
pub(crate) mod task;
pub(crate) mod verify;

use std::future::Future;

use anyhow::{Context, Result};

use crate::cli::{App, Command};
use crate::failure::Exit;

/// Runs a subcommand to its end.
pub(crate) fn run(command: Command, app: &App) -> Result<Exit> {
    match command {
        Command::Dev(dev) => block_on(dev::run(dev, app)),
        Command::Serve(serve) => block_on(serve::run(serve, app)),
        Command::Call(call) => block_on(call::run(call, app)),
        Command::Tail(tail) => block_on(tail::run(tail, app)),
        Command::Channel(channel) => block_on(channel::run(channel, app)),
        Command::Peer(peer) => block_on(peer::run(peer, app)),
        Command::Task(task) => block_on(task::run(task, app)),
        Command::Job(job) => block_on(job::run(job, app)),
        Command::Subagent(subagent) => block_on(subagent::run(subagent, app)),
        Command::Stdio(stdio) => block_on(stdio::run(stdio, app)),
        Command::Key(key) => key::run(key, app),
        Command::Verify(verify) => verify::run(&verify, app),
        Command::Repair(repair) => repair::run(&repair, app),
        Command::Doctor(doctor) => doctor::run(&doctor, app),
        Command::Completions(completions) => completions::run(&completions, app),
        Command::Reference(reference) => reference::run(&reference, app),
        Command::Bench(bench) => bench::run(bench, app),
    }
}

/// A runtime with one worker per core.
fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    drive(&mut tokio::runtime::Builder::new_multi_thread(), work)
}

/// A runtime on this thread alone.
fn block_on_one_thread<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    drive(&mut tokio::runtime::Builder::new_current_thread(), work)
}

fn drive<T>(builder: &mut tokio::runtime::Builder, work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = builder.enable_all().build().context("the threads of the runtime cannot be started")?;
    let done = runtime.block_on(work);
    // A read from stdin that nobody waits for any more must not keep the process alive.
    runtime.shutdown_background();
    done
}
