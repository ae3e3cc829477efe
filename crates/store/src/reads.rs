//! Reading an embedded store: overlay, then LMDB, then one checked read of the log for each commit.
//!
//! It owns how limits are counted and how the three sources are put together. It never waits for the writer.

use std::sync::Arc;

use crate::contract::{Direction, Head, Position, ReadLimit, Record, Scan, Sequence, Snapshot, StoredCommit};
use crate::error::ReadError;
use crate::index::{Index, IndexError};
use crate::log::{Log, damaged};
use crate::overlay::{Location, Overlay};
use crate::scan::{KeyRange, merge};
use crate::segment;
use crate::shared::Shared;
use crate::walk::{FaultKind, Place, READ_AHEAD, Step, Walker};

/// Locations looked up at a time. A longer read takes another round.
const ROUND_LOCATIONS: usize = 256;
/// What is read for the last commit before its length is known. A longer one is read again, whole.
const LAST_FRAME_BYTES: usize = 4 << 10;

/// Counts what one read returns. The first piece always fits.
pub(crate) struct Budget {
    limit: ReadLimit,
    records: usize,
    bytes: usize,
}

impl Budget {
    pub(crate) fn new(limit: ReadLimit) -> Self {
        Self { limit, records: 0, bytes: 0 }
    }

    /// Whether this many more fit; counts them if so.
    pub(crate) fn take(&mut self, records: usize, bytes: usize) -> bool {
        let first = self.records == 0 && self.limit.records > 0;
        let fits = self.records + records <= self.limit.records && self.bytes + bytes <= self.limit.bytes;
        if first || fits {
            self.records += records;
            self.bytes += bytes;
        }
        first || fits
    }

    fn is_spent(&self) -> bool {
        self.records >= self.limit.records || (self.records > 0 && self.bytes >= self.limit.bytes)
    }
}

impl Shared {
    /// The index as it is now; gone once the store is closed.
    fn index_of(overlay: &Overlay) -> Result<Arc<Index>, ReadError> {
        overlay.index.clone().ok_or(ReadError::Closed)
    }

    pub(crate) fn head(&self, stream: &str) -> Result<Option<Head>, ReadError> {
        let overlay = self.overlay.read();
        let index = Self::index_of(&overlay)?;
        if let Some(head) = overlay.head(stream) {
            return Ok(Some(head));
        }
        drop(overlay);
        let entry = index.read().and_then(|txn| index.stream(&txn, stream)).map_err(index_failed)?;
        Ok(entry.map(|entry| entry.head))
    }

    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<bytes::Bytes>, ReadError> {
        let overlay = self.overlay.read();
        let index = Self::index_of(&overlay)?;
        if let Some(value) = overlay.get(key) {
            return Ok(value);
        }
        drop(overlay);
        index.read().and_then(|txn| index.get(&txn, key)).map_err(index_failed)
    }

    pub(crate) fn snapshot(&self, stream: &str) -> Result<Option<Snapshot>, ReadError> {
        let head = self.head(stream)?.map_or(0, |head| head.sequence);
        let overlay = self.overlay.read();
        let index = Self::index_of(&overlay)?;
        // One that is ahead of the durable records is kept for later but not shown yet; an older one may serve.
        let recent = overlay.snapshot(stream).filter(|snapshot| snapshot.sequence <= head);
        drop(overlay);
        if recent.is_some() {
            return Ok(recent);
        }
        let kept = index.read().and_then(|txn| index.snapshot(&txn, stream)).map_err(index_failed)?;
        Ok(kept.filter(|snapshot| snapshot.sequence <= head))
    }

    pub(crate) fn scan(&self, scan: &Scan) -> Result<Vec<(bytes::Bytes, bytes::Bytes)>, ReadError> {
        let overlay = self.overlay.read();
        let index = Self::index_of(&overlay)?;
        let Some(range) = KeyRange::of(scan).filter(|_| scan.limit > 0) else { return Ok(Vec::new()) };
        let recent = overlay.range(&range, scan.direction, scan.limit);
        // Opened under the lock: both halves of the answer are of one moment, so a commit is seen whole or not at all.
        let txn = index.read().map_err(index_failed)?;
        drop(overlay);
        let mut failure = None;
        let older = index.range(&txn, &range, scan.direction).map_err(index_failed)?;
        let older = older.map_while(|entry| entry.map_err(|error| failure = Some(error)).ok());
        let live = merge(recent.into_iter(), older, scan.direction).filter_map(|(key, value)| Some((key, value?)));
        let found = live.take(scan.limit).collect();
        failure.map_or(Ok(found), |error| Err(index_failed(error)))
    }

    pub(crate) fn read(&self, stream: &str, from: Sequence, limit: ReadLimit) -> Result<Vec<Record>, ReadError> {
        let (mut budget, mut records, mut next) = (Budget::new(limit), Vec::new(), from.max(1));
        while !budget.is_spent() {
            let locations = self.locate(stream, next, Direction::Forward, limit)?;
            let Some(last) = locations.last() else { break };
            let following = last.last() + 1;
            for location in &locations {
                let commit = self.commit_at(stream, location)?;
                let skip = next.saturating_sub(location.first) as usize;
                for (at, bytes) in commit.records.into_iter().enumerate().skip(skip) {
                    if !budget.take(1, bytes.len()) {
                        return Ok(records);
                    }
                    records.push(Record { sequence: location.first + at as u64, bytes });
                }
            }
            next = following;
        }
        Ok(records)
    }

