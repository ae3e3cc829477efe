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

use crate::contract::{Head, NO_HASH, Position, StoredCommit};
use crate::disk::Disk;
use crate::error::OpenError;
use crate::frame::{self, FrameHeader};
use crate::index::{Index, IndexError};
use crate::log::{Frame, LOG_DIR, Log, SegmentFile, path_of};
use crate::options::Options;
use crate::overlay::{Applied, Layer, Location, Reflects};
use crate::segment::{self, FORMAT_VERSION, SegmentHeader};
use crate::spare::{self, InstallError};
use crate::tail::{self, Tail};
use crate::walk::{Fault, FaultKind, Place, Step, Walker};

const FORMAT_PATH: &str = "FORMAT";
/// A long replay says how far it is after this many commits.
const PROGRESS_COMMITS: u64 = 1_000_000;

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
    let log = open_log(&disk, options, reflects)?;
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

/// Checks the version, or writes it down in a new store.
fn check_format(disk: &dyn Disk) -> Result<(), OpenError> {
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
    remove_index(dir)?;
    Index::open(dir, options.index_map_bytes)
}

/// Deletes the derived index. It is made again at the next start.
pub(crate) fn remove_index(dir: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Finds the segments, checks by name and length that none is missing or cut, and makes the first in a new store.
fn open_log(disk: &Arc<dyn Disk>, options: &Options, reflects: Reflects) -> Result<Log, OpenError> {
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
    if reflects.position > 0 {
        return Err(index_ahead(0, reflects));
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

/// Brings commits of the log into a layer, checking that each continues its stream.
pub(crate) struct Replay<'a> {
    pub(crate) index: &'a Index,
    pub(crate) layer: Layer,
    pub(crate) commits: u64,
}

impl Replay<'_> {
    /// Takes a commit that must continue its stream.
    pub(crate) fn apply(&mut self, frame: &Frame) -> Result<StoredCommit, Fault> {
        let fault =
            |kind, reason| Fault { file: String::new(), offset: 0, position: frame.header.position, kind, reason };
        let commit = frame.decode().map_err(|error| fault(FaultKind::Flipped, error.to_string()))?;
        let head = self.head(&commit.stream).map_err(|error| fault(FaultKind::Unreadable, error.to_string()))?;
        let (sequence, hash) = head.map_or((0, NO_HASH), |head| (head.sequence, head.hash));
        if commit.first_sequence != sequence + 1 || commit.previous_hash != hash {
            let reason = format!(
                "the commit holds sequence {} of stream {}, which does not continue the chain at sequence {sequence}",
                commit.first_sequence, commit.stream
            );
            return Err(fault(FaultKind::OutOfPlace, reason));
        }
        self.add(frame, &commit);
        Ok(commit)
    }

    /// The newest commit of a stream among those taken so far.
    pub(crate) fn head(&self, stream: &str) -> Result<Option<Head>, IndexError> {
        if let Some(head) = self.layer.streams.get(stream).and_then(|tail| tail.head) {
            return Ok(Some(head));
        }
        let txn = self.index.read()?;
        Ok(self.index.stream(&txn, stream)?.map(|entry| entry.head))
    }

    pub(crate) fn add(&mut self, frame: &Frame, commit: &StoredCommit) {
        self.layer.apply(applied(frame, commit), commit.index.iter().map(detached));
        self.commits += 1;
        if self.commits.is_multiple_of(PROGRESS_COMMITS) {
            tracing::info!(commits = self.commits, position = commit.position, "reading the log");
        }
    }

    pub(crate) fn checkpoint_if_due(&mut self, options: &Options) -> Result<(), IndexError> {
        if self.layer.is_due(options.checkpoint_bytes) { self.checkpoint() } else { Ok(()) }
    }

    pub(crate) fn checkpoint(&mut self) -> Result<(), IndexError> {
        self.index.write(&self.layer)?;
        self.layer = Layer::default();
        Ok(())
    }
}

fn applied<'a>(frame: &Frame, commit: &'a StoredCommit) -> Applied<'a> {
    let location = Location {
        first: commit.first_sequence,
        count: commit.records.len() as u32,
        position: commit.position,
        frame_len: frame.header.frame_len() as u32,
    };
    let head = Head { sequence: location.last(), position: commit.position, hash: commit.hash };
    Applied { stream: &commit.stream, head, location, reflects: Reflects::of(&frame.header) }
}

/// A change that owns its bytes: one that shares them would keep the whole read-ahead buffer in memory.
fn detached(change: &crate::IndexChange) -> crate::IndexChange {
    let copy = |bytes: &bytes::Bytes| bytes::Bytes::copy_from_slice(bytes);
    match change {
        crate::IndexChange::Put { key, value } => crate::IndexChange::Put { key: copy(key), value: copy(value) },
        crate::IndexChange::Delete { key } => crate::IndexChange::Delete { key: copy(key) },
    }
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

/// A fault of a commit's content, with the file that holds it.
pub(crate) fn located(log: &Log, fault: Fault) -> Fault {
    let first = log.segment_of(fault.position).unwrap_or(0);
    Fault { file: path_of(first), offset: fault.position - first, ..fault }
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
