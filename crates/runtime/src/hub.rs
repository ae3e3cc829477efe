//! Where subscribers of one stream wait, and the few newest events they usually want.
//!
//! Nothing is queued per subscriber: each remembers the sequence it wants next and takes it from the ring, or from the
//! log when it has fallen behind the ring. So a slow reader costs the others nothing and loses nothing.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;
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

/// The meeting point of a stream's writer and its readers.
#[derive(Default)]
pub(crate) struct Hub {
    durable: AtomicU64,
    subscribers: AtomicUsize,
    ring: Mutex<Ring>,
    changed: Notify,
}

#[derive(Default)]
struct Ring {
    events: VecDeque<Arc<Published>>,
    bytes: usize,
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
    pub(crate) fn publish(&self, last_sequence: u64, events: impl Iterator<Item = Published>) {
        if self.subscribers.load(Ordering::Acquire) > 0 {
            let mut ring = self.ring.lock();
            for event in events {
                ring.push(Arc::new(event));
            }
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

    /// Events from `from` on as far as the ring has them; `None` where the ring begins later, and the log has to be read.
    pub(crate) fn recent(&self, from: u64, limit: usize) -> Option<Vec<Arc<Published>>> {
        let ring = self.ring.lock();
        let first = ring.events.front()?.sequence;
        if from < first {
            return None;
        }
        let skip = usize::try_from(from - first).unwrap_or(usize::MAX);
        Some(ring.events.iter().skip(skip).take(limit).cloned().collect())
    }

    pub(crate) fn subscribe(&self) {
        self.subscribers.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn unsubscribe(&self) {
        if self.subscribers.fetch_sub(1, Ordering::AcqRel) == 1 {
            *self.ring.lock() = Ring::default();
        }
    }

    pub(crate) fn has_subscribers(&self) -> bool {
        self.subscribers.load(Ordering::Acquire) > 0
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

    fn sequences(events: Option<Vec<Arc<Published>>>) -> Option<Vec<u64>> {
        events.map(|events| events.iter().map(|event| event.sequence).collect())
    }

    #[test]
    fn the_ring_answers_only_what_it_has_without_a_gap() {
        let hub = Hub::default();
        hub.subscribe();
        hub.publish(3, [event(1), event(2), event(3)].into_iter());
        assert_eq!(sequences(hub.recent(2, 10)), Some(vec![2, 3]));
        assert_eq!(sequences(hub.recent(1, 2)), Some(vec![1, 2]));
        assert_eq!(sequences(hub.recent(4, 10)), Some(vec![]));
        hub.publish(9, [event(8), event(9)].into_iter());
        assert_eq!(sequences(hub.recent(3, 10)), None, "4 to 7 are missing: the log has to be read");
        assert_eq!(sequences(hub.recent(8, 10)), Some(vec![8, 9]));
    }

    #[test]
    fn the_ring_is_bounded_and_empty_without_subscribers() {
        let hub = Hub::default();
        hub.publish(1, [event(1)].into_iter());
        assert_eq!(sequences(hub.recent(1, 10)), None);
        hub.subscribe();
        for sequence in 2..=(RING_EVENTS_MAX as u64 + 10) {
            hub.publish(sequence, [event(sequence)].into_iter());
        }
        assert_eq!(hub.ring.lock().events.len(), RING_EVENTS_MAX);
        hub.unsubscribe();
        assert_eq!(hub.ring.lock().events.len(), 0);
    }
}
