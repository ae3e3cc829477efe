//! The few file operations the log needs, behind a trait, so that a simulated disk can stand in for the real one.
//!
//! It owns no policy: what is synced when, and what an error means, is the log's business. Names are relative to the
//! store's directory and use `/`. The derived index does not go through here: LMDB does its own input and output.
//! Folders are made and removed here too, so that this file is the only one that touches the file system's own calls.

#![allow(clippy::disallowed_methods, reason = "the one room in which the store touches the file system")]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::direct::{LogFile, SpareMemory};
use crate::zeros;

/// A directory tree that keeps what was synced.
///
/// - Bytes of a file are safe after [`DiskFile::sync_data`], the file's name after [`Disk::sync_dir`] of its folder.
/// - Whatever was not synced may be there after a crash, or not, or in part, in any order.
/// - [`Disk::rename`] is atomic: after a crash the file has the old name or the new one.
pub trait Disk: Send + Sync + 'static {
    fn make_dir(&self, dir: &str) -> io::Result<()>;
    /// The names of the files in `dir`, in no particular order.
    fn list(&self, dir: &str) -> io::Result<Vec<String>>;
    /// Creates a file, or empties the one that is there.
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Creates a file, or empties the one that is there, and fills it with `len` zeros that are safe from a crash.
    fn create_zeroed(&self, name: &str, len: u64) -> io::Result<Box<dyn DiskFile>> {
        let file = self.create(name)?;
        zeros::fill(&*file, len)?;
        Ok(file)
    }
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    fn remove(&self, name: &str) -> io::Result<()>;
    fn sync_dir(&self, dir: &str) -> io::Result<()>;
}

/// One open file. Every call may come from any thread.
pub trait DiskFile: Send + Sync + 'static {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// The same for a batch of the log: there are only zeros behind it, and the next one begins where it ends or in its last
    /// page. From one thread.
    fn append_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_at(bytes, offset)
    }
    /// Nothing more is appended, and what is read will seldom be the newest of the log.
    fn seal(&self) {}
    /// Fills `bytes`, or fails with [`io::ErrorKind::UnexpectedEof`].
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;
    fn sync_data(&self) -> io::Result<()>;
    fn len(&self) -> io::Result<u64>;
    fn set_len(&self, len: u64) -> io::Result<()>;

    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// Makes a folder with all those above it, and makes its name safe from a crash.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    std::fs::create_dir_all(path)?;
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(above)?.sync_all()
}

/// Removes a folder with everything in it. One that is not there is fine.
pub(crate) fn remove_folder(path: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Opens a file whose contents do not matter, only that it is there to be locked.
pub(crate) fn open_lock_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

/// The operating system's own file calls under one directory.
pub struct RealDisk {
    root: PathBuf,
    access: Access,
    spare_memory: SpareMemory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    ReadWrite,
    ReadOnly,
}

impl RealDisk {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), access: Access::ReadWrite, spare_memory: SpareMemory::default() }
    }

    /// Opens files without the right to write them, for looking at a store on read-only media.
    pub fn read_only(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), access: Access::ReadOnly, spare_memory: SpareMemory::default() }
    }
}

impl Disk for RealDisk {
    fn make_dir(&self, dir: &str) -> io::Result<()> {
        std::fs::create_dir_all(self.root.join(dir))
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(self.root.join(dir))? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        Ok(names)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let path = self.root.join(name);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
        Ok(Box::new(file))
    }

    fn create_zeroed(&self, name: &str, len: u64) -> io::Result<Box<dyn DiskFile>> {
        let path = self.root.join(name);
        if let Some(direct) = zeros::fill_directly(&path, len)? {
            let file = OpenOptions::new().read(true).write(true).open(path)?;
            return Ok(Box::new(LogFile::filled(file, direct, &self.spare_memory)));
        }
        let file = self.create(name)?;
        zeros::fill(&*file, len)?;
        Ok(file)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let (path, write) = (self.root.join(name), self.access == Access::ReadWrite);
        let file = OpenOptions::new().read(true).write(write).open(&path)?;
        Ok(Box::new(LogFile::new(file, &path, &self.spare_memory)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.root.join(from), self.root.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.root.join(name))
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        File::open(self.root.join(dir))?.sync_all()
    }
}

impl DiskFile for File {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(bytes, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        File::sync_data(self)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        File::set_len(self, len)
    }
}
