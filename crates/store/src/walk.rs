//! Walking the log frame by frame: the feed, the replay at start and `verify` all go through here.
//!
//! It owns the order of frames, across segments, and checks each link of the chain. It does not look into bodies and
//! does not judge: the first frame that does not fit ends the walk with a [`Fault`] that says where and why.

use std::sync::Arc;

use bytes::Bytes;

use crate::contract::Position;
use crate::error::ReadError;
use crate::frame::{self, FrameHeader};
use crate::log::{Frame, Log, SegmentFile, path_of};
use crate::segment;

/// How much is read ahead. A walk is sequential, so one large read replaces many small ones.
pub(crate) const READ_AHEAD: usize = 256 << 10;

/// Where the walk stands: right behind the last good frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Where the next frame begins.
    pub(crate) at: Position,
    /// The header checksum of the frame before it.
    pub(crate) crc: u32,
}

impl Place {
    /// Before the first frame of the log.
    pub(crate) const START: Self = Self { at: segment::HEADER_LEN as u64, crc: 0 };
}

/// One step of a walk.
pub(crate) enum Step {
    Frame(Frame),
    /// Zeros where the next frame would begin, and no later segment.
    End,
    Fault(Fault),
}

/// The first thing in the log that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) file: String,
    pub(crate) offset: u64,
    pub(crate) position: Position,
    pub(crate) kind: FaultKind,
    pub(crate) reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// Bytes differ from what their checksum says.
    Flipped,
    /// A file or a commit is not there.
    Missing,
    /// A file is shorter than it was.
    Cut,
    /// Intact, but not in the place it was written for.
    OutOfPlace,
    /// The operating system would not read it.
    Unreadable,
}

pub(crate) struct Walker<'a> {
    log: &'a Log,
    place: Place,
    segment: Option<Arc<SegmentFile>>,
    buffer: Bytes,
    buffer_at: Position,
    read_ahead: usize,
}

impl<'a> Walker<'a> {
    pub(crate) fn new(log: &'a Log, place: Place) -> Self {
        Self::with_read_ahead(log, place, READ_AHEAD)
    }

    pub(crate) fn with_read_ahead(log: &'a Log, place: Place, read_ahead: usize) -> Self {
        Self { log, place, segment: None, buffer: Bytes::new(), buffer_at: 0, read_ahead }
    }

    pub(crate) fn place(&self) -> Place {
        self.place
    }

    pub(crate) fn step(&mut self) -> Step {
        loop {
            let segment = match self.current_segment() {
                Ok(segment) => segment,
                Err(fault) => return Step::Fault(fault),
            };
            match self.read_here(&segment) {
                Here::Frame(frame) => return self.accept(&segment, frame),
                Here::Fault(kind, reason) => return Step::Fault(self.fault(&segment, kind, reason)),
                Here::Nothing => match self.log.segment_after(segment.header.first) {
                    None => return Step::End,
                    Some(next) => {
                        if let Err(fault) = self.enter(next) {
                            return Step::Fault(fault);
                        }
                    }
                },
            }
        }
    }

    fn current_segment(&mut self) -> Result<Arc<SegmentFile>, Fault> {
        if let Some(segment) = &self.segment {
            return Ok(segment.clone());
        }
        // A place at the very end of a full segment belongs to that segment, not to the one that begins there.
        let first = self.log.segment_of(self.place.at.saturating_sub(1)).unwrap_or(0);
        let segment = self.open(first)?;
        self.segment = Some(segment.clone());
        Ok(segment)
    }

    fn open(&self, first: Position) -> Result<Arc<SegmentFile>, Fault> {
        self.log.file(first).map_err(|error| {
            let (kind, reason) = match error {
                ReadError::Damaged { reason, .. } => (FaultKind::Flipped, reason.to_string()),
                other => (FaultKind::Unreadable, other.to_string()),
            };
            Fault { file: path_of(first), offset: 0, position: first, kind, reason }
        })
    }

