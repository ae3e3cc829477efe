//! Bringing commits of the log into a layer: at start for those the index does not know yet, in `verify` for all of them.
//!
//! It owns the check that each commit continues its stream. It does not read the log.

use crate::contract::{Head, IndexChange, NO_HASH, StoredCommit};
use crate::index::{Index, IndexError};
use crate::log::{Frame, Log, path_of};
use crate::options::Options;
use crate::overlay::{Applied, Layer, Location, Reflects};
use crate::walk::{Fault, FaultKind};

/// A long replay says how far it is after this many commits.
const PROGRESS_COMMITS: u64 = 1_000_000;

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
fn detached(change: &IndexChange) -> IndexChange {
    let copy = |bytes: &bytes::Bytes| bytes::Bytes::copy_from_slice(bytes);
    match change {
        IndexChange::Put { key, value } => IndexChange::Put { key: copy(key), value: copy(value) },
        IndexChange::Delete { key } => IndexChange::Delete { key: copy(key) },
    }
}

/// A fault of a commit's content, with the file that holds it.
pub(crate) fn located(log: &Log, fault: Fault) -> Fault {
    let first = log.segment_of(fault.position).unwrap_or(0);
    Fault { file: path_of(first), offset: fault.position - first, ..fault }
}
