//! Making the next segment ahead of need.
//!
//! It owns the file `log/next.tmp`: created, filled with zeros and synced while the current segment still has room, so
//! that the writer only has to name it. It does not decide when a segment is full.
//!
//! Zeros are really written, not just reserved: syncing an overwrite of allocated, initialised blocks touches no file
//! metadata and is several times faster. A failure here is not poison: nothing acknowledged is in this file. The part
//! that was written is removed, which frees the room it took, and the next attempt starts from nothing.

use std::io;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::disk::{Disk, DiskFile};
use crate::log::{LOG_DIR, SegmentFile, path_of};
use crate::options::Background;
use crate::segment::SegmentHeader;

pub(crate) const SPARE_PATH: &str = "log/next.tmp";

pub(crate) struct Spare {
    pub(crate) file: Box<dyn DiskFile>,
    pub(crate) capacity: u64,
}

/// Creates a zeroed, synced file of `capacity` bytes under the temporary name.
pub(crate) fn prepare(disk: &dyn Disk, capacity: u64) -> io::Result<Spare> {
    let made = disk.create_zeroed(SPARE_PATH, capacity);
    let file = made.inspect_err(|_| drop(disk.remove(SPARE_PATH)))?;
    Ok(Spare { file, capacity })
}

/// Why a segment could not be put in place.
pub(crate) enum InstallError {
    /// Nothing happened; another attempt may succeed.
    NotYet(io::Error),
    /// The file has its name, but whether a crash keeps it is unknown.
    Unknown(io::Error),
}

/// Gives a prepared file its header and its name. When this returns the segment is durable and empty.
pub(crate) fn install(disk: &dyn Disk, spare: Spare, header: SegmentHeader) -> Result<SegmentFile, InstallError> {
    debug_assert_eq!(spare.capacity, header.capacity);
    let named = spare
        .file
        .write_at(&header.encode(), 0)
        .and_then(|()| spare.file.sync_data())
        .and_then(|()| disk.rename(SPARE_PATH, &path_of(header.first)));
    named.map_err(|error| {
        drop(disk.remove(SPARE_PATH));
        InstallError::NotYet(error)
    })?;
    disk.sync_dir(LOG_DIR).map_err(InstallError::Unknown)?;
    Ok(SegmentFile { header, file: spare.file })
}

/// The workshop: one thread makes the spare, the writer takes it.
pub(crate) struct Spares {
    disk: Arc<dyn Disk>,
    background: Background,
    state: Mutex<State>,
    changed: Condvar,
}

enum State {
    Idle,
    Wanted(u64),
    Working,
    Ready(Spare),
    Closed,
}

impl Spares {
    pub(crate) fn new(disk: Arc<dyn Disk>, background: Background) -> Self {
        Self { disk, background, state: Mutex::new(State::Idle), changed: Condvar::new() }
    }

    /// Asks for a spare to be made. Does nothing where one is there or under way.
    pub(crate) fn want(&self, capacity: u64) {
        if self.background == Background::OnDemand {
            return;
        }
        let mut state = self.state.lock();
        if matches!(*state, State::Idle) {
            *state = State::Wanted(capacity);
            self.changed.notify_all();
        }
    }

    /// A spare that holds at least `least` bytes: the one that is ready, or one made now with `capacity`.
    pub(crate) fn take(&self, least: u64, capacity: u64) -> io::Result<Spare> {
        let mut state = self.state.lock();
        while matches!(*state, State::Working) {
            self.changed.wait(&mut state);
        }
        match std::mem::replace(&mut *state, State::Idle) {
            State::Ready(spare) if spare.capacity >= least => Ok(spare),
            // Whoever asks holds the state, so the thread cannot begin another one under the same name meanwhile.
            _ => prepare(&*self.disk, capacity),
        }
    }

    /// The thread's loop.
    pub(crate) fn run(&self) {
        let mut state = self.state.lock();
        loop {
            match *state {
                State::Closed => return,
                State::Wanted(capacity) => {
                    *state = State::Working;
                    drop(state);
                    let made = prepare(&*self.disk, capacity);
                    state = self.state.lock();
                    if matches!(*state, State::Working) {
                        *state = match made {
                            Ok(spare) => State::Ready(spare),
                            Err(error) => {
                                tracing::warn!(%error, capacity, "the next log segment could not be prepared");
                                State::Idle
                            }
                        };
                    }
                    self.changed.notify_all();
                }
                _ => self.changed.wait(&mut state),
            }
        }
    }

    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        while matches!(*state, State::Working) {
            self.changed.wait(&mut state);
        }
        if matches!(*state, State::Ready(_)) {
            drop(self.disk.remove(SPARE_PATH));
        }
        *state = State::Closed;
        self.changed.notify_all();
    }
}
