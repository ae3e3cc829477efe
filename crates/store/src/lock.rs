//! One process per directory: the `LOCK` file.

use std::fs::{File, TryLockError};
use std::path::Path;

use crate::disk;
use crate::error::OpenError;

/// Held as long as the value lives.
#[derive(Debug)]
pub(crate) struct DirLock {
    _file: File,
}

impl DirLock {
    /// For a store that writes: nobody else may hold any lock.
    pub(crate) fn exclusive(dir: &Path) -> Result<Self, OpenError> {
        Self::take(dir, disk::open_lock_file, File::try_lock)
    }

    /// For looking at a store that nobody writes.
    pub(crate) fn shared(dir: &Path) -> Result<Self, OpenError> {
        // Opened for reading where it is there, so that a store on read-only media can be looked at.
        let open = |path: &Path| File::open(path).or_else(|_| disk::open_lock_file(path));
        Self::take(dir, open, File::try_lock_shared)
    }

    fn take(
        dir: &Path,
        open: impl FnOnce(&Path) -> std::io::Result<File>,
        lock: impl FnOnce(&File) -> Result<(), TryLockError>,
    ) -> Result<Self, OpenError> {
        let path = dir.join("LOCK");
        let doing = format!("locking {}", path.display());
        let file = open(&path).map_err(OpenError::io(doing.clone()))?;
        match lock(&file) {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(OpenError::Locked { dir: dir.to_owned() }),
            Err(TryLockError::Error(source)) => Err(OpenError::Io { doing, source }),
        }
    }
}
