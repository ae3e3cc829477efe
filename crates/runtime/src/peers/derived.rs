//! Channels of peers that do not know of channels: a client that gives us tasks, and a peer that we give tasks to. Each has one
//! by who it is, enrolled when it first says something.

use std::sync::Arc;

use factum_engine::peers::{PeerState, Presence, channel_of_peer, channel_of_principal};
use factum_model::Refusal;
use factum_model::commands::EnrollChannel;
use factum_model::id::ChannelId;
use factum_model::peer::{ChannelIdentity, PERMISSIONS, PeerRole, Transport};
use factum_model::registry::Scopes;
use factum_model::value::Metadata;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::heartbeat::key_of;
use super::presence::Key;
use crate::caller::Caller;
use crate::delegations::Described;
use crate::runtime::Runtime;

/// How many peers are remembered as enrolled. Forgetting one costs a lookup.
const KNOWN_MAX: usize = 10_000;

/// What a client of ours can do: it has no card that would say so. It decides what its tasks ask permission for.
const CLIENT_CAPABILITIES: [&str; 4] = ["streaming", "artifacts", "task_delegation", PERMISSIONS];

/// Peers that are enrolled for certain, and the channels of clients by who they are.
#[derive(Default)]
pub(crate) struct Known {
    enrolled: Mutex<FxHashMap<Key, Enrolled>>,
    clients: Mutex<FxHashMap<Arc<str>, ClientChannel>>,
}

/// What hashing a principal gave for the protocol that it spoke last. It is asked for each message.
struct ClientChannel {
    protocol: Box<str>,
    channel_id: ChannelId,
}

#[derive(Default)]
struct Enrolled {
    /// As what the peer was described when it was. A client may come over several transports at once: each of them is recorded
    /// when it is first used, and not again whenever another one was in between.
    described: Vec<Described>,
    /// What it came over last.
    over: Option<Transport>,
}

impl Known {
    fn is(&self, key: &Key, described: &Described) -> bool {
        self.enrolled.lock().get(key).is_some_and(|known| known.described.contains(described))
    }

    /// The same of a client of ours, over this transport. It is asked for each message.
    fn is_client(&self, key: &Key, over: Transport) -> bool {
        let is =
            |as_: &Described| as_.transport == over && as_.card.is_none() && as_.capabilities == CLIENT_CAPABILITIES;
        self.enrolled.lock().get(key).is_some_and(|known| known.described.iter().any(is))
    }

    fn add(&self, key: Key, described: Described) {
        let mut known = self.enrolled.lock();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        let known = known.entry(key).or_default();
        // Only a peer that we speak to has a card, and it is what its card says now.
        known.described.retain(|_| described.card.is_none());
        known.over = Some(described.transport);
        known.described.push(described);
    }

    /// Notes what a peer came over, where it is enrolled. Says whether it is.
    fn came(&self, key: &Key, over: Option<Transport>) -> bool {
        let mut known = self.enrolled.lock();
        let Some(known) = known.get_mut(key) else { return false };
        known.over = over.or(known.over);
        true
    }

    /// What a peer came over last, as far as that is remembered.
    pub(super) fn over(&self, key: &Key) -> Option<Transport> {
        self.enrolled.lock().get(key)?.over
    }

    /// The channel of a principal that speaks `protocol`.
    fn channel_of(&self, protocol: &str, principal: &Arc<str>) -> Option<ChannelId> {
        let mut clients = self.clients.lock();
        if let Some(known) = clients.get(principal).filter(|known| *known.protocol == *protocol) {
            return Some(known.channel_id.clone());
        }
        let channel_id = channel_of_principal(protocol, principal)?;
        if clients.len() >= KNOWN_MAX {
            clients.clear();
        }
        let known = ClientChannel { protocol: protocol.into(), channel_id: channel_id.clone() };
        clients.insert(principal.clone(), known);
        Some(channel_id)
    }
}

impl Runtime {
    /// The id of the channel that a caller has who speaks `protocol`, enrolled or not.
    pub(crate) fn client_channel(&self, caller: &Caller, protocol: &str) -> Option<ChannelId> {
        self.0.derived_channels.channel_of(protocol, &caller.principal)
    }

    /// The channel of a caller that speaks `protocol`.
    pub(crate) async fn peer_channel(&self, caller: &Caller, protocol: &str) -> Result<ChannelId, Refusal> {
        let channel_id = self.client_channel(caller, protocol).ok_or_else(unnamed)?;
        if self.0.derived_channels.is_client(&key_of(caller, &channel_id), caller.transport) {
            return Ok(channel_id);
        }
        let capabilities = CLIENT_CAPABILITIES.map(str::to_owned).to_vec();
        let described = Described { transport: caller.transport, card: None, capabilities };
        self.enrolled(caller, &channel_id, protocol, described).await?;
        Ok(channel_id)
    }

