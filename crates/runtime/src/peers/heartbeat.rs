//! `heartbeat_channel`, and every other sign of life. Nothing is written unless the channel was given up, or was not heard of
//! since the start.

use std::time::Duration;

use factum_engine::peers::{Peer, PeerState, Sign, appear};
use factum_engine::{Context, Decision};
use factum_model::Refusal;
use factum_model::commands::{HeartbeatChannel, HeartbeatChannelResult};
use factum_model::id::ChannelId;
use factum_model::peer::ChannelState;

use super::presence::Key;
use crate::caller::Caller;
use crate::commit::Accept;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<HeartbeatChannel> for Runtime {
    async fn handle(&self, caller: &Caller, command: HeartbeatChannel) -> Result<HeartbeatChannelResult, Refusal> {
        let sequence = self.hear_from(caller, &command.channel_id).await?;
        Ok(HeartbeatChannelResult {
            channel_id: command.channel_id,
            state: ChannelState::Connected,
            last_seen_at: self.now(),
            heartbeat_ms: self.0.limits.channel_heartbeat_ms,
            sequence,
        })
    }
}

impl Runtime {
    /// A channel of the caller's own shows that it is there. Gives the newest sequence of its stream.
    pub(crate) async fn hear_from(&self, caller: &Caller, channel_id: &ChannelId) -> Result<u64, Refusal> {
        let own = |state: &PeerState| own_peer(state, caller).map(|peer| peer.state == ChannelState::Connected);
        // Not waiting for what is under way: a sign of life has nothing to wait for.
        let (connected, cell) = self.peek(&caller.account, channel_id, own).await?;
        let key = key_of(caller, channel_id);
        if connected? && self.0.presence.look(&key).here {
            self.0.presence.hear(&key, self.now(), self.heartbeat());
            return Ok(cell.hub.durable());
        }
        let appear = |state: &PeerState, context: &mut Context<'_>| -> Result<Decision<u64>, Refusal> {
            own_peer(state, caller)?;
            let last_seen_at = self.0.presence.look(&key).last_seen_at;
            let first = !self.0.presence.hear(&key, context.now, self.heartbeat());
            appear(state, Sign { replaces: false, first, last_seen_at }, context)
        };
        let actor = caller.actor();
        let outcome = self.execute(&caller.account, channel_id, &actor, &Accept::default(), appear).await;
        outcome.map(|(sequence, _)| sequence)
    }

    pub(super) fn heartbeat(&self) -> Duration {
        Duration::from_millis(self.0.limits.channel_heartbeat_ms)
    }
}

/// The peer, where it is the caller's own and has not left.
pub(super) fn own_peer<'a>(state: &'a PeerState, caller: &Caller) -> Result<&'a Peer, Refusal> {
    state.of(&caller.principal).ok_or_else(Refusal::not_found)?.check_open()
}

pub(super) fn key_of(caller: &Caller, channel_id: &ChannelId) -> Key {
    (caller.account.clone(), channel_id.clone())
}
