//! A file of the log as the real disk has it: appended to past the page cache, with the newest part of it in memory.
//!
//! A log is written once and in order, and what is read of it is mostly what was written last. Through the page cache each
//! batch would be copied into pages that were never touched before, which takes several times as long as writing it and
//! as much memory as there is. So batches go right to the device, from a ring that readers are served from as well; what is
//! older comes through the page cache, as in any file.
//!
//! ```text
//!   file   ░░░ on the device ░░░│▓▓▓▓▓ also in the ring ▓▓▓▓▓│ zeros, up to the file's end
//!                             start                         end        both at pages
//! ```
//!
//! It owns the ring and falls back to the page cache where the file system cannot do without. It does not sync by itself.
//!
//! Invariant: what the ring holds from `start` to `end` is what the file holds there, and nothing but zeros is behind `end`.

#![allow(clippy::disallowed_methods, reason = "a part of the one room in which the store touches the file system")]

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock, RwLockWriteGuard};
use rustix::fs::OFlags;

use crate::disk::DiskFile;
use crate::zeros::{PAGE, cannot};

/// How much of a file stays in memory behind its end.
const RECENT_BYTES: u64 = 16 << 20;

/// The ring that the next file takes over: memory that was used before costs less than other.
pub(crate) type SpareMemory = Arc<Mutex<Option<Memory>>>;

pub(crate) struct LogFile {
    file: File,
    recent: RwLock<Recent>,
    spare: SpareMemory,
}

struct Recent {
    direct: Direct,
    memory: Memory,
    /// The most that the ring takes.
    ring_bytes: u64,
    start: u64,
    end: u64,
    file_len: u64,
}

/// The way past the page cache.
enum Direct {
    /// Not asked for yet: most files are only read.
    At(PathBuf),
    Open(File),
    /// The file system does not have it.
    Cannot,
}

impl LogFile {
    /// A file that is there.
    pub(crate) fn new(file: File, path: &Path, spare: &SpareMemory) -> Self {
        Self::with(file, Direct::At(path.to_owned()), spare)
    }

    /// A file that was filled past the page cache, and so can be written the same way.
    pub(crate) fn filled(file: File, direct: File, spare: &SpareMemory) -> Self {
        Self::with(file, Direct::Open(direct), spare)
    }

    fn with(file: File, direct: Direct, spare: &SpareMemory) -> Self {
        let recent =
            Recent { direct, memory: Memory::default(), ring_bytes: RECENT_BYTES, start: 0, end: 0, file_len: 0 };
        Self { file, recent: RwLock::new(recent), spare: spare.clone() }
    }

    /// Forgets what is in memory and has everything go through the page cache from now on.
    fn give_up(&self) {
        let mut recent = self.recent.write();
        recent.clear();
        recent.direct = Direct::Cannot;
    }
}

impl DiskFile for LogFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.recent.write().clear();
        self.file.write_all_at(bytes, offset)
    }

    fn append_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut recent = self.recent.write();
        let Some(pages) = recent.take(self, bytes, offset)? else {
            recent.clear();
            drop(recent);
            return self.file.write_all_at(bytes, offset);
        };
        // Readers may look at it meanwhile: it is the same to them whether the device has it yet.
        let recent = RwLockWriteGuard::downgrade(recent);
        let written = recent.write(pages);
        drop(recent);
        match written {
            Err(error) if cannot(&error) => {
                self.give_up();
                self.file.write_all_at(bytes, offset)
            }
            Err(error) => {
                self.recent.write().clear();
                Err(error)
            }
            Ok(()) => Ok(()),
        }
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        if self.recent.read().copy(bytes, offset) {
            return Ok(());
        }
        self.file.read_exact_at(bytes, offset)
    }

    fn seal(&self) {
        let mut recent = self.recent.write();
        recent.clear();
        let memory = std::mem::take(&mut recent.memory);
        if memory.len() > 0 {
            *self.spare.lock() = Some(memory);
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut recent = self.recent.write();
        recent.clear();
        // The ring is as large as the file it was made for.
        recent.memory = Memory::default();
        self.file.set_len(len)
    }
}

