//! Which channel a command means: one by its id, or the direct one with a peer, which is there as soon as it is used.

use factum_engine::messaging::{ChannelState, open_direct, target};
use factum_engine::{Context, Decision};
use factum_model::Refusal;
use factum_model::id::MessagingChannelId;
use factum_model::registry::Scope;
use serde::Serialize;

use crate::caller::Caller;
use crate::commit::Accept;
use crate::runtime::Runtime;

/// A channel that the caller may know of.
pub(super) struct Target {
    pub(super) channel_id: MessagingChannelId,
    /// Set where the channel may have to be made first.
    peer: Option<String>,
}

impl Target {
    /// Whether it was named by its other member.
    pub(super) fn is_direct(&self) -> bool {
        self.peer.is_some()
    }
}

impl Runtime {
    /// The channel that is meant, by id or by peer; exactly one of them is given.
    pub(super) async fn target(
        &self,
        caller: &Caller,
        channel_id: Option<&MessagingChannelId>,
        peer: Option<&str>,
    ) -> Result<Target, Refusal> {
        let meant = target(channel_id, peer, &caller.principal)?;
        // Whoever names a peer is one of the two.
        if meant.peer.is_none() {
            self.pass_gate(caller, &meant.channel_id).await?;
        }
        Ok(Target { channel_id: meant.channel_id, peer: meant.peer.map(str::to_owned) })
    }

    /// The same, for commands that only look: a direct channel is made before they do, for who may write.
    pub(super) async fn target_to_read(
        &self,
        caller: &Caller,
        channel_id: Option<&MessagingChannelId>,
        peer: Option<&str>,
    ) -> Result<MessagingChannelId, Refusal> {
        let target = self.target(caller, channel_id, peer).await?;
        if let Some(peer) = &target.peer
            && !self.is_there::<ChannelState>(&caller.account, &target.channel_id).await?
        {
            caller.require(Scope::MessagingWrite)?;
            let decide = |state: &ChannelState, context: &mut Context<'_>| open_direct(state, peer, context);
            self.decide_in(caller, &target, &Accept::default(), decide).await?;
        }
        Ok(target.channel_id)
    }

    /// Decides on a channel and waits until the facts are durable.
    pub(super) async fn decide_in<T: Serialize>(
        &self,
        caller: &Caller,
        target: &Target,
        accept: &Accept,
        decide: impl FnOnce(&ChannelState, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    ) -> Result<T, Refusal> {
        let actor = caller.actor();
        if target.peer.is_some() && !self.is_there::<ChannelState>(&caller.account, &target.channel_id).await? {
            return self.begin(&caller.account, &target.channel_id, &actor, accept, decide).await;
        }
        self.execute(&caller.account, &target.channel_id, &actor, accept, decide).await.map(|(output, _)| output)
    }
}