    pub(crate) fn read_back(&self, stream: &str, before: Sequence, limit: ReadLimit) -> Result<Vec<Record>, ReadError> {
        let (mut budget, mut records, mut before) = (Budget::new(limit), Vec::new(), before);
        while !budget.is_spent() {
            let locations = self.locate(stream, before, Direction::Backward, limit)?;
            let Some(oldest) = locations.last() else { break };
            let following = oldest.first;
            for location in &locations {
                let commit = self.commit_at(stream, location)?;
                let numbered = (location.first..).zip(commit.records);
                let wanted: Vec<_> = numbered.take_while(|(sequence, _)| *sequence < before).collect();
                for (sequence, bytes) in wanted.into_iter().rev() {
                    if !budget.take(1, bytes.len()) {
                        return Ok(records);
                    }
                    records.push(Record { sequence, bytes });
                }
            }
            before = following;
        }
        Ok(records)
    }

    /// The next locations in one direction, from wherever they are. Empty at the stream's end.
    fn locate(
        &self,
        stream: &str,
        at: Sequence,
        direction: Direction,
        limit: ReadLimit,
    ) -> Result<Vec<Location>, ReadError> {
        let max = ROUND_LOCATIONS.min(limit.records.max(1));
        let overlay = self.overlay.read();
        let index = Self::index_of(&overlay)?;
        let recent_from = overlay.first_location(stream).unwrap_or(Sequence::MAX);
        let recent = match direction {
            Direction::Forward if at >= recent_from => overlay.locations(stream, at, max),
            Direction::Forward => Vec::new(),
            Direction::Backward => overlay.locations_back(stream, at, max),
        };
        if !recent.is_empty() {
            return Ok(recent);
        }
        // Everything older than the overlay's first is in LMDB, as of this moment; the lock is not needed to read it.
        let txn = index.read().map_err(index_failed)?;
        drop(overlay);
        let found = index.stream(&txn, stream).and_then(|entry| match entry {
            None => Ok(Vec::new()),
            Some(entry) if direction == Direction::Forward => index.locations(&txn, entry.number, at, max),
            Some(entry) => index.locations_back(&txn, entry.number, at, max),
        });
        found.map_err(index_failed)
    }

    /// The commit at a location, checked against what the location says about it.
    fn commit_at(&self, stream: &str, location: &Location) -> Result<StoredCommit, ReadError> {
        let commit = self.log.read_frame(location.position, u64::from(location.frame_len))?.decode_unhashed()?;
        let same = &*commit.stream == stream
            && commit.first_sequence == location.first
            && commit.records.len() == location.count as usize;
        if !same {
            let reason = "the derived index points at another commit; delete index/ and start again to rebuild it";
            return Err(damaged(location.position, reason));
        }
        Ok(commit)
    }

    pub(crate) fn feed(&self, after: Position, limit: ReadLimit) -> Result<Vec<StoredCommit>, ReadError> {
        Self::index_of(&self.overlay.read())?;
        let durable = *self.durable.borrow();
        let mut commits = Vec::new();
        if after >= durable {
            return Ok(commits);
        }
        let mut budget = Budget::new(limit);
        let place = self.place_behind(after)?;
        // Records share what they were read with, and whoever follows the end of the log reads little: no more than there is.
        let behind = usize::try_from(durable.saturating_sub(place.at)).unwrap_or(READ_AHEAD);
        let read_ahead = READ_AHEAD.min(behind.saturating_add(LAST_FRAME_BYTES));
        let mut walker = Walker::with_read_ahead(&self.log, place, read_ahead);
        while !budget.is_spent() && walker.place().at <= durable {
            let commit = match walker.step() {
                Step::Frame(frame) => frame.decode()?,
                Step::End => break,
                Step::Fault(fault) if fault.kind == FaultKind::Unreadable => {
                    return Err(ReadError::Io { reason: fault.reason.into() });
                }
                Step::Fault(fault) => return Err(damaged(fault.position, fault.reason)),
            };
            if commit.position <= after {
                continue;
            }
            // Never shown, however the walk came here: it may be written and not yet synced.
            if commit.position > durable {
                break;
            }
            let bytes = commit.records.iter().map(bytes::Bytes::len).sum();
            if !budget.take(commit.records.len(), bytes) {
                break;
            }
            commits.push(commit);
        }
        Ok(commits)
    }

    /// Where the commit behind `after` begins. A cursor that names no commit starts at its segment's beginning.
    fn place_behind(&self, after: Position) -> Result<Place, ReadError> {
        if after < segment::HEADER_LEN as u64 {
            return Ok(Place::START);
        }
        match header_at(&self.log, after)? {
            Some(header) => Ok(Place { at: header.end(), crc: header.crc }),
            None => {
                let first = self.log.segment_of(after).unwrap_or(0);
                let header = self.log.file(first)?.header;
                Ok(Place { at: first + segment::HEADER_LEN as u64, crc: header.previous_crc })
            }
        }
    }
}

fn header_at(log: &Log, position: Position) -> Result<Option<crate::frame::FrameHeader>, ReadError> {
    let Some(first) = log.segment_of(position) else { return Ok(None) };
    let segment = log.file(first)?;
    let mut bytes = [0; crate::frame::HEADER_LEN];
    if position + bytes.len() as u64 > segment.end() {
        return Ok(None);
    }
    let read = segment.file.read_at(&mut bytes, position - first);
    read.map_err(|error| ReadError::Io { reason: error.to_string().into() })?;
    Ok(crate::frame::FrameHeader::decode(&bytes).filter(|header| header.position == position))
}

fn index_failed(error: IndexError) -> ReadError {
    let reason = format!("the derived index: {error}; delete index/ and start again to rebuild it from the log");
    ReadError::Io { reason: reason.into() }
}
