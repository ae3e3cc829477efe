//! The floor: bytes appended to a file that was zeroed before, each write followed by `fdatasync`, and nothing else. No
//! store that keeps its word can be faster with writes of the same size.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::time::Instant;

/// Zeroed once and written over again and again, so that it costs no more than that.
const FILE_BYTES: u64 = 256 << 20;

/// A file to measure with.
#[derive(Clone)]
pub(super) struct Floor {
    path: PathBuf,
}

impl Floor {
    /// Makes the file, which takes a moment.
    pub(super) fn prepare(dir: &Path) -> Result<Self> {
        let floor = Self { path: dir.join("floor") };
        let file = floor.open()?;
        let zeros = vec![0; 1 << 20];
        for at in (0..FILE_BYTES).step_by(zeros.len()) {
            file.write_all_at(&zeros, at).context("the floor's file cannot be written")?;
        }
        file.sync_all()?;
        Ok(floor)
    }

    /// Synced writes per second, `bytes` each.
    pub(super) async fn writes_per_second(&self, bytes: usize, time: Duration) -> Result<f64> {
        let floor = self.clone();
        tokio::task::spawn_blocking(move || floor.write_for(bytes.max(1), time)).await?
    }

    fn write_for(&self, bytes: usize, time: Duration) -> Result<f64> {
        let file = self.open()?;
        let buffer = vec![b'x'; bytes];
        let (started, mut writes, mut at) = (Instant::now(), 0_u64, 0);
        while started.elapsed() < time {
            if at + bytes as u64 > FILE_BYTES {
                at = 0;
            }
            file.write_all_at(&buffer, at)?;
            file.sync_data()?;
            at += bytes as u64;
            writes += 1;
        }
        Ok(writes as f64 / started.elapsed().as_secs_f64())
    }

    #[allow(clippy::disallowed_methods, reason = "the floor is measured beside the store, not through it")]
    fn open(&self) -> Result<File> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&self.path);
        file.with_context(|| format!("{} cannot be opened", self.path.display()))
    }
}
