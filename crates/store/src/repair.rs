//! Cutting a damaged tail off, when a person asks for it.
//!
//! It owns one operation: everything behind the intact beginning of the last segment is set aside in a file of its own
//! and the segment is zero from there on. It never touches another segment, and it says exactly what it drops.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use crate::contract::{Position, Sequence};
use crate::disk::{self, Disk, RealDisk};
use crate::error::OpenError;
use crate::frame::{FrameHeader, HEADER_LEN};
use crate::layout::{self, list_segments};
use crate::lock::DirLock;
use crate::log::{Frame, LOG_DIR, path_of};
use crate::segment::{self, SegmentHeader};
use crate::tail;

/// Whether to only say what would happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepairMode {
    DryRun,
    Apply,
}

/// What a repair drops, or would drop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairReport {
    pub file: String,
    pub offset: u64,
    /// The log ends here afterwards.
    pub position: Position,
    /// Bytes behind that place, up to the last one that is not zero. 0: there is nothing to repair.
    pub dropped_bytes: u64,
    /// Commits among them that can still be read. Anything else in them is lost already.
    pub dropped_commits: Vec<DroppedCommit>,
    /// Where the bytes were kept.
    pub kept_in: Option<String>,
    /// Whether the file is, or was, shorter than it was made.
    pub was_cut: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedCommit {
    pub stream: Arc<str>,
    pub first_sequence: Sequence,
    pub last_sequence: Sequence,
    pub position: Position,
}

/// Drops what is behind the last intact commit of the last segment of the store in `dir`.
pub fn repair_truncate_tail(dir: impl AsRef<Path>, mode: RepairMode) -> Result<RepairReport, OpenError> {
    let dir = dir.as_ref();
    let _lock = DirLock::exclusive(dir)?;
    repair_truncate_tail_on(&RealDisk::new(dir), &dir.join("index"), mode)
}

/// The same for a log on another disk.
pub fn repair_truncate_tail_on(disk: &dyn Disk, index_dir: &Path, mode: RepairMode) -> Result<RepairReport, OpenError> {
    layout::read_format(disk, &layout::format_line())?;
    let (segments, _) = list_segments(disk)?;
    let Some(first) = segments.last().copied() else {
        return Err(OpenError::Format { reason: "there is no log segment to repair".into() });
    };
    let path = path_of(first);
    let reading = || OpenError::io(format!("reading {path}"));
    let file = disk.open(&path).map_err(reading())?;
    let len = file.len().map_err(reading())?;
    let mut bytes = vec![0; len as usize];
    file.read_at(&mut bytes, 0).map_err(reading())?;
    let header = intact_header(&bytes, first)?;
    bytes.resize(header.capacity as usize, 0);
    let bytes = Bytes::from(bytes);
    let end = intact_end(&bytes, header);
    let rest = bytes.slice(end..);
    let dropped_bytes = rest.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1);
    let was_cut = len != header.capacity;
    let mut report = RepairReport {
        file: path.clone(),
        offset: end as u64,
        position: first + end as u64,
        dropped_bytes,
        dropped_commits: readable(first + end as u64, &rest),
        kept_in: None,
        was_cut,
    };
    if mode == RepairMode::DryRun || (dropped_bytes == 0 && !was_cut) {
        return Ok(report);
    }
    let writing = || OpenError::io(format!("repairing {path}"));
    if dropped_bytes > 0 {
        let kept = keep_aside(disk, report.position, &rest[..dropped_bytes as usize]).map_err(writing())?;
        report.kept_in = Some(kept);
    }
    let clean = || {
        // Written, not only extended: the store expects zeros that are really there.
        file.set_len(header.capacity)?;
        file.write_at(&vec![0; rest.len()], end as u64)?;
        file.sync_data()
    };
    clean().map_err(writing())?;
    disk::remove_folder(index_dir).map_err(OpenError::io("removing the derived index"))?;
    Ok(report)
}

fn intact_header(bytes: &[u8], first: Position) -> Result<SegmentHeader, OpenError> {
    let decoded =
        bytes.first_chunk().ok_or("the file is shorter than its header".to_owned()).and_then(SegmentHeader::decode);
    decoded
        .and_then(|header| if header.first == first { Ok(header) } else { Err("the file is out of place".into()) })
        .map_err(|reason| {
            let (file, advice) = (path_of(first), OpenError::NO_ADVICE);
            OpenError::Damaged { file, offset: 0, position: first, reason, advice }
        })
}

/// The offset behind the last frame that is intact and follows from the one before.
fn intact_end(bytes: &Bytes, header: SegmentHeader) -> usize {
    let (mut at, mut crc) = (segment::HEADER_LEN, header.previous_crc);
    while let Some(frame) = frame_at(bytes, at, header.first).filter(|frame| frame.header.previous_crc == crc) {
        at += frame.header.frame_len() as usize;
        crc = frame.header.crc;
    }
    at
}

fn frame_at(bytes: &Bytes, at: usize, first: Position) -> Option<Frame> {
    let header = FrameHeader::decode(bytes.get(at..)?)?;
    let end = at.checked_add(header.frame_len() as usize).filter(|end| *end <= bytes.len())?;
    Frame::checked(header, first + at as u64, bytes.slice(at + HEADER_LEN..end)).ok()
}

fn readable(start: Position, rest: &Bytes) -> Vec<DroppedCommit> {
    let frames = tail::headers_in(start, rest).into_iter();
    let commits = frames.filter_map(|header| {
        let frame = frame_at(rest, (header.position - start) as usize, start)?;
        frame.decode_unhashed().ok()
    });
    let described = commits.map(|commit| DroppedCommit {
        stream: commit.stream,
        first_sequence: commit.first_sequence,
        last_sequence: commit.first_sequence + commit.records.len() as u64 - 1,
        position: commit.position,
    });
    described.collect()
}

/// Writes the bytes under a name that says where they were, never over an earlier one.
fn keep_aside(disk: &dyn Disk, position: Position, bytes: &[u8]) -> std::io::Result<String> {
    let taken = disk.list(LOG_DIR)?;
    let mut name = format!("{position:020}.dropped");
    let mut attempt = 2;
    while taken.contains(&name) {
        name = format!("{position:020}.dropped.{attempt}");
        attempt += 1;
    }
    let path = format!("{LOG_DIR}/{name}");
    let file = disk.create(&path)?;
    file.write_at(bytes, 0)?;
    file.sync_data()?;
    disk.sync_dir(LOG_DIR)?;
    Ok(path)
}
