//! Group commit: the one thread that writes the log.
//!
//! It owns the end of the log. It takes everything that arrived while the last sync ran, so there is no timer: an idle
//! store commits at once, a busy one in large batches.
//!
//! ```text
//!   take ──► check each ──► encode all into one buffer ──► one write ──► one sync ──► publish (`publish.rs`)
//! ```
//!
//! Invariants:
//! - nothing is applied to the overlay, published or acknowledged before the sync that covers it has returned;
//! - a batch lies in one segment, and the next one begins only when this one is synced: recovery relies on it;
//! - after a failed write or sync nothing is written again. What the disk holds then is unknown until the next start
//!   looks, and an acknowledgement on top of the unknown could lie.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::checkpoint;
use crate::contract::{Commit, Head, NO_HASH, Receipt};
use crate::error::AppendError;
use crate::frame::{self, Content, Placement};
use crate::log::SegmentFile;
use crate::options::Background;
use crate::publish::{Accepted, Entry, Publisher, Settled, publish};
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
    publisher: Arc<Publisher>,
    segment: Arc<SegmentFile>,
    /// The one before it, whose end is still among what was written last.
    sealed: Option<Arc<SegmentFile>>,
    /// Where the next frame goes and what it links to. Ahead of the disk while a batch is being built.
    place: Place,
    batch: Batch,
    /// Why there is no room, for the rest of what was taken together: the disk is asked once, not once per commit.
    full: Option<Arc<str>>,
}

/// What the next write will hold, and whom to tell.
#[derive(Default)]
struct Batch {
    buffer: Vec<u8>,
    settled: Settled,
    /// Heads that this batch moves.
    heads: Heads,
    /// Heads that the batch before moved: synced, and perhaps not yet in the overlay.
    heads_before: Heads,
}

type Heads = FxHashMap<Arc<str>, Head>;

impl Writer {
    pub(crate) fn new(
        shared: Arc<Shared>,
        queue: Arc<Queue>,
        spares: Arc<Spares>,
        publisher: Arc<Publisher>,
        segment: Arc<SegmentFile>,
        place: Place,
    ) -> Self {
        Self { shared, queue, spares, publisher, segment, sealed: None, place, batch: Batch::default(), full: None }
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
        self.publisher.close();
    }

    fn admit(&mut self, request: Request) {
        let Request { commit, content, done } = request;
        let outcome = content.and_then(|content| self.accept(commit, &content));
        self.batch.settled.entries.push(Entry { done, outcome });
    }

    fn accept(&mut self, commit: Commit, content: &Content) -> Result<Accepted, AppendError> {
        let head = self.check(&commit)?;
        self.make_room(content.frame_len())?;
        let batch_start = self.place.at - self.batch.buffer.len() as u64;
        let previous_hash = head.map_or(NO_HASH, |head| head.hash);
        let placement = Placement { position: self.place.at, batch_start, previous_crc: self.place.crc, previous_hash };
        let (header, hash) = frame::encode(&mut self.batch.buffer, &commit, content, placement);
        debug_assert_eq!(header.frame_len() as usize, content.frame_len());
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
        let batch = &self.batch;
        let head = match batch.heads.get(&commit.stream).or_else(|| batch.heads_before.get(&commit.stream)) {
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
                let full = std::mem::replace(&mut self.segment, Arc::new(file));
                if let Some(older) = self.sealed.replace(full) {
                    older.file.seal();
                }
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

    /// Writes and syncs what was gathered, and has it published.
    fn flush(&mut self) {
        if self.batch.settled.entries.is_empty() {
            return;
        }
        if !self.batch.buffer.is_empty() {
            match self.write() {
                Ok(()) => self.batch.settled.bytes = self.batch.buffer.len() as u64,
                Err(error) => {
                    let poisoned = self.poison(format!("writing the log: {error}"));
                    // Also the refusals: a conflict with a commit that is not durable must not be told to anyone.
                    for entry in &mut self.batch.settled.entries {
                        entry.outcome = Err(poisoned.clone());
                    }
                }
            }
        }
        self.batch.buffer.clear();
        self.publish();
        self.ahead();
    }

    /// Others do it while the next batch is written, where there is a next batch.
    fn publish(&mut self) {
        let batch = &mut self.batch;
        let busy = self.shared.options.background == Background::Threads
            && (self.queue.waiting() > 0 || !self.publisher.is_idle());
        batch.heads_before.clear();
        if busy {
            self.publisher.hand_over(&mut batch.settled);
            std::mem::swap(&mut batch.heads, &mut batch.heads_before);
        } else {
            publish(&self.shared, &mut batch.settled);
            batch.heads.clear();
        }
    }

    /// Writes and syncs the batch. The rest of its last page is written too, as the zeros that are there already: a whole
    /// page need not be read before it is written.
    fn write(&mut self) -> std::io::Result<()> {
        let len = self.batch.buffer.len();
        let offset = self.place.at - len as u64 - self.segment.header.first;
        let end = (offset + len as u64).next_multiple_of(PAGE as u64).min(self.segment.header.capacity);
        self.batch.buffer.resize((end - offset) as usize, 0);
        let written = self.segment.file.append_at(&self.batch.buffer, offset);
        self.batch.buffer.truncate(len);
        written?;
        self.segment.file.sync_data()
    }

    /// Has a segment prepared that will be needed soon.
    fn ahead(&self) {
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
