//! Which channel a command means: one by its id, or the direct one with a peer, which is there as soon as it is used. The id
//! of a direct channel that is not there yet means the same as the peer, where the account knows whom it means.

use factum_engine::messaging::{ChannelState, Operation, allow, open_direct, target};
use factum_engine::{Context, Decision};
use factum_model::id::MessagingChannelId;
use factum_model::registry::Scope;
use factum_model::{Command, ErrorCode, Refusal};
use serde::Serialize;

use crate::caller::Caller;
use crate::commit::Accept;
use crate::idempotency::Repeat;
use crate::runtime::Runtime;

/// A channel that the caller may know of.
pub(super) struct Target {
    pub(super) channel_id: MessagingChannelId,
    /// Set where the channel may have to be made first.
    peer: Option<String>,
}

impl Target {
    /// The other one of a direct channel that may have to be made first.
    pub(super) fn peer(&self) -> Option<&str> {
        self.peer.as_deref()
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
        if let Some(peer) = meant.peer {
            return Ok(Target { channel_id: meant.channel_id, peer: Some(peer.to_owned()) });
        }
        let peer = match self.pass_gate(caller, &meant.channel_id).await {
            Ok(()) => None,
            // Boxed: the rare way must not make the future of every command as large as itself.
            Err(refusal) if refusal.code == ErrorCode::NotFound => {
                Some(Box::pin(self.peer_of(caller, &meant.channel_id)).await?.ok_or(refusal)?)
            }
            Err(refusal) => return Err(refusal),
        };
        Ok(Target { channel_id: meant.channel_id, peer })
    }

    /// A channel that is there, by its id.
    pub(super) async fn target_there(
        &self,
        caller: &Caller,
        channel_id: &MessagingChannelId,
    ) -> Result<Target, Refusal> {
        self.pass_gate(caller, channel_id).await?;
        Ok(Target { channel_id: channel_id.clone(), peer: None })
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

    /// Whether a keyed command is new, for who takes part in the channel. The gate alone does not say that: it lets everybody
    /// into a public channel, and who was let through a moment ago into one that is deleted by now.
    pub(super) async fn repeat_inside<C: Command>(
        &self,
        caller: &Caller,
        channel_id: &MessagingChannelId,
        meaning: &C,
    ) -> Result<Repeat<C::Output>, Refusal> {
        let repeat = self.repeat_in(caller, channel_id, meaning).await;
        // What is new is asked when it is decided.
        let there_is_one = match &repeat {
            Ok(repeat) => matches!(repeat, Repeat::Known(_)),
            Err(refusal) => refusal.code == ErrorCode::Conflict,
        };
        if there_is_one {
            self.takes_part(caller, channel_id).await?;
        }
        repeat
    }

    /// Refuses who does not take part in the channel, or not any more.
    pub(super) async fn takes_part(&self, caller: &Caller, channel_id: &MessagingChannelId) -> Result<(), Refusal> {
        let may = |state: &ChannelState| allow(state, &caller.principal, Operation::Publish);
        self.look(&caller.account, channel_id, may).await.map(drop)
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
