//! Group commit: the one thread that writes the log.
//!
//! It owns the end of the log. It takes everything that arrived while the last sync ran, so there is no timer: an idle
//! store commits at once, a busy one in large batches.
//!
//! ```text
//!   take ──► check each ──► encode all into one buffer ──► one write ──► one sync ──► overlay ──► durable ──► done, done, …
//! ```
//!
//! Invariants:
//! - nothing is applied to the overlay, published or acknowledged before the sync that covers it has returned;
//! - a batch lies in one segment, and the next one begins only when this one is synced: recovery relies on it;
//! - after a failed write or sync nothing is written again. What the disk holds then is unknown until the next start
//!   looks, and an acknowledgement on top of the unknown could lie.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::checkpoint;
use crate::contract::{Commit, Done, Head, NO_HASH, Receipt};
use crate::error::AppendError;
use crate::frame::{self, FrameHeader, Placement};
use crate::log::SegmentFile;
use crate::options::Background;
use crate::overlay::{Applied, Location, Reflects};
use crate::queue::{Queue, Request};
use crate::segment::{self, SegmentHeader};
use crate::shared::Shared;
use crate::spare::{self, InstallError, Spares};
use crate::walk::Place;
use crate::zeros::PAGE;

pub(crate) struct Writer {
    shared: Arc<Shared>,
    queue: Arc<Queue>,
    spares: Arc<Spares>,
    segment: Arc<SegmentFile>,
    /// Where the next frame goes and what it links to. Ahead of the disk while a batch is being built.
    place: Place,
    batch: Batch,
    /// Why there is no room, for the rest of what was taken together: the disk is asked once, not once per commit.
    full: Option<Arc<str>>,
}

/// What the next write will hold, in commit order, refused commits included.
#[derive(Default)]
struct Batch {
    buffer: Vec<u8>,
    entries: Vec<Entry>,
    /// Heads that this batch moves.
    heads: FxHashMap<Arc<str>, Head>,
}

struct Entry {
    done: Done,
    outcome: Result<Accepted, AppendError>,
}

struct Accepted {
    commit: Commit,
    receipt: Receipt,
    header: FrameHeader,
}

impl Writer {
    pub(crate) fn new(
        shared: Arc<Shared>,
        queue: Arc<Queue>,
        spares: Arc<Spares>,
        segment: Arc<SegmentFile>,
        place: Place,
    ) -> Self {
        Self { shared, queue, spares, segment, place, batch: Batch::default(), full: None }
    }

    /// The thread's loop: ends when the queue is closed and empty.
    pub(crate) fn run(mut self) {
        let mut requests = Vec::new();
        while self.queue.take(&mut requests) {
            self.full = self.overlay_full();
            for request in requests.drain(..) {
                self.admit(request);
            }
            self.flush();
        }
    }

    fn admit(&mut self, request: Request) {
        let Request { commit, frame_len, refused, done } = request;
        let outcome = match refused {
            Some(error) => Err(error),
            None => self.accept(commit, frame_len),
        };
        self.batch.entries.push(Entry { done, outcome });
    }

    fn accept(&mut self, commit: Commit, frame_len: usize) -> Result<Accepted, AppendError> {
        let head = self.check(&commit)?;
        self.make_room(frame_len)?;
        let batch_start = self.place.at - self.batch.buffer.len() as u64;
        let previous_hash = head.map_or(NO_HASH, |head| head.hash);
        let placement = Placement { position: self.place.at, batch_start, previous_crc: self.place.crc, previous_hash };
        let (header, hash) = frame::encode(&mut self.batch.buffer, &commit, placement);
        debug_assert_eq!(header.frame_len() as usize, frame_len);
        self.place = Place { at: header.end(), crc: header.crc };
        let receipt = Receipt {
            position: header.position,
            first_sequence: commit.expected + 1,
            last_sequence: commit.expected + commit.records.len() as u64,
            hash,
        };
        let head = Head { sequence: receipt.last_sequence, position: receipt.position, hash };
        self.batch.heads.insert(commit.stream.clone(), head);
        Ok(Accepted { commit, receipt, header })
    }

