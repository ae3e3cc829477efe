//! Where a peer wants to be told of a task that it has not sent yet, under the id it will send it with (seed 004).

use factum_engine::Context;
use factum_engine::peers::{PeerState, PushAhead, set_push_ahead, take_push_ahead};
use factum_engine::session::push::PushConfig;
use factum_engine::session::tasks::inbound::keys;
use factum_model::commands::SubmitTurn;
use factum_model::id::TaskId;
use factum_model::registry::Scope;
use factum_model::{Command, Refusal};

use super::push::PushTarget;
use super::receive::check_id;
use crate::caller::Caller;
use crate::commit::Accept;
use crate::runtime::Runtime;

impl Runtime {
    /// Sets where changes of a task are pushed to that its peer is going to send to `agent` under this id. Nothing where the
    /// task is there: it has configurations of its own.
    pub async fn set_push_target_ahead(
        &self,
        caller: &Caller,
        protocol: &str,
        (remote_task_id, agent): (&str, &str),
        target: &PushTarget,
    ) -> Result<Option<PushConfig>, Refusal> {
        caller.require(SubmitTurn::SCOPE)?;
        check_id(remote_task_id)?;
        // The task may be sent at the same moment: it is there before this, or finds this.
        let key = keys::task(&caller.account, protocol, &caller.principal, remote_task_id);
        let accept = Accept::holding(self.0.keyed.lock(vec![key]).await);
        if self.inbound_task(caller, protocol, remote_task_id).await?.is_some() {
            return Ok(None);
        }
        let channel_id = self.peer_channel(caller, protocol).await?;
        let known = self.push_target_ahead(caller, protocol, (remote_task_id, agent)).await?;
        let task_id = known.map_or_else(
            || TaskId::from_uuid(self.0.sources.ids.source(self.now()).next_uuid()),
            |known| known.task_id,
        );
        let config_id = target.config_id.clone().unwrap_or_else(|| remote_task_id.to_owned());
        let sealed = self.seal_target(caller, &task_id, &config_id, target)?;
        let new = target.new_config(&config_id, protocol, sealed.as_deref());
        let decide = |state: &PeerState, context: &mut Context<'_>| {
            set_push_ahead(state, (remote_task_id, agent), &task_id, &new, context)
        };
        let decided = self.execute(&caller.account, &channel_id, &caller.actor(), &accept, decide).await;
        decided.map(|(config, _)| Some(config))
    }

    /// What waits for a task of this id with this agent.
    pub async fn push_target_ahead(
        &self,
        caller: &Caller,
        protocol: &str,
        (remote_task_id, agent): (&str, &str),
    ) -> Result<Option<PushAhead>, Refusal> {
        caller.require(Scope::SessionsRead)?;
        let Some(channel_id) = self.client_channel(caller, protocol) else { return Ok(None) };
        if !self.is_there::<PeerState>(&caller.account, &channel_id).await? {
            return Ok(None);
        }
        let ahead = |state: &PeerState| {
            let peer = state.of(&caller.principal);
            Ok(peer.and_then(|peer| peer.push_ahead(remote_task_id, agent)).cloned())
        };
        self.look(&caller.account, &channel_id, ahead).await.map(|(ahead, _)| ahead)
    }

    /// Forgets what waited for a task that is there now. Should that fail, nothing is lost: it waits for an id that is taken.
    pub(super) async fn taken(&self, caller: &Caller, protocol: &str, ahead: &PushAhead) {
        let Some(channel_id) = self.client_channel(caller, protocol) else { return };
        let decide = |state: &PeerState, context: &mut Context<'_>| take_push_ahead(state, &ahead.task_id, context);
        let forgotten = self.execute(&caller.account, &channel_id, &caller.actor(), &Accept::default(), decide).await;
        if let Err(refusal) = forgotten {
            tracing::warn!(%refusal, task_id = %ahead.task_id, "a push configuration goes on waiting for a task that is there");
        }
    }
}
