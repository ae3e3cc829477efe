//! Where subscribers of one stream wait, and the few newest events they usually want.
//!
//! Nothing is queued per subscriber: each remembers the sequence it wants next and takes it from the ring, or from the
//! log when it has fallen behind the ring. So a slow reader costs the others nothing and loses nothing.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;
use factum_model::Event;
use factum_store::ReadLimit;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::messaging::{Entry, EntrySlot};

/// How many events the ring keeps at most.
pub(crate) const RING_EVENTS_MAX: usize = 256;
/// How many bytes of events the ring keeps at most, beyond the newest one.
pub(crate) const RING_BYTES_MAX: usize = 256 << 10;

/// A durable event as its subscribers get it: encoded once, shared by all.
#[derive(Debug)]
pub struct Published {
    pub sequence: u64,
    pub json: Bytes,
    sse: OnceLock<Bytes>,
    channel_entry: EntrySlot,
}

impl Published {
    pub fn new(sequence: u64, json: Bytes) -> Self {
        Self { sequence, json, sse: OnceLock::new(), channel_entry: OnceLock::new() }
    }

    /// The event as a server-sent event, made by the first subscriber that needs it.
    pub fn sse(&self) -> Bytes {
        self.sse.get_or_init(|| sse_frame(self.sequence, &self.json)).clone()
    }

    /// The event as those see it who follow a messaging channel, made by the first of them.
    pub(crate) fn channel_entry(&self) -> &Entry {
        self.channel_entry.get_or_init(|| Box::new(Entry::of(&self.json)))
    }
}

/// `id: … data: …` and an empty line. The JSON has no line breaks, so one `data:` line is enough.
pub fn sse_frame(sequence: u64, json: &[u8]) -> Bytes {
    let mut frame = Vec::with_capacity(json.len() + 40);
    frame.extend_from_slice(b"id: ");
    frame.extend_from_slice(sequence.to_string().as_bytes());
    frame.extend_from_slice(b"\ndata: ");
    frame.extend_from_slice(json);
    frame.extend_from_slice(b"\n\n");
    frame.into()
}

/// What a reader takes events as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    /// Encoded, as they are stored and sent on.
    Text,
    /// As values. Nobody decodes what was encoded here a moment ago.
    Facts,
}

/// The meeting point of a stream's writer and its readers.
#[derive(Default)]
pub(crate) struct Hub {
    durable: AtomicU64,
    /// Readers of texts, and of facts.
    subscribers: [AtomicUsize; 2],
    ring: Mutex<Ring>,
    commits: Mutex<Commits>,
    changed: Notify,
}

#[derive(Default)]
struct Ring {
    events: VecDeque<Arc<Published>>,
    bytes: usize,
}

/// The facts of the newest commits.
#[derive(Default)]
struct Commits {
    newest: VecDeque<Arc<Vec<Event>>>,
    events: usize,
}

impl Hub {
    /// The newest sequence that is durable.
    pub(crate) fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    /// Tells what a loaded session's log ends with.
    pub(crate) fn set_durable(&self, sequence: u64) {
        self.durable.fetch_max(sequence, Ordering::AcqRel);
    }

    /// Makes durable events visible. Called in commit order by the store's thread.
    pub(crate) fn publish(
        &self,
        last_sequence: u64,
        events: impl Iterator<Item = Published>,
        commit: &Arc<Vec<Event>>,
    ) {
        if self.readers(Reads::Text) > 0 {
            let mut ring = self.ring.lock();
            for event in events {
                ring.push(Arc::new(event));
            }
        }
        if self.readers(Reads::Facts) > 0 {
            self.commits.lock().push(commit.clone());
        }
        self.durable.fetch_max(last_sequence, Ordering::AcqRel);
        self.changed.notify_waiters();
    }

    /// Waits until `sequence` is durable.
    pub(crate) async fn wait_durable(&self, sequence: u64) {
        while self.durable() < sequence {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.durable() >= sequence {
                return;
            }
            changed.await;
        }
    }

    /// Wakes everyone who waits, whatever they wait for: something other than the sequence has changed.
    pub(crate) fn wake(&self) {
        self.changed.notify_waiters();
    }

    /// Waits for the next publication or wake, unless `ready` already holds.
    pub(crate) async fn wait_until(&self, ready: impl Fn() -> bool) {
        while !ready() {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if ready() {
                return;
            }
            changed.await;
        }
    }

    /// Events from `from` on as far as the ring has them and the limit goes, and always one where there is one; `None` where the
    /// ring begins later, and the log has to be read.
    pub(crate) fn recent(&self, from: u64, limit: ReadLimit) -> Option<Vec<Arc<Published>>> {
        let ring = self.ring.lock();
        let first = ring.events.front()?.sequence;
        if from < first {
            return None;
        }
        let skip = usize::try_from(from - first).unwrap_or(usize::MAX);
        let mut bytes = 0;
        let fits = |event: &&Arc<Published>| {
            let is_first = bytes == 0;
            bytes += event.json.len();
            is_first || bytes <= limit.bytes
        };
        Some(ring.events.iter().skip(skip).take(limit.records).take_while(fits).cloned().collect())
    }

    /// The commit that `sequence` is in, where it is one of the newest.
    pub(crate) fn recent_commit(&self, sequence: u64) -> Option<Arc<Vec<Event>>> {
        let commits = self.commits.lock();
        let holds = |commit: &&Arc<Vec<Event>>| {
            let (first, last) = (commit.first(), commit.last());
            first.zip(last).is_some_and(|(first, last)| (first.sequence..=last.sequence).contains(&sequence))
        };
        commits.newest.iter().rev().find(holds).cloned()
    }

