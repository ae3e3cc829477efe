//! Opening LMDB: the `unsafe` that comes with a memory map, and the checks that keep it sound.

use std::path::Path;

use heed::{Env, EnvFlags, EnvOpenOptions, WithoutTls};

use super::IndexError;

/// Reads that may be under way at the same time. Each holds its place for microseconds.
const READERS_MAX: u32 = 4096;
/// The smallest address space worth trying.
const MAP_BYTES_MIN: usize = 64 << 20;

/// LMDB fails on keys that it could not hold; nothing is stored under such a key, which is all a reader wants to know.
pub(super) fn is_key(key: &[u8]) -> bool {
    !key.is_empty() && key.len() <= crate::KEY_BYTES_MAX
}

pub(super) fn open_env(path: &Path, map_bytes: usize, flags: EnvFlags) -> Result<Env<WithoutTls>, IndexError> {
    let mut size = map_bytes.max(MAP_BYTES_MIN);
    loop {
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        options.map_size(size).max_dbs(8).max_readers(READERS_MAX);
        // SAFETY: the memory map is only unsound where somebody else changes the file meanwhile. The store's `LOCK` keeps
        // other processes out of the directory, LMDB's own lock file guards the threads of this one, and `NO_LOCK` comes
        // only with `READ_ONLY` under the shared lock that `verify` holds, when nobody writes. A file cut short, which
        // would fault on access, is refused by `refuse_cut_file` before anything is read.
        #[allow(unsafe_code)]
        let opened = unsafe { options.flags(flags).open(path) };
        match opened {
            Err(heed::Error::Io(error)) if is_no_room(&error) && size > MAP_BYTES_MIN => {
                size = (size / 2).max(MAP_BYTES_MIN);
            }
            other => return Ok(other?),
        }
    }
}

/// Whether the system has no room for so large a map. Under `valgrind`, which gives out addresses itself, that is `EINVAL`.
fn is_no_room(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::OutOfMemory | std::io::ErrorKind::InvalidInput)
}

/// A map that reaches beyond its file faults on access, so a short file must be noticed before it is touched.
pub(super) fn refuse_cut_file(env: &Env<WithoutTls>, path: &Path) -> Result<(), IndexError> {
    let pages = env.info().last_page_number as u64 + 1;
    let page_size = u64::from(env.unnamed_database_stat().page_size);
    let len = std::fs::metadata(path.join("data.mdb"))?.len();
    if len > 0 && len < pages * page_size {
        return Err(IndexError::Malformed("its file is cut off"));
    }
    Ok(())
}
