//! The keeper of presence: one task that sleeps until the next channel is missed, and has the engine record that.

use std::time::Duration;

use factum_engine::Decision;
use factum_engine::peers::{PeerState, keys, vanish};
use factum_model::peer::DisconnectReason;
use factum_model::{Timestamp, Trace};
use factum_store::{Direction, ReadError, Scan};
use futures::StreamExt;
use tokio::time::Instant;

use super::presence::{Key, PeerPresence};
use crate::commit::{Accept, Actor};
use crate::runtime::Runtime;

/// Who says that a peer is gone.
pub(super) const KEEPER: &str = "runtime://peers";
/// How many rows one look at the index lists, and how many channels are given up together.
const PAGE: usize = 256;
/// How many are recorded at the same time.
const PARALLEL: usize = 32;
/// When one that could not be recorded is tried again, and rows that could not be listed.
const PAUSE: Duration = Duration::from_millis(500);

/// Misses channels until the runtime closes.
pub(crate) async fn keep(runtime: Runtime) {
    begin_again(&runtime).await;
    let presence = &runtime.0.presence;
    loop {
        let (due, next) = presence.due(Instant::now(), PAUSE, PAGE);
        if !due.is_empty() {
            futures::stream::iter(due).for_each_concurrent(PARALLEL, |key| give_up(&runtime, key)).await;
            continue;
        }
        match next {
            None => presence.sooner().await,
            Some(next) => tokio::select! {
                () = tokio::time::sleep_until(next) => {}
                () = presence.sooner() => {}
            },
        }
    }
}

async fn give_up(runtime: &Runtime, key: Key) {
    gone(runtime, &key, DisconnectReason::HeartbeatMissed, |presence| presence.give_up(&key)).await;
}

impl Runtime {
    /// A connection ended. It is said so unless another one took its place.
    pub(super) async fn connection_ended(&self, key: Key, number: u64) {
        gone(self, &key, DisconnectReason::TransportError, |presence| presence.disconnect(&key, number)).await;
    }
}

/// Records that a channel is gone, where `forget` says so. It is forgotten under the channel's lock, so that whoever comes back
/// comes behind it; where the store has no room for the fact now, the channel is missed again.
async fn gone(
    runtime: &Runtime,
    key: &Key,
    reason: DisconnectReason,
    forget: impl FnOnce(&PeerPresence) -> Option<Option<Timestamp>> + Send,
) {
    let presence = &runtime.0.presence;
    let mut forgotten = None;
    let vanished = |state: &PeerState, context: &mut factum_engine::Context<'_>| {
        forgotten = forget(presence);
        match forgotten {
            Some(last_seen_at) => vanish(state, reason, last_seen_at, context),
            None => Ok(Decision { events: Vec::new(), output: state.sequence }),
        }
    };
    let actor = Actor { principal: KEEPER, trace: &Trace::default(), through: None };
    let outcome = runtime.execute(&key.0, &key.1, &actor, &Accept::default(), vanished).await;
    let Err(error) = outcome else { return };
    tracing::warn!(channel_id = %key.1, %error, "that a channel is gone could not be recorded");
    if let Some(last_seen_at) = forgotten
        && error.retryable
    {
        presence.miss_again(key, last_seen_at, PAUSE);
    }
}

/// Every channel that was connected has its whole time to return.
async fn begin_again(runtime: &Runtime) {
    let heartbeat = Duration::from_millis(runtime.0.limits.channel_heartbeat_ms);
    let mut after = None;
    loop {
        let prefix = keys::all_connected().into();
        let scan = Scan { prefix, after: after.clone(), until: None, direction: Direction::Forward, limit: PAGE };
        let rows = match runtime.0.store.scan(scan).await {
            Ok(rows) => rows,
            Err(ReadError::Closed) => return,
            Err(error) => {
                tracing::error!(%error, "connected channels could not be listed");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let Some((last, _)) = rows.last() else { return };
        after = Some(last.clone());
        for (account, channel_id) in rows.iter().filter_map(|(key, _)| keys::read_connected(key)) {
            runtime.0.presence.begin_again((account.into(), channel_id), heartbeat);
        }
    }
}
