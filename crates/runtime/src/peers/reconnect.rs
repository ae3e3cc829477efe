//! `reconnect_channel`: the snapshot, where each stream goes on, and a new token. A connection that is still open ends.

use factum_engine::Context;
use factum_engine::peers::{FromSessions, PeerState, Return, reconnect_channel};
use factum_model::Refusal;
use factum_model::commands::{ReconnectChannel, ReconnectChannelResult};
use factum_model::id::SessionId;

use super::heartbeat::{key_of, own_peer};
use super::token::new_token;
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::idempotency::Repeat;
use crate::runtime::Runtime;

impl Handle<ReconnectChannel> for Runtime {
    async fn handle(&self, caller: &Caller, command: ReconnectChannel) -> Result<ReconnectChannelResult, Refusal> {
        let accept = match self.repeat(caller, &command, None).await? {
            Repeat::Known(output) => return Ok(output),
            Repeat::New(accept) => accept,
        };
        let channel_id = &command.channel_id;
        let own = |state: &PeerState| {
            let peer = own_peer(state, caller)?;
            let derived = peer.derived().is_some().then(|| peer.clone());
            let bridged: Vec<SessionId> = peer.bridged_with().into_iter().collect();
            Ok((peer.sessions.keys().cloned().collect::<Vec<SessionId>>(), bridged, derived))
        };
        let ((sessions, bridged, derived), _) = self.look(&caller.account, channel_id, own).await?;
        // What opened or closed while nobody bridged it, because of a crash, is in the snapshot too.
        self.bridge_all(&caller.account, &bridged).await;
        let heads = self.heads(&caller.account, sessions).await?;
        let told = match &derived {
            Some(peer) => self.told_by_sessions(&caller.account, peer).await?,
            None => FromSessions::default(),
        };
        let token = new_token();
        let shown = command.resume_token.as_deref().map(|token| self.token_ref(caller, channel_id, token));
        let token_ref = self.token_ref(caller, channel_id, &token);
        let (key, presence) = (key_of(caller, channel_id), &self.0.presence);
        let decide = |state: &PeerState, context: &mut Context<'_>| {
            let back = Return {
                shown: shown.as_deref(),
                token_ref,
                replaces: presence.is_connected(&key),
                last_seen_at: presence.look(&key).last_seen_at,
                heads: &heads,
            };
            let mut decision = reconnect_channel(state, &command, &back, context)?;
            told.add_to(&mut decision.output.snapshot);
            presence.replace(&key);
            presence.hear(&key, context.now, self.heartbeat());
            Ok(decision)
        };
        let outcome = self.execute(&caller.account, channel_id, &caller.actor(), &accept, decide).await;
        let (mut result, _) = outcome?;
        result.resume_token = Some(token);
        Ok(result)
    }
}
