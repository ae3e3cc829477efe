//! `factum reference --dir DIR`: writes the pages that are made from the code. Documentation builds call it.

#![allow(clippy::disallowed_methods, reason = "writes documentation, which is made again whenever it is missing")]

mod moves;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

use crate::cli::App;
use crate::config::reference_page;
use crate::failure::Exit;

#[derive(Debug, Args)]
pub(crate) struct Reference {
    /// Where to write.
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
}

pub(crate) fn run(reference: &Reference, app: &App) -> Result<Exit> {
    let dir = &reference.dir;
    std::fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let openapi = serde_json::to_string_pretty(&factum_api::openapi::openapi(None))? + "\n";
    let own = [("openapi.json", openapi), ("config.md", reference_page()), ("moves.md", moves::page())];
    for (name, text) in factum_api::reference::pages().into_iter().chain(own) {
        write(&dir.join(name), &text)?;
        app.output.line(dir.join(name).display())?;
    }
    Ok(Exit::Ok)
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
