//! The files that the checks look at: every text file that is committed or about to be.

use std::fs;

use anyhow::{Context, Result};

use crate::shell;

/// A text file of the repository.
#[derive(Clone, Debug)]
pub(super) struct File {
    /// From the root, with `/` between the parts.
    pub(super) path: String,
    pub(super) text: String,
}

impl File {
    #[cfg(test)]
    pub(super) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    pub(super) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The lines with their numbers, from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// Reads the tree. New files count before they are added; ignored ones and those that are not text do not.
pub(super) fn read() -> Result<Vec<File>> {
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let paths = shell::output(&mut shell::program("git", &list)).context("tidy asks git for the files to check")?;
    let mut files: Vec<File> = paths.split('\0').filter(|path| !path.is_empty()).filter_map(read_text).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    Ok(files)
}

/// The file, unless it was deleted and not yet committed so, or is not text.
fn read_text(path: &str) -> Option<File> {
    let bytes = fs::read(shell::root().join(path)).ok()?;
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))?;
    Some(File { path: path.to_owned(), text })
}
