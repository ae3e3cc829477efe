//! The segments of the log as readers see them: which there are, and one checked read per commit.
//!
//! It owns the list of segments and the open files. It does not write (`writer.rs`), does not know streams or the
//! index, and never decides whether damage is acceptable: it reports it.
//!
//! Invariant: segments are contiguous, each begins where the capacity of the one before ends, and only the last grows
//! frames.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};

use crate::contract::{Hash, NO_HASH, Position, StoredCommit};
use crate::disk::{Disk, DiskFile};
use crate::error::ReadError;
use crate::frame::{self, FrameHeader};
use crate::segment::{self, SegmentHeader};

pub(crate) const LOG_DIR: &str = "log";
/// Files kept open for reading. Older ones are opened again when somebody asks for them.
const OPEN_FILES_MAX: usize = 128;

pub(crate) fn path_of(first: Position) -> String {
    format!("{LOG_DIR}/{}", segment::file_name(first))
}

/// One segment with its file open.
pub(crate) struct SegmentFile {
    pub(crate) header: SegmentHeader,
    pub(crate) file: Box<dyn DiskFile>,
}

impl SegmentFile {
    /// Opens a segment and checks that it is the one its name says. The error is in words.
    pub(crate) fn open(disk: &dyn Disk, first: Position) -> Result<Self, String> {
        let path = path_of(first);
        let file = disk.open(&path).map_err(|error| format!("{path} cannot be opened: {error}"))?;
        let mut bytes = [0; segment::HEADER_LEN];
        file.read_at(&mut bytes, 0).map_err(|error| format!("the segment header cannot be read: {error}"))?;
        let header = SegmentHeader::decode(&bytes)?;
        if header.first != first {
            return Err(format!("the file is out of place: its header says it begins at position {}", header.first));
        }
        Ok(Self { header, file })
    }

    pub(crate) fn end(&self) -> Position {
        self.header.first + self.header.capacity
    }
}

pub(crate) struct Log {
    disk: Arc<dyn Disk>,
    /// First positions, ascending.
    segments: RwLock<Vec<Position>>,
    open: Mutex<VecDeque<Arc<SegmentFile>>>,
}

impl Log {
    pub(crate) fn new(disk: Arc<dyn Disk>, segments: Vec<Position>) -> Self {
        Self { disk, segments: RwLock::new(segments), open: Mutex::default() }
    }

    pub(crate) fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    pub(crate) fn segment_count(&self) -> usize {
        self.segments.read().len()
    }

    pub(crate) fn last_segment(&self) -> Option<Position> {
        self.segments.read().last().copied()
    }

    /// The first position of the segment that holds `position`.
    pub(crate) fn segment_of(&self, position: Position) -> Option<Position> {
        let segments = self.segments.read();
        let behind = segments.partition_point(|first| *first <= position);
        behind.checked_sub(1).map(|at| segments[at])
    }

    pub(crate) fn segment_after(&self, first: Position) -> Option<Position> {
        let segments = self.segments.read();
        segments.get(segments.partition_point(|other| *other <= first)).copied()
    }

    pub(crate) fn add_segment(&self, file: Arc<SegmentFile>) {
        self.segments.write().push(file.header.first);
        self.keep_open(file);
    }

    pub(crate) fn file(&self, first: Position) -> Result<Arc<SegmentFile>, ReadError> {
        if let Some(file) = self.open.lock().iter().find(|file| file.header.first == first) {
            return Ok(file.clone());
        }
        let opened = SegmentFile::open(&*self.disk, first);
        let file = Arc::new(opened.map_err(|reason| damaged(first, reason))?);
        self.keep_open(file.clone());
        Ok(file)
    }

    fn keep_open(&self, file: Arc<SegmentFile>) {
        let mut open = self.open.lock();
        // The newest segments are asked for most: they are found first and leave last.
        open.push_front(file);
        open.truncate(OPEN_FILES_MAX);
    }

    /// The commit's bytes at `position`, checked against both checksums and the place it was read from.
    pub(crate) fn read_frame(&self, position: Position, frame_len: u64) -> Result<Frame, ReadError> {
        let first = self.segment_of(position).ok_or_else(|| damaged(position, "no segment holds it"))?;
        let segment = self.file(first)?;
        if position + frame_len > segment.end() || frame_len < frame::HEADER_LEN as u64 {
            return Err(damaged(position, "it would reach beyond the end of its segment"));
        }
        let mut bytes = vec![0; frame_len as usize];
        segment.file.read_at(&mut bytes, position - first).map_err(|error| read_failed(position, &error))?;
        let bytes = Bytes::from(bytes);
        let header = FrameHeader::decode(&bytes).filter(|header| header.frame_len() == frame_len);
        let header = header.ok_or_else(|| damaged(position, "there is no intact commit header"))?;
        Frame::checked(header, position, bytes.slice(frame::HEADER_LEN..)).map_err(|reason| damaged(position, reason))
    }
}

/// A frame whose checksums and place were right.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) header: FrameHeader,
    pub(crate) body: Bytes,
}

impl Frame {
    /// Checks what was read (padding included) against its header and the position it was read from.
    pub(crate) fn checked(header: FrameHeader, position: Position, padded: Bytes) -> Result<Self, &'static str> {
        if !header.matches(&padded) {
            return Err("the checksum of the commit is wrong");
        }
        if header.position != position {
            return Err("the commit belongs to another position");
        }
        Ok(Self { header, body: padded.slice(..header.body_len as usize) })
    }

    pub(crate) fn decode(&self) -> Result<StoredCommit, ReadError> {
        self.decode_with(frame::hash_of(&self.body))
    }

    /// For readers that want records and nothing else: the hash, the costly part, is left at zero.
    pub(crate) fn decode_unhashed(&self) -> Result<StoredCommit, ReadError> {
        self.decode_with(NO_HASH)
    }

    fn decode_with(&self, hash: Hash) -> Result<StoredCommit, ReadError> {
        let position = self.header.position;
        let decoded = frame::decode_body(position, &self.body, hash);
        decoded.ok_or_else(|| damaged(position, "the lengths in it do not add up"))
    }
}

pub(crate) fn damaged(position: Position, reason: impl Into<Arc<str>>) -> ReadError {
    ReadError::Damaged { position, reason: reason.into() }
}

fn read_failed(position: Position, error: &io::Error) -> ReadError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged(position, "the segment file is cut off before it"),
        _ => ReadError::Io { reason: format!("at position {position}: {error}").into() },
    }
}