    /// Sees to it that a peer we speak to has its channel, as its card describes it (seed 000). It decides nothing here: what
    /// it asks for is asked of people.
    pub(crate) async fn spoken_to(
        &self,
        account: &Arc<str>,
        peer: &str,
        protocol: &str,
        described: Described,
    ) -> Result<(), Refusal> {
        let channel_id = channel_of_peer(protocol, peer).ok_or_else(unnamed)?;
        let caller = Caller::new(&format!("peer:{peer}"), account, Scopes::admin());
        self.enrolled(&caller, &channel_id, protocol, described).await
    }

    /// A caller that speaks `protocol` asks for something. Writes nothing: only its channel's summary shows it.
    pub(crate) fn hear_client(&self, caller: &Caller, protocol: &str) {
        if let Some(channel_id) = self.client_channel(caller, protocol) {
            self.hear_derived(&key_of(caller, &channel_id), Some(caller.transport));
        }
    }

    /// The same of a channel. One that is not enrolled cannot be missed.
    pub(crate) fn hear_derived(&self, key: &Key, over: Option<Transport>) {
        if self.0.derived_channels.came(key, over) {
            self.0.presence.hear(key, self.now(), self.heartbeat());
        }
    }

    /// What is known of a channel's peer while the runtime runs.
    pub(super) fn presence_of(&self, caller: &Caller, channel_id: &ChannelId) -> Presence {
        let key = key_of(caller, channel_id);
        let seen = self.0.presence.look(&key);
        Presence { transport: seen.transport.or_else(|| self.0.derived_channels.over(&key)), ..seen }
    }

    async fn enrolled(
        &self,
        caller: &Caller,
        channel_id: &ChannelId,
        protocol: &str,
        described: Described,
    ) -> Result<(), Refusal> {
        let key = key_of(caller, channel_id);
        if self.0.derived_channels.is(&key, &described) {
            return Ok(());
        }
        // Boxed: it happens once for each peer, and must not make the future of every message as large as itself.
        Box::pin(self.enroll_derived(caller, channel_id, protocol, &described)).await?;
        self.0.derived_channels.add(key, described);
        Ok(())
    }

    /// Enrolls a channel, unless it is enrolled as just that.
    async fn enroll_derived(
        &self,
        caller: &Caller,
        channel_id: &ChannelId,
        protocol: &str,
        described: &Described,
    ) -> Result<(), Refusal> {
        if self.is_there::<PeerState>(&caller.account, channel_id).await? {
            let same = |state: &PeerState| Ok(state.peer.as_ref().is_some_and(|peer| is(&peer.identity, described)));
            if self.look(&caller.account, channel_id, same).await?.0 {
                return Ok(());
            }
        }
        let enroll = EnrollChannel {
            channel_id: Some(channel_id.clone()),
            peer_role: PeerRole::PeerAgent,
            transport: Some(described.transport),
            capabilities: described.capabilities.clone(),
            queues: Vec::new(),
            session_ids: Vec::new(),
            native_protocol: Some(protocol.to_owned()),
            agent_card_ref: described.card.clone(),
            metadata: Metadata::new(),
            idempotency_key: None,
        };
        self.enroll(caller, enroll).await.map(drop)
    }
}

/// Whether a channel is enrolled as what a peer is described.
fn is(identity: &ChannelIdentity, described: &Described) -> bool {
    let all = |of: &[String], others: &[String]| of.iter().all(|one| others.contains(one));
    identity.transport == described.transport
        && identity.agent_card_ref == described.card
        && all(&identity.capabilities, &described.capabilities)
        && all(&described.capabilities, &identity.capabilities)
}

fn unnamed() -> Refusal {
    Refusal::internal("a channel id of our own does not parse")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_has_the_channel_that_its_hash_says() {
        let known = Known::default();
        let principals = ["agent://ada", "agent://bob"].map(Arc::<str>::from);
        for protocol in ["a2a", "other", "a2a", "a2a"] {
            for principal in &principals {
                assert_eq!(known.channel_of(protocol, principal), channel_of_principal(protocol, principal));
            }
        }
    }

    #[test]
    fn only_so_many_principals_are_remembered() {
        let known = Known::default();
        for number in 0..=KNOWN_MAX {
            assert!(known.channel_of("a2a", &format!("agent://{number}").into()).is_some());
        }
        assert_eq!(known.clients.lock().len(), 1);
    }
}
