//! The remote channel of a peer that does not know of channels: it has one by who it is, enrolled when it first says something.

use std::sync::Arc;

use factum_model::Refusal;
use factum_model::commands::EnrollChannel;
use factum_model::id::ChannelId;
use factum_model::peer::{PeerRole, Transport};
use factum_model::value::Metadata;
use parking_lot::Mutex;
use rustc_hash::FxHashSet;

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

/// How many peers are remembered as enrolled. Forgetting one costs a lookup.
const KNOWN_MAX: usize = 10_000;

/// The hex digits of a principal's digest in the id of its channel.
const DIGITS: usize = 24;

/// Peers that are enrolled for certain.
#[derive(Default)]
pub(crate) struct Known(Mutex<FxHashSet<(Arc<str>, ChannelId)>>);

impl Runtime {
    /// The channel of a caller that speaks `protocol`.
    pub(crate) async fn peer_channel(
        &self,
        caller: &Caller,
        protocol: &str,
        transport: Transport,
    ) -> Result<ChannelId, Refusal> {
        let digest = factum_engine::sha256(caller.principal.as_bytes());
        let digits: String = digest.chars().skip_while(|char| *char != ':').skip(1).take(DIGITS).collect();
        let id = format!("chan_{protocol}_{digits}");
        let channel_id: ChannelId = id.parse().map_err(|_| Refusal::internal("a channel id of our own does not parse"))?;
        let key = (caller.account.clone(), channel_id.clone());
        if self.0.inbound_channels.0.lock().contains(&key) {
            return Ok(channel_id);
        }
        if !self.is_there::<factum_engine::peers::PeerState>(&caller.account, &channel_id).await? {
            let enroll = EnrollChannel {
                channel_id: Some(channel_id.clone()),
                peer_role: PeerRole::PeerAgent,
                transport: Some(transport),
                capabilities: ["streaming", "artifacts", "permissions", "task_delegation"].map(str::to_owned).to_vec(),
                queues: Vec::new(),
                session_ids: Vec::new(),
                native_protocol: Some(protocol.to_owned()),
                metadata: Metadata::new(),
                idempotency_key: None,
            };
            // Boxed: it happens once for each peer, and must not make the future of every message as large as itself.
            Box::pin(Handle::<EnrollChannel>::handle(self, caller, enroll)).await?;
        }
        let mut known = self.0.inbound_channels.0.lock();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(key);
        Ok(channel_id)
    }
}
