//! `factum bench`: a place for the measurements; none is part of the binary yet.

use anyhow::Result;
use clap::Args;

use crate::cli::App;
use crate::failure::{Exit, Problem};

#[derive(Debug, Args)]
pub(crate) struct Bench {}

pub(crate) fn run(_bench: Bench, _app: &App) -> Result<Exit> {
    Err(Problem::cannot_run("this binary has no benchmarks").into())
}
