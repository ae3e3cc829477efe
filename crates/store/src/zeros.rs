//! Filling a file with zeros that are really written, not just reserved.
//!
//! Where the system can, the zeros go to the device past the page cache, all from one page: going through the cache would
//! take as much memory as the file has bytes and copy each of them, for nothing, since they are only ever overwritten. The
//! writer does its part by writing whole pages, so that no page of such a file has to be read before it is written.

#![allow(clippy::disallowed_methods, reason = "a part of the one room in which the store touches the file system")]

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, OFlags, fallocate};

use crate::disk::DiskFile;

/// What the page cache and direct writes count in.
pub(crate) const PAGE: usize = 4_096;

/// Written and synced piece by piece, so that the writer's own syncs never wait behind a whole segment. Not too small
/// either: each piece grows the file, and syncing that takes the file system's journal, which the writer shares.
const CHUNK: usize = 4 << 20;

/// Pages of one direct write.
const PAGES_PER_WRITE: usize = 256;

/// Direct writes take memory from the beginning of a page.
#[repr(align(4096))]
struct Page([u8; PAGE]);

static ZEROS: Page = Page([0; PAGE]);

/// Fills an empty file.
pub(crate) fn fill(file: &dyn DiskFile, len: u64) -> io::Result<()> {
    let zeros = vec![0; CHUNK.min(len as usize)];
    let mut at = 0;
    while at < len {
        let piece = (len - at).min(zeros.len() as u64);
        file.write_at(&zeros[..piece as usize], at)?;
        file.sync_data()?;
        at += piece;
    }
    Ok(())
}

/// Creates and fills the file past the page cache. `None` where the file system cannot do that.
pub(crate) fn fill_directly(path: &Path, len: u64) -> io::Result<Option<File>> {
    let flags = OFlags::DIRECT.bits().cast_signed();
    let opened = OpenOptions::new().write(true).create(true).truncate(true).custom_flags(flags).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if cannot(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    match fallocate(&file, FallocateFlags::empty(), 0, len).map_err(io::Error::from) {
        Ok(()) => {}
        Err(error) if cannot(&error) => return Ok(None),
        Err(error) => return Err(error),
    }
    let pages = [IoSlice::new(&ZEROS.0); PAGES_PER_WRITE];
    let mut at = 0;
    while at < len {
        let count = usize::try_from((len - at) / PAGE as u64).unwrap_or(usize::MAX).min(PAGES_PER_WRITE);
        match rustix::io::pwritev(&file, &pages[..count], at).map_err(io::Error::from) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => at += written as u64,
            // Also where a write ended in the middle of a block: the other way does not mind.
            Err(error) if cannot(&error) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if at.is_multiple_of(CHUNK as u64) {
            file.sync_data()?;
        }
    }
    file.sync_data()?;
    Ok(Some(file))
}

/// Whether that is what a file system says that has no way past the page cache.
pub(crate) fn cannot(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn both_ways_give_the_same_file() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        for len in [PAGE, 5 * PAGE, CHUNK, CHUNK + 3 * PAGE] {
            let path = dir.path().join("zeros");
            std::fs::write(&path, b"something older")?;
            if fill_directly(&path, len as u64)?.is_none() {
                let file = std::fs::File::create(&path)?;
                fill(&file, len as u64)?;
            }
            let bytes = std::fs::read(&path)?;
            assert_eq!((bytes.len(), bytes.iter().all(|byte| *byte == 0)), (len, true), "{len}");
        }
        Ok(())
    }

    /// What is written through the page cache over direct zeros is there, and its neighbours are still zeros.
    #[test]
    fn a_filled_file_is_a_file_like_any_other() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("zeros");
        if fill_directly(&path, 4 * PAGE as u64)?.is_none() {
            return Ok(());
        }
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        file.write_all_at(b"facts", PAGE as u64 - 2)?;
        let mut expected = vec![0; 4 * PAGE];
        expected[PAGE - 2..PAGE + 3].copy_from_slice(b"facts");
        assert_eq!(std::fs::read(&path)?, expected);
        Ok(())
    }
}
