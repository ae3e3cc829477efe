//! Channels in the feed: which of them a caller may read, asked once for each channel of a page, and which of their facts.
//!
//! Membership is what it is at the moment, as for history: whoever was removed sees nothing of the channel any more. How far
//! somebody has read and what was answered to somebody's key are facts of the channel too, and nobody else's business.

use std::sync::Arc;

use factum_engine::messaging::{ChannelState, Operation, allow, partition_name, private_to, stream_name};
use factum_model::id::MessagingChannelId;
use factum_model::registry::Scope;
use factum_model::{ErrorCode, Event, Refusal};
use factum_store::StoredCommit;
use rustc_hash::FxHashMap;

use crate::caller::Caller;
use crate::runtime::Runtime;

/// What was found out for one page.
pub(crate) struct ChannelsSeen {
    /// Of the caller's account; none where the caller may read no channels at all.
    partition: Option<String>,
    may: FxHashMap<Arc<str>, bool>,
}

impl ChannelsSeen {
    pub(crate) fn of(caller: &Caller) -> Self {
        let reads = caller.require(Scope::MessagingRead).is_ok();
        Self { partition: reads.then(|| partition_name(&caller.account)), may: FxHashMap::default() }
    }

    /// Whether a commit is of a channel that the caller may read.
    pub(crate) async fn may_read(
        &mut self,
        runtime: &Runtime,
        caller: &Caller,
        commit: &StoredCommit,
    ) -> Result<bool, Refusal> {
        if self.partition.as_deref() != Some(&*commit.partition) {
            return Ok(false);
        }
        if let Some(may) = self.may.get(&commit.stream) {
            return Ok(*may);
        }
        let may = match channel_of(&caller.account, &commit.stream) {
            Some(channel_id) => is_readable(runtime, caller, &channel_id).await?,
            None => false,
        };
        self.may.insert(commit.stream.clone(), may);
        Ok(may)
    }
}

/// Whether a fact of a channel that somebody may read is for them. What cannot be read is for nobody.
pub(crate) fn is_for(principal: &str, record: &[u8]) -> bool {
    Event::decode(record).is_ok_and(|event| private_to(&event.fact).is_none_or(|owner| owner == principal))
}

/// The channel of a stream.
fn channel_of(account: &str, stream: &str) -> Option<MessagingChannelId> {
    let channel_id: MessagingChannelId = stream.rsplit('/').next()?.parse().ok()?;
    (stream_name(account, &channel_id) == stream).then_some(channel_id)
}

async fn is_readable(runtime: &Runtime, caller: &Caller, channel_id: &MessagingChannelId) -> Result<bool, Refusal> {
    let look = async {
        runtime.pass_gate(caller, channel_id).await?;
        let may = |state: &ChannelState| allow(state, &caller.principal, Operation::Stream);
        runtime.look(&caller.account, channel_id, may).await
    };
    match look.await {
        Ok(_) => Ok(true),
        Err(refusal) if matches!(refusal.code, ErrorCode::NotFound | ErrorCode::PermissionDenied) => Ok(false),
        Err(refusal) => Err(refusal),
    }
}
