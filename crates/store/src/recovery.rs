//! Opening a directory: what is there, whether it is whole, and the commits that the derived index does not know yet.
//!
//! It owns the order in which a start looks at things. It does not start threads (`embedded.rs`) and it leaves the one
//! hard question, torn or damaged, to `tail.rs`.
//!
//! ```text
//!   FORMAT ──► names and lengths of all segments ──► LMDB and the position it reflects
//!                                                          │  the frame there must be the one LMDB knows
//!                                                          ▼
//!                         replay from there to the end into the overlay (checkpointing, where that is much)
//!                                                          │
//!                         judge what is behind the end ──► drop what is torn, write the last batch again, sync
//! ```
//!
//! Invariant: no segment older than LMDB's position is read, so a start costs the same whatever the history.

use std::path::Path;
use std::sync::Arc;

use crate::contract::Position;
use crate::disk::{self, Disk};
use crate::error::OpenError;
use crate::frame::{self, FrameHeader};
use crate::index::{Index, IndexError};
use crate::layout::{check_format, list_segments, open_log};
use crate::log::{LOG_DIR, Log, SegmentFile, path_of};
use crate::options::Options;
use crate::overlay::{Layer, Reflects};
use crate::replay::{Replay, located};
use crate::segment;
use crate::tail::{self, Tail};
use crate::walk::{Fault, Place, Step, Walker};

/// What a start found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// Position of the newest commit; 0 in an empty store.
    pub position: Position,
    pub segments: usize,
    /// Commits read from the log because the derived index did not know them yet.
    pub replayed_commits: u64,
    /// Why the derived index was made again from the whole log, if it was.
    pub index_rebuilt: Option<String>,
    /// What an interrupted write left behind, if anything. Nobody was told of it and it is gone now.
    pub torn: Option<TornTail>,
}

/// The remains of a write that a crash interrupted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornTail {
    pub file: String,
    pub offset: u64,
    pub position: Position,
    pub bytes: u64,
    /// Commits among them whose header could still be read.
    pub commits: usize,
}

pub(crate) struct Recovered {
    pub(crate) log: Log,
    pub(crate) index: Arc<Index>,
    pub(crate) layer: Layer,
    pub(crate) segment: Arc<SegmentFile>,
    pub(crate) place: Place,
    pub(crate) report: OpenReport,
}

pub(crate) fn recover(disk: Arc<dyn Disk>, index_dir: &Path, options: &Options) -> Result<Recovered, OpenError> {
    check_format(&*disk)?;
    let (index, mut rebuilt) = open_index(index_dir, options)?;
    let reflects = index.read().and_then(|txn| index.reflects(&txn)).map_err(index_error)?;
    // Before anything is made: an index without its log is damage, not a new store.
    if reflects.position > 0 && list_segments(&*disk)?.0.is_empty() {
        return Err(index_ahead(0, reflects));
    }
    let log = open_log(&disk, options)?;
    let (index, reflects) = if known_to_log(&log, reflects)? {
        (index, reflects)
    } else {
        rebuilt = Some("it belongs to another log".to_owned());
        drop(index);
        (fresh_index(index_dir, options).map_err(index_error)?, Reflects::default())
    };
    if reflects.position == 0 && rebuilt.is_none() && log.segment_count() > 1 {
        rebuilt = Some("it was not there".to_owned());
    }
    if let Some(reason) = &rebuilt {
        tracing::warn!(%reason, "making the derived index again from the log");
    }
    let start = if reflects.position == 0 { Place::START } else { Place { at: reflects.end, crc: reflects.crc } };
    let mut replay = Replay { index: &index, layer: Layer::default(), commits: 0 };
    let mut walker = Walker::new(&log, start);
    let mut last = reflects;
    let stopped = loop {
        match walker.step() {
            Step::Frame(frame) => {
                replay.apply(&frame).map_err(|fault| damage(located(&log, fault)))?;
                replay.checkpoint_if_due(options).map_err(index_error)?;
                last = Reflects::of(&frame.header);
            }
            Step::End => break None,
            Step::Fault(fault) => break Some(fault),
        }
    };
    let place = walker.place();
    let Replay { layer, commits, .. } = replay;
    let segment = last_segment(&log)?;
    let torn = clean_tail(&segment, place, stopped, options)?;
    write_last_batch_again(&log, &segment, last)?;
    let report = OpenReport {
        position: last.position,
        segments: log.segment_count(),
        replayed_commits: commits,
        index_rebuilt: rebuilt,
        torn,
    };
    Ok(Recovered { log, index: Arc::new(index), layer, segment, place, report })
}

fn open_index(dir: &Path, options: &Options) -> Result<(Index, Option<String>), OpenError> {
    let opened = Index::open(dir, options.index_map_bytes).and_then(|index| {
        index.read().and_then(|txn| index.reflects(&txn))?;
        Ok(index)
    });
    match opened {
        Ok(index) => Ok((index, None)),
        Err(error) => {
            let reason = format!("it could not be opened: {error}");
            Ok((fresh_index(dir, options).map_err(index_error)?, Some(reason)))
        }
    }
}

fn fresh_index(dir: &Path, options: &Options) -> Result<Index, IndexError> {
    disk::remove_folder(dir)?;
    Index::open(dir, options.index_map_bytes)
}

