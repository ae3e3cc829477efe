//! What is in a store's directory: the version it was written with, and which log segments there are.
//!
//! It owns `FORMAT` and the names and lengths of segments. It reads no frames: whether a segment's content is whole is
//! for the walk to find out.

use std::sync::Arc;

use crate::contract::Position;
use crate::disk::Disk;
use crate::error::OpenError;
use crate::log::{LOG_DIR, Log, SegmentFile, path_of};
use crate::options::Options;
use crate::recovery::damage;
use crate::segment::{self, FORMAT_VERSION, SegmentHeader};
use crate::spare::{self, InstallError};
use crate::walk::{Fault, FaultKind};

const FORMAT_PATH: &str = "FORMAT";

/// Checks the version, or writes it down in a new store.
pub(crate) fn check_format(disk: &dyn Disk) -> Result<(), OpenError> {
    disk.make_dir(LOG_DIR).map_err(OpenError::io("creating log/"))?;
    let names = disk.list("").map_err(OpenError::io("listing the directory"))?;
    let wanted = format_line();
    if names.iter().any(|name| name == FORMAT_PATH) {
        read_format(disk, &wanted)?;
        // Whoever named it may have been killed before the name was safe.
        return disk.sync_dir("").map_err(OpenError::io("syncing the directory"));
    }
    let log = disk.list(LOG_DIR).map_err(OpenError::io("listing log/"))?;
    if log.iter().any(|name| segment::first_of(name).is_some()) {
        let reason = "there is a log but no FORMAT file; restore FORMAT from a backup".to_owned();
        return Err(OpenError::Format { reason });
    }
    let temporary = "FORMAT.tmp";
    let write = || {
        let file = disk.create(temporary)?;
        file.write_at(wanted.as_bytes(), 0)?;
        file.sync_data()?;
        disk.rename(temporary, FORMAT_PATH)?;
        disk.sync_dir("")
    };
    write().map_err(OpenError::io("writing FORMAT"))
}

pub(crate) fn read_format(disk: &dyn Disk, wanted: &str) -> Result<(), OpenError> {
    let doing = OpenError::io("reading FORMAT");
    let read = || {
        let file = disk.open(FORMAT_PATH)?;
        let mut bytes = vec![0; file.len()?.min(64) as usize];
        file.read_at(&mut bytes, 0)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let found = read().map_err(doing)?;
    if found == wanted {
        return Ok(());
    }
    let (found, wanted) = (found.trim(), wanted.trim());
    let reason = format!("the directory has format {found:?} and this build reads {wanted:?}; use a build that fits");
    Err(OpenError::Format { reason })
}

/// The version as `FORMAT` has it.
pub(crate) fn format_line() -> String {
    format!("factum-store {FORMAT_VERSION}\n")
}

/// Finds the segments, checks by name and length that none is missing or cut, and makes the first in a new store.
pub(crate) fn open_log(disk: &Arc<dyn Disk>, options: &Options) -> Result<Log, OpenError> {
    let (segments, leftovers) = list_segments(&**disk)?;
    for name in leftovers {
        let path = format!("{LOG_DIR}/{name}");
        disk.remove(&path).map_err(OpenError::io(format!("removing {path}")))?;
    }
    if let Some(fault) = check_lengths(&**disk, &segments)? {
        return Err(damage(fault));
    }
    let log = Log::new(disk.clone(), segments);
    if log.segment_count() > 0 {
        return Ok(log);
    }
    let capacity = options.first_segment_bytes.next_multiple_of(segment::CAPACITY_UNIT).max(segment::CAPACITY_UNIT);
    let header = SegmentHeader { first: 0, capacity, previous_end: 0, previous_crc: 0 };
    let made = spare::prepare(&**disk, capacity).map_err(InstallError::NotYet);
    let made = made.and_then(|spare| spare::install(&**disk, spare, header));
    let file = made.map_err(|error| match error {
        InstallError::NotYet(source) | InstallError::Unknown(source) => {
            OpenError::Io { doing: "creating the first log segment".into(), source }
        }
    })?;
    log.add_segment(Arc::new(file));
    Ok(log)
}

/// The first positions of all segments, ascending, and the names of unfinished files.
pub(crate) fn list_segments(disk: &dyn Disk) -> Result<(Vec<Position>, Vec<String>), OpenError> {
    let names = disk.list(LOG_DIR).map_err(OpenError::io("listing log/"))?;
    let mut segments: Vec<Position> = names.iter().filter_map(|name| segment::first_of(name)).collect();
    segments.sort_unstable();
    let leftovers = names.into_iter().filter(|name| name.ends_with(".tmp")).collect();
    Ok((segments, leftovers))
}

/// The first place where one segment does not end where the next begins.
pub(crate) fn check_lengths(disk: &dyn Disk, segments: &[Position]) -> Result<Option<Fault>, OpenError> {
    let mut expected = 0;
    for (at, first) in segments.iter().enumerate() {
        let file = path_of(*first);
        if *first > expected {
            let reason = format!("the segment that begins at position {expected} is missing");
            let file = path_of(expected);
            return Ok(Some(Fault { file, offset: 0, position: expected, kind: FaultKind::Missing, reason }));
        }
        let len = disk.open(&file).and_then(|file| file.len()).map_err(OpenError::io(format!("opening {file}")))?;
        expected = first + len;
        if let Some(next) = segments.get(at + 1).filter(|next| **next != expected) {
            return Ok(Some(gap(disk, *first, len, *next)));
        }
    }
    Ok(None)
}

/// What is wrong where the segment at `first`, whose file has `len` bytes, does not reach the `next` one.
fn gap(disk: &dyn Disk, first: Position, len: u64, next: Position) -> Fault {
    let end = first + len;
    let whole = SegmentFile::open(disk, first).is_ok_and(|segment| segment.header.capacity == len);
    if whole && next > end {
        let reason = format!("the segment is missing; the next one there is begins at position {next}");
        return Fault { file: path_of(end), offset: 0, position: end, kind: FaultKind::Missing, reason };
    }
    let kind = if next > end { FaultKind::Cut } else { FaultKind::OutOfPlace };
    let reason = format!("the file has {len} bytes, but the next segment begins at position {next}");
    Fault { file: path_of(first), offset: len, position: end, kind, reason }
}
