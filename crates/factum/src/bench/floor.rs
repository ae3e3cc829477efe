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

/// What the disk did.
pub(super) struct Written {
    pub(super) per_second: f64,
    /// The part of the time in which the thread could have run and had no processor. It sleeps in every sync, so on a
    /// machine that others keep busy it stands in line after each, and what it measures is that line and not the disk.
    pub(super) waited: f64,
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

    /// Synced writes, `bytes` each.
    pub(super) async fn write(&self, bytes: usize, time: Duration) -> Result<Written> {
        let floor = self.clone();
        tokio::task::spawn_blocking(move || floor.write_for(bytes.max(1), time)).await?
    }

    /// Waits until what others have written is on the disk: a store's own background work, begun in its turn, would
    /// otherwise be paid for in the floor's, and make the floor look slow.
    pub(super) async fn settle(&self) -> Result<()> {
        let floor = self.clone();
        tokio::task::spawn_blocking(move || Ok(rustix::fs::syncfs(floor.open()?)?)).await?
    }

    fn write_for(&self, bytes: usize, time: Duration) -> Result<Written> {
        let file = self.open()?;
        let waited_before = waited();
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
        let elapsed = started.elapsed();
        let waited = waited().saturating_sub(waited_before).as_secs_f64() / elapsed.as_secs_f64();
        Ok(Written { per_second: writes as f64 / elapsed.as_secs_f64(), waited })
    }

    #[allow(clippy::disallowed_methods, reason = "the floor is measured beside the store, not through it")]
    fn open(&self) -> Result<File> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&self.path);
        file.with_context(|| format!("{} cannot be opened", self.path.display()))
    }
}

/// How long this thread has stood in line for a processor; nothing where the system does not say.
fn waited() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').nth(1).and_then(|nanos| nanos.parse().ok()).unwrap_or(0))
}
