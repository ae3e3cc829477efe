//! Channels of peers that do not know of channels: a client that gives us tasks, and a peer that we give tasks to. Each has one
//! by who it is, enrolled when it first says something.

use std::sync::Arc;

use factum_engine::peers::{PeerState, channel_of_peer, channel_of_principal};
use factum_model::Refusal;
use factum_model::commands::EnrollChannel;
use factum_model::id::ChannelId;
use factum_model::peer::{PERMISSIONS, PeerRole, Transport};
use factum_model::registry::Scopes;
use factum_model::value::Metadata;
use parking_lot::Mutex;
use rustc_hash::FxHashSet;

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

/// How many peers are remembered as enrolled. Forgetting one costs a lookup.
const KNOWN_MAX: usize = 10_000;

/// What peers that speak a protocol of their own can do.
const CAPABILITIES: [&str; 3] = ["streaming", "artifacts", "task_delegation"];

/// Peers that are enrolled for certain.
#[derive(Default)]
pub(crate) struct Known(Mutex<FxHashSet<(Arc<str>, ChannelId)>>);

impl Runtime {
    /// The channel of a caller that speaks `protocol`. It decides what its tasks ask permission for.
    pub(crate) async fn peer_channel(
        &self,
        caller: &Caller,
        protocol: &str,
        transport: Transport,
    ) -> Result<ChannelId, Refusal> {
        let channel_id = channel_of_principal(protocol, &caller.principal).ok_or_else(unnamed)?;
        let capabilities = CAPABILITIES.into_iter().chain([PERMISSIONS]).map(str::to_owned).collect();
        self.enrolled(caller, &channel_id, protocol, transport, capabilities).await?;
        Ok(channel_id)
    }

    /// Sees to it that a peer we speak to has its channel. It decides nothing here: what it asks for is asked of people.
    pub(crate) async fn spoken_to(
        &self,
        account: &Arc<str>,
        peer: &str,
        protocol: &str,
        transport: Transport,
    ) -> Result<(), Refusal> {
        let channel_id = channel_of_peer(protocol, peer).ok_or_else(unnamed)?;
        let caller = Caller::new(&format!("peer:{peer}"), account, Scopes::admin());
        let capabilities = CAPABILITIES.into_iter().map(str::to_owned).collect();
        self.enrolled(&caller, &channel_id, protocol, transport, capabilities).await
    }

    async fn enrolled(
        &self,
        caller: &Caller,
        channel_id: &ChannelId,
        protocol: &str,
        transport: Transport,
        capabilities: Vec<String>,
    ) -> Result<(), Refusal> {
        let key = (caller.account.clone(), channel_id.clone());
        if self.0.derived_channels.0.lock().contains(&key) {
            return Ok(());
        }
        if !self.is_there::<PeerState>(&caller.account, channel_id).await? {
            let enroll = EnrollChannel {
                channel_id: Some(channel_id.clone()),
                peer_role: PeerRole::PeerAgent,
                transport: Some(transport),
                capabilities,
                queues: Vec::new(),
                session_ids: Vec::new(),
                native_protocol: Some(protocol.to_owned()),
                metadata: Metadata::new(),
                idempotency_key: None,
            };
            // Boxed: it happens once for each peer, and must not make the future of every message as large as itself.
            Box::pin(Handle::<EnrollChannel>::handle(self, caller, enroll)).await?;
        }
        let mut known = self.0.derived_channels.0.lock();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(key);
        Ok(())
    }
}

fn unnamed() -> Refusal {
    Refusal::internal("a channel id of our own does not parse")
}
