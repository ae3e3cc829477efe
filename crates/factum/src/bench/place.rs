//! Where a benchmark runs: a directory for what it writes, and somewhere to say what it is doing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::output::Output;

/// How long one side has its turn: short, so that what disturbs one is likely to disturb the other as well.
pub(super) const TURN: Duration = Duration::from_millis(500);

/// What every benchmark is given.
pub(crate) struct Place {
    dir: PathBuf,
    /// How often reference and ours take turns.
    pub(super) rounds: usize,
    output: Output,
}

impl Place {
    pub(crate) fn new(dir: &Path, rounds: usize, output: Output) -> Result<Self> {
        let dir = dir.canonicalize().with_context(|| format!("there is no directory {}", dir.display()))?;
        Ok(Self { dir, rounds: rounds.max(1), output })
    }

    /// How many turns of either side make the rounds of so many seconds.
    pub(super) fn turns(&self, seconds: u64) -> usize {
        self.rounds * usize::try_from(seconds * 2).unwrap_or(usize::MAX).max(1)
    }

    /// A directory that is gone when it is dropped.
    pub(super) fn scratch(&self) -> Result<TempDir> {
        let scratch = tempfile::Builder::new().prefix(".factum-bench-").tempdir_in(&self.dir);
        scratch.with_context(|| format!("nothing can be written in {}", self.dir.display()))
    }

    /// What takes long says what it does.
    pub(super) fn note(&self, text: &str) {
        self.output.note(text);
    }
}