impl Recent {
    fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Takes what is to be written into the ring and says which part of the file that concerns, in whole pages. `None` where it
    /// has to be written in the other way.
    fn take(&mut self, of: &LogFile, bytes: &[u8], offset: u64) -> io::Result<Option<Range<u64>>> {
        if !self.is_ready(of)? {
            return Ok(None);
        }
        let ring = self.memory.len() as u64;
        let (first, behind) = (floor(offset), offset + bytes.len() as u64);
        let end = ceil(behind);
        if bytes.is_empty() || end - first > ring || end > self.file_len {
            return Ok(None);
        }
        let follows = self.start < self.end && self.start <= first && offset <= self.end;
        if !follows {
            // What is in front of it in its first page has to be written again.
            let mut page = [0; PAGE];
            of.file.read_exact_at(&mut page, first)?;
            self.memory.put(first, &page);
            (self.start, self.end) = (first, first + PAGE as u64);
        }
        self.memory.put(offset, bytes);
        if end > self.end {
            self.memory.put(behind, &[0; PAGE][..(end - behind) as usize]);
            self.end = end;
        }
        self.start = self.start.max(self.end.saturating_sub(ring));
        Ok(Some(first..end))
    }

    /// Whether there is a way past the page cache, and a ring.
    fn is_ready(&mut self, of: &LogFile) -> io::Result<bool> {
        if let Direct::At(path) = &self.direct {
            self.direct = open(path)?.map_or(Direct::Cannot, Direct::Open);
        }
        if matches!(self.direct, Direct::Cannot) {
            return Ok(false);
        }
        if self.memory.len() == 0 {
            self.file_len = of.file.metadata()?.len();
            let len = floor(self.file_len.min(self.ring_bytes)) as usize;
            let spare = of.spare.lock().take().filter(|spare| spare.len() == len);
            self.memory = spare.unwrap_or_else(|| Memory::new(len));
        }
        Ok(self.memory.len() > 0)
    }

    fn write(&self, pages: Range<u64>) -> io::Result<()> {
        let Direct::Open(file) = &self.direct else { return Err(io::ErrorKind::Unsupported.into()) };
        let mut at = pages.start;
        while at < pages.end {
            let [one, other] = self.memory.pieces(at, (pages.end - at) as usize);
            match rustix::io::pwritev(file, &[IoSlice::new(one), IoSlice::new(other)], at).map_err(io::Error::from) {
                // One that ended inside of a page is done again from that page on.
                Ok(written) if written >= PAGE => at = floor(at + written as u64),
                Ok(_) => return Err(io::ErrorKind::WriteZero.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Fills `bytes` from the ring; false where it does not have them.
    fn copy(&self, bytes: &mut [u8], offset: u64) -> bool {
        let is_here = (self.start..self.end).contains(&offset) && offset + bytes.len() as u64 <= self.file_len;
        if is_here {
            let held = (self.end - offset).min(bytes.len() as u64) as usize;
            let (held, behind) = bytes.split_at_mut(held);
            self.memory.get(offset, held);
            behind.fill(0);
        }
        is_here
    }
}

/// Memory that begins at a page. A file's byte has its place in it by the offset, round and round.
#[derive(Default)]
pub(crate) struct Memory {
    bytes: Vec<u8>,
    /// Where the first page begins.
    first: usize,
}

impl Memory {
    fn new(len: usize) -> Self {
        let bytes = vec![0; len + PAGE];
        let first = bytes.as_ptr().align_offset(PAGE);
        Self { bytes, first }
    }

    fn len(&self) -> usize {
        self.bytes.len().saturating_sub(PAGE)
    }

    /// The two pieces that `len` bytes of the file from `offset` on lie in; at most as many as there are.
    fn ranges(&self, offset: u64, len: usize) -> [Range<usize>; 2] {
        let at = (offset % self.len() as u64) as usize;
        let one = len.min(self.len() - at);
        [self.first + at..self.first + at + one, self.first..self.first + len - one]
    }

    fn pieces(&self, offset: u64, len: usize) -> [&[u8]; 2] {
        self.ranges(offset, len).map(|range| &self.bytes[range])
    }

    fn put(&mut self, offset: u64, bytes: &[u8]) {
        let [one, other] = self.ranges(offset, bytes.len());
        let (front, back) = bytes.split_at(one.len());
        self.bytes[one].copy_from_slice(front);
        self.bytes[other].copy_from_slice(back);
    }

    fn get(&self, offset: u64, into: &mut [u8]) {
        let [one, other] = self.pieces(offset, into.len());
        let (front, back) = into.split_at_mut(one.len());
        front.copy_from_slice(one);
        back.copy_from_slice(other);
    }
}

/// `None` where the file system has no way past the page cache.
fn open(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::DIRECT.bits().cast_signed();
    match OpenOptions::new().write(true).custom_flags(flags).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if cannot(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn floor(offset: u64) -> u64 {
    offset - offset % PAGE as u64
}

fn ceil(offset: u64) -> u64 {
    offset.next_multiple_of(PAGE as u64)
}

#[cfg(test)]
mod tests;