    /// The head the commit builds on, or why it must not be written.
    fn check(&self, commit: &Commit) -> Result<Option<Head>, AppendError> {
        if let Some(reason) = self.shared.poison.get() {
            return Err(AppendError::Poisoned { reason: reason.clone() });
        }
        let head = match self.batch.heads.get(&commit.stream) {
            Some(head) => Some(*head),
            None => self.durable_head(&commit.stream).map_err(|reason| self.poison(reason))?,
        };
        let actual = head.map_or(0, |head| head.sequence);
        if actual != commit.expected {
            let (stream, expected) = (commit.stream.clone(), commit.expected);
            return Err(AppendError::Conflict { stream, expected, actual });
        }
        Ok(head)
    }

    fn durable_head(&self, stream: &str) -> Result<Option<Head>, String> {
        let overlay = self.shared.overlay.read();
        if let Some(head) = overlay.head(stream) {
            return Ok(Some(head));
        }
        let index = overlay.index.clone().ok_or("the derived index is closed")?;
        drop(overlay);
        let found = index.read().and_then(|txn| index.stream(&txn, stream));
        found.map(|entry| entry.map(|entry| entry.head)).map_err(|error| format!("the derived index: {error}"))
    }

    /// Makes sure that a frame of this length fits behind the batch, ending the batch or the segment where it must.
    fn make_room(&mut self, frame_len: usize) -> Result<(), AppendError> {
        if let Some(reason) = self.full.as_ref().filter(|_| self.shared.overlay_is_over()) {
            return Err(AppendError::Full { reason: reason.clone() });
        }
        let batched = self.batch.buffer.len();
        if batched > 0 && batched + frame_len > self.shared.options.batch_bytes_max {
            self.flush();
        }
        if self.place.at + frame_len as u64 > self.segment.end() {
            if let Some(reason) = &self.full {
                return Err(AppendError::Full { reason: reason.clone() });
            }
            self.flush();
            self.roll(frame_len as u64)?;
        }
        match self.shared.poison.get() {
            Some(reason) => Err(AppendError::Poisoned { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    /// Seals the current segment and continues in a new one that has room for `needed` bytes.
    fn roll(&mut self, needed: u64) -> Result<(), AppendError> {
        if let Some(reason) = self.shared.poison.get() {
            return Err(AppendError::Poisoned { reason: reason.clone() });
        }
        let capacity =
            segment::next_capacity(self.segment.header.capacity, self.shared.options.segment_bytes_max, needed);
        let least = needed + segment::HEADER_LEN as u64;
        let made = self.spares.take(least, capacity).map_err(InstallError::NotYet).and_then(|spare| {
            let header = SegmentHeader {
                first: self.segment.end(),
                capacity: spare.capacity,
                previous_end: self.place.at,
                previous_crc: self.place.crc,
            };
            spare::install(&**self.shared.log.disk(), spare, header)
        });
        match made {
            Ok(file) => {
                self.segment = Arc::new(file);
                self.place.at = self.segment.header.first + segment::HEADER_LEN as u64;
                self.shared.log.add_segment(self.segment.clone());
                Ok(())
            }
            Err(InstallError::NotYet(error)) => {
                tracing::warn!(%error, capacity, "no room for the next log segment");
                let reason: Arc<str> = error.to_string().into();
                self.full = Some(reason.clone());
                Err(AppendError::Full { reason })
            }
            Err(InstallError::Unknown(error)) => Err(self.poison(format!("naming a log segment: {error}"))),
        }
    }

    /// Writes, syncs, makes visible and acknowledges what was gathered.
    fn flush(&mut self) {
        if self.batch.entries.is_empty() {
            return;
        }
        if !self.batch.buffer.is_empty() {
            match self.write() {
                Ok(()) => self.publish(),
                Err(error) => {
                    let poisoned = self.poison(format!("writing the log: {error}"));
                    // Also the refusals: a conflict with a commit that is not durable must not be told to anyone.
                    for entry in &mut self.batch.entries {
                        entry.outcome = Err(poisoned.clone());
                    }
                }
            }
        }
        self.batch.buffer.clear();
        self.batch.heads.clear();
        for entry in self.batch.entries.drain(..) {
            let outcome = entry.outcome.map(|accepted| accepted.receipt);
            if catch_unwind(AssertUnwindSafe(|| (entry.done)(outcome))).is_err() {
                tracing::error!("a commit's callback panicked; the commit itself is not affected");
            }
        }
    }

    /// Writes and syncs the batch. The rest of its last page is written too, as the zeros that are there already: a whole
    /// page need not be read before it is written.
    fn write(&mut self) -> std::io::Result<()> {
        let len = self.batch.buffer.len();
        let offset = self.place.at - len as u64 - self.segment.header.first;
        let end = (offset + len as u64).next_multiple_of(PAGE as u64).min(self.segment.header.capacity);
        self.batch.buffer.resize((end - offset) as usize, 0);
        let written = self.segment.file.write_at(&self.batch.buffer, offset);
        self.batch.buffer.truncate(len);
        written?;
        self.segment.file.sync_data()
    }

    fn publish(&mut self) {
        let (mut commits, mut records, mut last) = (0, 0, 0);
        let mut overlay = self.shared.overlay.write();
        for accepted in self.batch.entries.iter_mut().filter_map(|entry| entry.outcome.as_mut().ok()) {
            let Accepted { commit, receipt, header } = accepted;
            let location = Location {
                first: receipt.first_sequence,
                count: commit.records.len() as u32,
                position: receipt.position,
                frame_len: header.frame_len() as u32,
            };
            let head = Head { sequence: receipt.last_sequence, position: receipt.position, hash: receipt.hash };
            let applied = Applied { stream: &commit.stream, head, location, reflects: Reflects::of(header) };
            overlay.active.apply(applied, std::mem::take(&mut commit.index));
            commits += 1;
            records += u64::from(location.count);
            last = receipt.position;
        }
        let due = overlay.active.is_due(self.shared.options.checkpoint_bytes);
        drop(overlay);
        self.shared.counters.written(commits, records, self.batch.buffer.len() as u64);
        self.shared.durable.send_replace(last);
        self.ahead(due);
    }

    /// Has others do what will be needed soon.
    fn ahead(&self, checkpoint_due: bool) {
        if self.shared.options.background == Background::OnDemand {
            return;
        }
        if checkpoint_due {
            self.shared.checkpoints.want();
        }
        let header = &self.segment.header;
        if self.place.at - header.first > header.capacity / 2 {
            self.spares.want(segment::next_capacity(header.capacity, self.shared.options.segment_bytes_max, 0));
        }
    }

    /// Why the overlay may take no more. A checkpoint that is only slow is waited for; one that fails refuses commits.
    fn overlay_full(&self) -> Option<Arc<str>> {
        if !self.shared.overlay_is_over() {
            return None;
        }
        match self.shared.options.background {
            Background::Threads => self.shared.checkpoints.wait_idle(),
            Background::OnDemand => drop(checkpoint::write(&self.shared)),
        }
        self.shared.overlay_is_over().then(|| {
            let why = self.shared.checkpoints.failure().unwrap_or_else(|| "it is behind".into());
            format!("the derived index cannot be written: {why}").into()
        })
    }

    fn poison(&self, reason: String) -> AppendError {
        let reason = self.shared.poison.get_or_init(|| {
            tracing::error!(%reason, "the store stopped accepting writes");
            reason.into()
        });
        AppendError::Poisoned { reason: reason.clone() }
    }
}
