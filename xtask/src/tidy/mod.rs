//! `cargo xtask tidy`: conventions as checks, each of which says where, what is wrong and what to do.
//!
//! A check here is a pure function from the text of files to findings; only this file and `tree` touch the disk. What
//! exists already is recorded and may only get better: lengths in `tidy-ratchet.toml`, exceptions in `tidy-allow.toml`.

mod allow;
mod arrows;
mod changelog;
mod core;
mod essays;
mod length;
mod links;
mod manifest;
mod map;
mod paths;
mod tree;
mod words;

use std::fmt;

use anyhow::{Context, Result, bail};

use crate::shell;
use tree::File;

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    /// What is wrong; what to do.
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Checks the tree and fails when there is a finding.
pub(crate) fn run() -> Result<()> {
    let files = tree::read()?;
    let findings = check(&files);
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => println!("tidy: {} files, nothing to say", files.len()),
        1 => bail!("1 finding"),
        count => bail!("{count} findings"),
    }
    Ok(())
}

/// Rewrites the recorded lengths: lower where a file has shrunk, gone where it is short enough. Never higher.
pub(crate) fn update() -> Result<()> {
    let files = tree::read()?;
    let recorded = text_of(&files, length::RATCHET_FILE);
    let path = shell::root().join(length::RATCHET_FILE);
    std::fs::write(&path, length::updated(&files, recorded)).with_context(|| format!("cannot write {}", path.display()))
}

fn check(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(essays::check(files));
    findings.extend(length::check(files, text_of(files, length::RATCHET_FILE)));
    findings.extend(core::check(files));
    findings.extend(arrows::check(files));
    findings.extend(map::check(files));
    findings.extend(links::check(files));
    findings.extend(changelog::check(files));
    let excusable = [words::check(files), paths::check(files)].concat();
    findings.extend(allow::apply(excusable, text_of(files, allow::FILE)));
    findings.sort();
    findings
}

/// The text of a file, or nothing where there is no such file.
fn text_of<'a>(files: &'a [File], path: &str) -> &'a str {
    files.iter().find(|file| file.path == path).map_or("", |file| &file.text)
}
