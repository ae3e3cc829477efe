//! `reconnect_channel`: the snapshot, where each stream goes on, and a new token. A connection that is still open ends.

use factum_engine::Context;
use factum_engine::peers::{FromSessions, PeerState, Return, reconnect_channel};
use factum_model::Refusal;
use factum_model::commands::{GetChannelSummary, ReconnectChannel, ReconnectChannelResult};
use factum_model::id::SessionId;
use factum_model::peer::ChannelSnapshot;

use super::heartbeat::{key_of, own_peer};
use super::token::new_token;
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::idempotency::Repeat;
use crate::runtime::Runtime;

impl Handle<ReconnectChannel> for Runtime {
    async fn handle(&self, caller: &Caller, command: ReconnectChannel) -> Result<ReconnectChannelResult, Refusal> {
        let accept = match self.repeat(caller, &command, None).await? {
            Repeat::Known(output) => return self.with_snapshot(caller, output).await,
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
        let mut snapshot = None;
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
            // What is recorded of the answer does not hold it: it has no bound that a row of the index has room for.
            snapshot = Some(decision.output.snapshot.clone());
            decision.output.snapshot = without_contents(&decision.output.snapshot);
            presence.replace(&key);
            presence.hear(&key, context.now, self.heartbeat());
            Ok(decision)
        };
        let outcome = self.execute(&caller.account, channel_id, &caller.actor(), &accept, decide).await;
        let (mut result, _) = outcome?;
        result.resume_token = Some(token);
        result.snapshot = snapshot.unwrap_or(result.snapshot);
        Ok(result)
    }
}

impl Runtime {
    /// A remembered answer, with the channel as it stands now.
    async fn with_snapshot(
        &self,
        caller: &Caller,
        remembered: ReconnectChannelResult,
    ) -> Result<ReconnectChannelResult, Refusal> {
        let channel_id = remembered.snapshot.channel.channel_id.clone();
        let now = self.handle(caller, GetChannelSummary { channel_id }).await?;
        Ok(ReconnectChannelResult { snapshot: now.summary, ..remembered })
    }
}

/// Which channel it is of, and when.
fn without_contents(snapshot: &ChannelSnapshot) -> ChannelSnapshot {
    ChannelSnapshot {
        channel: snapshot.channel.clone(),
        sessions: Vec::new(),
        peer_tasks: Vec::new(),
        permission_bridge: Vec::new(),
        as_of_sequence: snapshot.as_of_sequence,
    }
}