    fn enter(&mut self, next: Position) -> Result<(), Fault> {
        let segment = self.open(next)?;
        let header = segment.header;
        if (header.previous_end, header.previous_crc) != (self.place.at, self.place.crc) {
            let reason = format!(
                "the segment follows a commit that ended at position {}, but the log before it ends at {}",
                header.previous_end, self.place.at
            );
            let kind = if header.previous_end > self.place.at { FaultKind::Missing } else { FaultKind::OutOfPlace };
            return Err(Fault { file: path_of(next), offset: 0, position: next, kind, reason });
        }
        self.place.at = next + segment::HEADER_LEN as u64;
        self.segment = Some(segment);
        Ok(())
    }

    fn accept(&mut self, segment: &SegmentFile, frame: Frame) -> Step {
        if !frame.header.is_in_its_batch(segment.header.first) {
            let reason = "the commit names a batch that cannot hold it".to_owned();
            return Step::Fault(self.fault(segment, FaultKind::OutOfPlace, reason));
        }
        if frame.header.previous_crc != self.place.crc {
            let reason = "the commit does not follow the one before it".to_owned();
            return Step::Fault(self.fault(segment, FaultKind::OutOfPlace, reason));
        }
        self.place = Place { at: frame.header.end(), crc: frame.header.crc };
        Step::Frame(frame)
    }

    fn read_here(&mut self, segment: &SegmentFile) -> Here {
        let room = segment.end().saturating_sub(self.place.at);
        if room < frame::HEADER_LEN as u64 {
            return Here::Nothing;
        }
        let head = match self.bytes(segment, frame::HEADER_LEN) {
            Ok(head) => head,
            Err(here) => return here,
        };
        let Some(header) = FrameHeader::decode(&head) else {
            if frame::is_zero(&head) {
                return Here::Nothing;
            }
            return Here::Fault(FaultKind::Flipped, "there is no intact commit header".into());
        };
        if header.position != self.place.at {
            let reason = format!("the commit belongs to position {}", header.position);
            return Here::Fault(FaultKind::OutOfPlace, reason);
        }
        if header.frame_len() > room {
            return Here::Fault(FaultKind::Flipped, "the commit reaches beyond the end of its segment".into());
        }
        let whole = match self.bytes(segment, header.frame_len() as usize) {
            Ok(whole) => whole,
            Err(here) => return here,
        };
        match Frame::checked(header, self.place.at, whole.slice(frame::HEADER_LEN..)) {
            Ok(frame) => Here::Frame(frame),
            Err(reason) => Here::Fault(FaultKind::Flipped, reason.into()),
        }
    }

    /// `len` bytes from the current place, which lie within the segment's capacity.
    fn bytes(&mut self, segment: &SegmentFile, len: usize) -> Result<Bytes, Here> {
        let at = self.place.at;
        let held = self.buffer_at <= at && at + len as u64 <= self.buffer_at + self.buffer.len() as u64;
        if !held {
            let ahead = (segment.end() - at).min(self.read_ahead.max(len) as u64) as usize;
            let mut bytes = vec![0; ahead];
            segment.file.read_at(&mut bytes, at - segment.header.first).map_err(|error| match error.kind() {
                std::io::ErrorKind::UnexpectedEof => Here::Fault(FaultKind::Cut, "the segment file is cut off".into()),
                _ => Here::Fault(FaultKind::Unreadable, error.to_string()),
            })?;
            self.buffer = bytes.into();
            self.buffer_at = at;
        }
        let start = (at - self.buffer_at) as usize;
        Ok(self.buffer.slice(start..start + len))
    }

    fn fault(&self, segment: &SegmentFile, kind: FaultKind, reason: String) -> Fault {
        let first = segment.header.first;
        Fault { file: path_of(first), offset: self.place.at - first, position: self.place.at, kind, reason }
    }
}

enum Here {
    Frame(Frame),
    Nothing,
    Fault(FaultKind, String),
}
