//! Commands that come through a remote channel (seed 000, "Remote session ingress"): the channel is looked at first, the facts
//! carry its id, and the sessions they are of are followed by it before the caller hears an answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use factum_engine::peers::{PeerState, join_sessions};
use factum_engine::{Context, Through};
use factum_model::id::{ChannelId, SessionId};
use factum_model::registry::{Kind, Scope};
use factum_model::{Command, Fact, NewEvent, Refusal};
use parking_lot::Mutex;

use super::heartbeat::own_peer;
use crate::caller::Caller;
use crate::commit::Accept;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

/// A channel that a command comes through, and the sessions the command changed.
#[derive(Debug)]
pub(crate) struct Joining {
    through: Through,
    followed: BTreeSet<SessionId>,
    sessions_max: usize,
    /// With the sequence before the first fact that came through the channel.
    changed: Mutex<BTreeMap<SessionId, u64>>,
    /// The command was carried out before, and is answered as it was then.
    repeated: AtomicBool,
}

impl Joining {
    pub(crate) fn through(&self) -> &Through {
        &self.through
    }

    /// Facts of a session are about to be recorded: they carry the channel, and the channel will follow the session. Refused
    /// where the channel has no room for one more.
    pub(crate) fn join(&self, session_id: &SessionId, before: u64, events: &mut [NewEvent]) -> Result<(), Refusal> {
        if events.is_empty() {
            return Ok(());
        }
        self.take_up(session_id, before)?;
        for event in events {
            // The channel of an action is the one that decides it, which is not said by whoever caused it.
            if event.scope.channel_id.is_none() && !matches!(event.fact, Fact::ActionRequired(_)) {
                event.scope.channel_id = Some(self.through.channel_id.clone());
            }
        }
        Ok(())
    }

    /// The command changes nothing: what it asks for was done before.
    pub(crate) fn repeats(&self) {
        self.repeated.store(true, Ordering::Relaxed);
    }

    fn take_up(&self, session_id: &SessionId, before: u64) -> Result<(), Refusal> {
        let mut changed = self.changed.lock();
        if !self.followed.contains(session_id) && !changed.contains_key(session_id) {
            let new = changed.keys().filter(|changed| !self.followed.contains(*changed)).count() + 1;
            let count = self.followed.len() + new;
            if count > self.sessions_max {
                return Err(Refusal::limit("channel_sessions", count as u64, self.sessions_max as u64));
            }
        }
        changed.entry(session_id.clone()).or_insert(before);
        Ok(())
    }
}

impl Runtime {
    /// Carries a command out that came through a channel. The choke point was passed.
    pub(crate) async fn call_through<C: Command>(
        &self,
        caller: &Caller,
        channel_id: &ChannelId,
        command: C,
    ) -> Result<C::Output, Refusal>
    where
        Runtime: Handle<C>,
    {
        caller.require(Scope::ChannelsWrite)?;
        let joining = Arc::new(self.joining(caller, channel_id).await?);
        let caller = Caller { through: Some(joining.clone()), ..caller.clone() };
        let output = self.handle(&caller, command).await?;
        if C::KIND == Kind::Mutation {
            self.join(&caller, &joining, session_named(&output)).await?;
        }
        Ok(output)
    }

    async fn joining(&self, caller: &Caller, channel_id: &ChannelId) -> Result<Joining, Refusal> {
        self.hear_from(caller, channel_id).await?;
        let sessions_max = self.0.limits.channel_sessions_max;
        let own = |state: &PeerState| {
            let peer = own_peer(state, caller)?;
            Ok(Joining {
                through: Through { channel_id: channel_id.clone(), decides: peer.decides() },
                followed: peer.sessions.keys().cloned().collect(),
                sessions_max,
                changed: Mutex::default(),
                repeated: AtomicBool::default(),
            })
        };
        Ok(self.look(&caller.account, channel_id, own).await?.0)
    }

    /// Lets the channel follow what the command changed. A repeat changed nothing, but its first try may have been cut off
    /// before this, so the session it names is followed as well, where there is room for it.
    async fn join(&self, caller: &Caller, joining: &Joining, named: Option<SessionId>) -> Result<(), Refusal> {
        if let Some(named) = named.filter(|_| joining.repeated.load(Ordering::Relaxed)) {
            joining.take_up(&named, 0)?;
        }
        let mut since = std::mem::take(&mut *joining.changed.lock());
        let changed: Vec<SessionId> = since.keys().cloned().collect();
        since.retain(|session_id, _| !joining.followed.contains(session_id));
        let channel_id = &joining.through.channel_id;
        if !since.is_empty() {
            let decide = |state: &PeerState, context: &mut Context<'_>| join_sessions(state, &since, context);
            self.execute(&caller.account, channel_id, &caller.actor(), &Accept::default(), decide).await?;
        }
        if joining.through.decides {
            self.bridge_all(&caller.account, &changed).await;
        }
        Ok(())
    }
}

/// The session that an answer names.
fn session_named(output: &impl serde::Serialize) -> Option<SessionId> {
    let output = serde_json::to_value(output).ok()?;
    output.get("session_id")?.as_str()?.parse().ok()
}