/// Whether the commit that the index knows as its newest is in the log. False: the index is another log's.
fn known_to_log(log: &Log, reflects: Reflects) -> Result<bool, OpenError> {
    if reflects.position == 0 {
        return Ok(true);
    }
    let first = log.segment_of(reflects.position).unwrap_or(0);
    let segment = log.file(first).map_err(|error| damaged_at(first, reflects.position, error.to_string()))?;
    if reflects.position >= segment.end() {
        return Err(index_ahead(first, reflects));
    }
    let mut bytes = vec![0; frame::HEADER_LEN];
    segment
        .file
        .read_at(&mut bytes, reflects.position - first)
        .map_err(|error| damaged_at(first, reflects.position, error.to_string()))?;
    if frame::is_zero(&bytes) {
        return Err(index_ahead(first, reflects));
    }
    let header = FrameHeader::decode(&bytes).filter(|header| header.position == reflects.position);
    let header = header.ok_or_else(|| {
        damaged_at(
            first,
            reflects.position,
            "there is no intact commit header, but the index knows a commit here".into(),
        )
    })?;
    log.read_frame(header.position, header.frame_len())
        .map_err(|error| damaged_at(first, reflects.position, error.to_string()))?;
    Ok(header.crc == reflects.crc && header.end() == reflects.end)
}

fn last_segment(log: &Log) -> Result<Arc<SegmentFile>, OpenError> {
    let first = log.last_segment().unwrap_or(0);
    let segment = log.file(first).map_err(|error| damaged_at(first, first, error.to_string()))?;
    let len = segment.file.len().map_err(OpenError::io(format!("reading {}", path_of(first))))?;
    if len != segment.header.capacity {
        let reason = format!("the file is cut: it has {len} bytes and was made with {}", segment.header.capacity);
        let advice = OpenError::TAIL_ADVICE;
        return Err(OpenError::Damaged { file: path_of(first), offset: len, position: first + len, reason, advice });
    }
    Ok(segment)
}

/// Makes sure that nothing but zeros is behind the end of the log, dropping what an interrupted write left.
fn clean_tail(
    segment: &SegmentFile,
    place: Place,
    stopped: Option<Fault>,
    options: &Options,
) -> Result<Option<TornTail>, OpenError> {
    const HEADER_LEN: u64 = segment::HEADER_LEN as u64;
    let first = segment.header.first;
    if let Some(fault) = stopped.as_ref().filter(|fault| fault.file != path_of(first) || place.at < first + HEADER_LEN)
    {
        return Err(damage(fault.clone()));
    }
    let offset = place.at - first;
    let file = path_of(first);
    let mut rest = vec![0; (segment.end() - place.at) as usize];
    segment.file.read_at(&mut rest, offset).map_err(OpenError::io(format!("reading {file}")))?;
    match tail::judge(place.at, &rest, options.batch_bytes_max) {
        Tail::Clean => Ok(None),
        Tail::Damaged { position, reason } => {
            let (offset, advice) = (position - first, OpenError::TAIL_ADVICE);
            Err(OpenError::Damaged { file, offset, position, reason, advice })
        }
        Tail::Torn(torn) => {
            tracing::warn!(%file, offset, bytes = torn.bytes, "dropping what an interrupted write left behind");
            let zeros = vec![0; torn.bytes as usize];
            let zeroed = segment.file.write_at(&zeros, offset).and_then(|()| segment.file.sync_data());
            zeroed.map_err(OpenError::io(format!("cleaning the end of {file}")))?;
            Ok(Some(TornTail { file, offset, position: place.at, bytes: torn.bytes, commits: torn.frames }))
        }
    }
}

/// Makes the newest batch durable before anyone sees it.
///
/// A process that was killed between its write and its sync leaves commits that only the operating system's memory
/// holds; one whose sync failed leaves pages that look clean and are not on disk. Both read back fine here and would be
/// gone after a power failure, when others have long seen them. Writing the same bytes again makes the pages dirty, so
/// that this sync really covers them. Earlier batches need nothing: this one was begun after their sync returned.
fn write_last_batch_again(log: &Log, segment: &SegmentFile, last: Reflects) -> Result<(), OpenError> {
    let first = segment.header.first;
    // The same for the name of the newest segment.
    log.disk().sync_dir(LOG_DIR).map_err(OpenError::io("syncing log/"))?;
    if last.position < first {
        return Ok(());
    }
    let again = || {
        let mut bytes = vec![0; (last.end - last.position) as usize];
        segment.file.read_at(&mut bytes, last.position - first)?;
        let batch_start = FrameHeader::decode(&bytes).map_or(last.position, |header| header.batch_start);
        if batch_start < last.position {
            bytes = vec![0; (last.end - batch_start) as usize];
            segment.file.read_at(&mut bytes, batch_start - first)?;
        }
        segment.file.write_at(&bytes, batch_start - first)?;
        segment.file.sync_data()
    };
    again().map_err(OpenError::io(format!("syncing {}", path_of(first))))
}

pub(crate) fn damage(fault: Fault) -> OpenError {
    let Fault { file, offset, position, reason, .. } = fault;
    OpenError::Damaged { file, offset, position, reason, advice: OpenError::NO_ADVICE }
}

fn damaged_at(first: Position, position: Position, reason: String) -> OpenError {
    let (file, advice) = (path_of(first), OpenError::NO_ADVICE);
    OpenError::Damaged { file, offset: position.saturating_sub(first), position, reason, advice }
}

fn index_ahead(first: Position, reflects: Reflects) -> OpenError {
    let reason =
        format!("the derived index knows a commit at position {}, but the log ends before it", reflects.position);
    damaged_at(first, reflects.position, reason)
}

fn index_error(error: IndexError) -> OpenError {
    OpenError::Index { reason: error.to_string() }
}
