//! Who was heard of, and when: in memory, moved by every sign of life without writing anything. What changes by it is decided
//! and recorded under the lock of the channel, where this table is asked and changed too, so the two never disagree for long.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use factum_engine::peers::{Presence, Sign};
use factum_model::Timestamp;
use factum_model::id::ChannelId;
use factum_model::peer::Transport;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Account and channel.
pub(super) type Key = (Arc<str>, ChannelId);

#[derive(Default)]
pub(crate) struct PeerPresence {
    table: Mutex<Table>,
    /// Something is due sooner than the keeper expects.
    sooner: Notify,
    connections: AtomicU64,
}

#[derive(Default)]
struct Table {
    peers: FxHashMap<Key, Seen>,
    /// Those without a connection, by when they are missed.
    by_time: BTreeSet<(Instant, Key)>,
}

struct Seen {
    /// Since the runtime started.
    heard: bool,
    last_seen_at: Option<Timestamp>,
    deadline: Instant,
    /// Its time was over, and nothing was heard since.
    over: bool,
    connection: Option<Connection>,
}

/// A connection of a channel that is open.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) number: u64,
    transport: Transport,
    ended: CancellationToken,
    why: Arc<OnceLock<End>>,
}

/// Why a connection of a channel ended that its peer did not drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Another one took its place.
    Replaced,
    /// The channel was closed.
    Closed,
}

impl Connection {
    /// Ends it. The first to say why is right.
    pub(super) fn end(&self, why: End) {
        let _ = self.why.set(why);
        self.ended.cancel();
    }

    pub(super) fn ended(&self) -> Option<End> {
        self.why.get().copied()
    }

    pub(super) async fn until_ended(&self) {
        self.ended.cancelled().await;
    }
}

impl PeerPresence {
    /// A sign of life. True where it is not the first since the start.
    pub(super) fn hear(&self, key: &Key, now: Timestamp, heartbeat: Duration) -> bool {
        let mut table = self.table.lock();
        let (first, sooner) = table.hear(key, now, heartbeat);
        if sooner {
            self.sooner.notify_one();
        }
        !first
    }

    /// A connection opens; the one before it ends.
    pub(super) fn connect(
        &self,
        key: &Key,
        transport: Transport,
        now: Timestamp,
        heartbeat: Duration,
    ) -> (Connection, Sign) {
        let number = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
        let connection = Connection { number, transport, ended: CancellationToken::new(), why: Arc::default() };
        let mut table = self.table.lock();
        let last_seen_at = table.peers.get(key).and_then(|seen| seen.last_seen_at);
        let (first, _) = table.hear(key, now, heartbeat);
        let mut replaces = false;
        if let Some(seen) = table.peers.get_mut(key) {
            let deadline = seen.deadline;
            let before = seen.connection.replace(connection.clone());
            replaces = before.is_some();
            before.inspect(|before| before.end(End::Replaced));
            table.by_time.remove(&(deadline, key.clone()));
        }
        (connection, Sign { replaces, first, last_seen_at })
    }

    /// Ends the connection that is open, if one is: its peer came back another way.
    pub(super) fn replace(&self, key: &Key) -> bool {
        let mut table = self.table.lock();
        let Some(seen) = table.peers.get_mut(key) else { return false };
        let before = seen.connection.take();
        before.inspect(|before| before.end(End::Replaced)).is_some()
    }

    pub(super) fn is_connected(&self, key: &Key) -> bool {
        self.table.lock().peers.get(key).is_some_and(|seen| seen.connection.is_some())
    }

    /// Forgets the peer, if this connection is still the one it has. Says when it was last heard of.
    pub(super) fn disconnect(&self, key: &Key, number: u64) -> Option<Option<Timestamp>> {
        let mut table = self.table.lock();
        let seen = table.peers.get(key)?;
        seen.connection.as_ref().filter(|connection| connection.number == number)?;
        let last_seen_at = seen.last_seen_at;
        table.forget(key);
        Some(last_seen_at)
    }

    /// Forgets the peer. The connection that it has goes on until whoever forgets it ends it.
    pub(super) fn forget(&self, key: &Key) -> Option<Connection> {
        let mut table = self.table.lock();
        let connection = table.peers.get(key).and_then(|seen| seen.connection.clone());
        table.forget(key);
        connection
    }

    /// What is known of a peer.
    pub(super) fn look(&self, key: &Key) -> Presence {
        let table = self.table.lock();
        let seen = table.peers.get(key);
        Presence {
            here: seen.is_some_and(|seen| seen.heard),
            last_seen_at: seen.and_then(|seen| seen.last_seen_at),
            transport: seen.and_then(|seen| seen.connection.as_ref()).map(|connection| connection.transport),
        }
    }

    /// A channel that was connected when the runtime started has its whole time to be heard of.
    pub(super) fn begin_again(&self, key: Key, heartbeat: Duration) {
        let mut table = self.table.lock();
        if table.peers.contains_key(&key) {
            return;
        }
        table.expect(key, None, heartbeat);
    }

    /// That it is gone could not be recorded: it is given up once more, unless it was heard of meanwhile.
    pub(super) fn miss_again(&self, key: &Key, last_seen_at: Option<Timestamp>, retry: Duration) {
        let mut table = self.table.lock();
        if table.peers.contains_key(key) {
            return;
        }
        table.expect(key.clone(), last_seen_at, retry);
        self.sooner.notify_one();
    }