    pub(crate) fn subscribe(&self, reads: Reads) {
        self.subscribers[reads as usize].fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn unsubscribe(&self, reads: Reads) {
        if self.subscribers[reads as usize].fetch_sub(1, Ordering::AcqRel) == 1 {
            match reads {
                Reads::Text => *self.ring.lock() = Ring::default(),
                Reads::Facts => *self.commits.lock() = Commits::default(),
            }
        }
    }

    pub(crate) fn has_subscribers(&self) -> bool {
        self.readers(Reads::Text) + self.readers(Reads::Facts) > 0
    }

    fn readers(&self, reads: Reads) -> usize {
        self.subscribers[reads as usize].load(Ordering::Acquire)
    }
}

impl Commits {
    fn push(&mut self, commit: Arc<Vec<Event>>) {
        self.events += commit.len();
        self.newest.push_back(commit);
        while self.events > RING_EVENTS_MAX && self.newest.len() > 1 {
            self.events -= self.newest.pop_front().map_or(0, |oldest| oldest.len());
        }
    }
}

impl Ring {
    fn push(&mut self, event: Arc<Published>) {
        // A gap (events published while nobody listened) would make `recent` lie; what is before it is in the log.
        if self.events.back().is_some_and(|last| last.sequence + 1 != event.sequence) {
            self.events.clear();
            self.bytes = 0;
        }
        self.bytes += event.json.len();
        self.events.push_back(event);
        while self.events.len() > RING_EVENTS_MAX || (self.bytes > RING_BYTES_MAX && self.events.len() > 1) {
            if let Some(oldest) = self.events.pop_front() {
                self.bytes -= oldest.json.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(sequence: u64) -> Published {
        Published::new(sequence, Bytes::from(format!("{{\"sequence\":{sequence}}}")))
    }

    /// So many, however large.
    fn some(records: usize) -> ReadLimit {
        ReadLimit { records, bytes: usize::MAX }
    }

    fn sequences(events: Option<Vec<Arc<Published>>>) -> Option<Vec<u64>> {
        events.map(|events| events.iter().map(|event| event.sequence).collect())
    }

    #[test]
    fn the_ring_answers_only_what_it_has_without_a_gap() {
        let hub = Hub::default();
        hub.subscribe(Reads::Text);
        hub.publish(3, [event(1), event(2), event(3)].into_iter(), &Arc::default());
        assert_eq!(sequences(hub.recent(2, some(10))), Some(vec![2, 3]));
        assert_eq!(sequences(hub.recent(1, some(2))), Some(vec![1, 2]));
        assert_eq!(sequences(hub.recent(4, some(10))), Some(vec![]));
        hub.publish(9, [event(8), event(9)].into_iter(), &Arc::default());
        assert_eq!(sequences(hub.recent(3, some(10))), None, "4 to 7 are missing: the log has to be read");
        assert_eq!(sequences(hub.recent(8, some(10))), Some(vec![8, 9]));
    }

    #[test]
    fn what_is_taken_at_once_is_bounded_and_never_nothing() {
        let hub = Hub::default();
        hub.subscribe(Reads::Text);
        hub.publish(4, (1..=4).map(event), &Arc::default());
        let bytes = |bytes| ReadLimit { records: 10, bytes };
        let one = event(1).json.len();
        assert_eq!(sequences(hub.recent(2, bytes(2 * one))), Some(vec![2, 3]));
        assert_eq!(sequences(hub.recent(2, bytes(2 * one - 1))), Some(vec![2]));
        assert_eq!(sequences(hub.recent(2, bytes(0))), Some(vec![2]));
    }

    #[test]
    fn the_ring_is_bounded_and_empty_without_subscribers() {
        let hub = Hub::default();
        hub.publish(1, [event(1)].into_iter(), &Arc::default());
        assert_eq!(sequences(hub.recent(1, some(10))), None);
        hub.subscribe(Reads::Text);
        for sequence in 2..=(RING_EVENTS_MAX as u64 + 10) {
            hub.publish(sequence, [event(sequence)].into_iter(), &Arc::default());
        }
        assert_eq!(hub.ring.lock().events.len(), RING_EVENTS_MAX);
        hub.unsubscribe(Reads::Text);
        assert_eq!(hub.ring.lock().events.len(), 0);
    }

    #[test]
    fn whoever_reads_facts_finds_the_newest_commits() {
        let commit = |sequences: std::ops::RangeInclusive<u64>| Arc::new(sequences.map(fact).collect::<Vec<_>>());
        let hub = Hub::default();
        hub.publish(1, std::iter::empty(), &commit(1..=1));
        hub.subscribe(Reads::Facts);
        hub.publish(3, std::iter::empty(), &commit(2..=3));
        assert!(hub.recent_commit(1).is_none() && hub.recent_commit(4).is_none());
        assert_eq!(hub.recent_commit(3).map(|commit| commit[0].sequence), Some(2));
        for first in 1..=RING_EVENTS_MAX as u64 {
            hub.publish(3 + 2 * first, std::iter::empty(), &commit(2 + 2 * first..=3 + 2 * first));
        }
        assert_eq!(hub.commits.lock().events, RING_EVENTS_MAX);
        assert!(hub.recent_commit(3).is_none(), "the log has it");
        hub.unsubscribe(Reads::Facts);
        assert_eq!(hub.commits.lock().newest.len(), 0);
    }

    fn fact(sequence: u64) -> Event {
        let json = serde_json::json!({
            "event_id": "evt_1", "timestamp": "2026-01-01T00:00:00Z", "sequence": sequence, "schema_version": "factum-1",
            "runtime_id": "rt_1", "session_id": "sess_1", "type": "model.delta", "payload": { "text": "hi", "index": 0 },
        });
        Event::decode(json.to_string().as_bytes()).expect("a fact")
    }
}