    /// Those whose time is over, and when the next one's is. They come again after `retry` unless they are heard of.
    pub(super) fn due(&self, now: Instant, retry: Duration, max: usize) -> (Vec<Key>, Option<Instant>) {
        let mut table = self.table.lock();
        let mut due = Vec::new();
        while let Some((at, key)) = table.by_time.first().cloned()
            && at <= now
            && due.len() < max
        {
            table.by_time.remove(&(at, key.clone()));
            if let Some(seen) = table.peers.get_mut(&key) {
                seen.over = true;
                seen.deadline = now + retry;
                table.by_time.insert((now + retry, key.clone()));
            }
            due.push(key);
        }
        (due, table.by_time.first().map(|(at, _)| *at))
    }

    /// Forgets a peer whose time is over, unless it was heard of since. Says when it was last heard of.
    pub(super) fn give_up(&self, key: &Key) -> Option<Option<Timestamp>> {
        let mut table = self.table.lock();
        let seen = table.peers.get(key).filter(|seen| seen.over && seen.connection.is_none())?;
        let last_seen_at = seen.last_seen_at;
        table.forget(key);
        Some(last_seen_at)
    }

    /// Waits until something is due sooner than before.
    pub(super) async fn sooner(&self) {
        self.sooner.notified().await;
    }
}

impl Table {
    /// One that was not heard of since the start has so long.
    fn expect(&mut self, key: Key, last_seen_at: Option<Timestamp>, within: Duration) {
        let deadline = Instant::now() + within;
        self.by_time.insert((deadline, key.clone()));
        let seen = Seen { heard: false, last_seen_at, deadline, over: false, connection: None };
        self.peers.insert(key, seen);
    }

    /// Whether it is the first sign since the start, and whether it is missed before all others.
    fn hear(&mut self, key: &Key, now: Timestamp, heartbeat: Duration) -> (bool, bool) {
        let deadline = Instant::now() + heartbeat;
        let known = self.peers.get(key).map(|seen| (seen.heard, seen.deadline));
        if let Some((_, before)) = known {
            self.by_time.remove(&(before, key.clone()));
        }
        let connection = self.peers.remove(key).and_then(|seen| seen.connection);
        let sooner = connection.is_none() && self.by_time.first().is_none_or(|(at, _)| deadline < *at);
        if connection.is_none() {
            self.by_time.insert((deadline, key.clone()));
        }
        let seen = Seen { heard: true, last_seen_at: Some(now), deadline, over: false, connection };
        self.peers.insert(key.clone(), seen);
        (!known.is_some_and(|(heard, _)| heard), sooner)
    }

    fn forget(&mut self, key: &Key) {
        if let Some(seen) = self.peers.remove(key) {
            self.by_time.remove(&(seen.deadline, key.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEAT: Duration = Duration::from_secs(60);

    fn key(name: &str) -> Key {
        ("acme".into(), name.parse().unwrap())
    }

    fn now() -> Timestamp {
        Timestamp::from_millisecond(1_800_000_000_000).unwrap()
    }

    #[test]
    fn only_those_without_a_connection_are_missed() {
        let presence = PeerPresence::default();
        presence.hear(&key("a"), now(), BEAT);
        let (connection, sign) = presence.connect(&key("b"), Transport::Sse, now(), BEAT);
        assert!(sign.first && !sign.replaces);
        let later = Instant::now() + BEAT * 2;
        assert_eq!(presence.due(later, BEAT, 10).0, [key("a")]);
        assert_eq!(presence.disconnect(&key("b"), connection.number), Some(Some(now())));
        assert_eq!(presence.disconnect(&key("b"), connection.number), None, "once");
        assert_eq!(presence.give_up(&key("a")), Some(Some(now())));
        assert_eq!(presence.due(later + BEAT * 2, BEAT, 10), (vec![], None), "nothing is kept of those that left");
    }

    #[test]
    fn who_is_heard_of_in_time_is_not_given_up() {
        let presence = PeerPresence::default();
        assert!(!presence.hear(&key("a"), now(), BEAT), "the first sign");
        let later = Instant::now() + BEAT * 2;
        assert_eq!(presence.due(later, BEAT, 10).0.len(), 1);
        assert!(presence.hear(&key("a"), now(), BEAT));
        assert_eq!(presence.give_up(&key("a")), None);
        assert!(presence.look(&key("a")).here);
    }

    #[test]
    fn a_second_connection_ends_the_first() {
        let presence = PeerPresence::default();
        let (first, _) = presence.connect(&key("a"), Transport::Sse, now(), BEAT);
        let (second, sign) = presence.connect(&key("a"), Transport::Sse, now(), BEAT);
        assert!(sign.replaces && !sign.first);
        assert_eq!((first.ended(), second.ended()), (Some(End::Replaced), None));
        assert_eq!(presence.disconnect(&key("a"), first.number), None, "the end of the first changes nothing");
        assert!(presence.is_connected(&key("a")));
        assert!(presence.replace(&key("a")) && second.ended().is_some() && !presence.replace(&key("a")));
    }

    #[test]
    fn after_a_start_nobody_is_here_until_heard_of() {
        let presence = PeerPresence::default();
        presence.begin_again(key("a"), BEAT);
        assert!(!presence.look(&key("a")).here);
        assert!(!presence.hear(&key("a"), now(), BEAT), "it is the first sign");
        presence.begin_again(key("a"), BEAT);
        assert!(presence.look(&key("a")).here, "more is known of it already");
    }
}
