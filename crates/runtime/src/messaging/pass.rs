//! Whether somebody may still see the channel that they follow. Asked where entries are taken from the log, and once more
//! where they are sent: what waits for a slow client must not reach it once it has been taken out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use factum_engine::messaging::{ChannelState, Operation, allow};
use factum_model::Refusal;
use factum_model::id::MessagingChannelId;

use crate::cell::Cell;
use crate::runtime::Runtime;

/// More often than that nobody is taken out.
const NEVER_SEEN: u64 = u64::MAX;

/// A caller's leave to follow a channel.
pub struct ChannelPass {
    runtime: Runtime,
    cell: Arc<Cell<ChannelState>>,
    principal: Arc<str>,
    channel_id: MessagingChannelId,
    /// How often somebody had been taken out of the channel when the caller was last seen in it.
    cuts_seen: AtomicU64,
}

impl ChannelPass {
    pub(super) fn new(
        runtime: &Runtime,
        cell: &Arc<Cell<ChannelState>>,
        principal: &Arc<str>,
        channel_id: &MessagingChannelId,
    ) -> Self {
        Self {
            runtime: runtime.clone(),
            cell: cell.clone(),
            principal: principal.clone(),
            channel_id: channel_id.clone(),
            cuts_seen: AtomicU64::new(NEVER_SEEN),
        }
    }

    /// Refuses who may not see the channel as it is now. Costs nothing while nobody is taken out.
    pub async fn check(&self) -> Result<(), Refusal> {
        let cuts = self.cell.work.cuts();
        if self.cuts_seen.load(Ordering::Acquire) == cuts {
            return Ok(());
        }
        self.look().await?;
        self.cuts_seen.store(cuts, Ordering::Release);
        Ok(())
    }

    /// The same, looked at in any case.
    pub(super) async fn look(&self) -> Result<(), Refusal> {
        let may = |state: &ChannelState| allow(state, &self.principal, Operation::Stream);
        self.runtime.look(&self.cell.account, &self.channel_id, may).await.map(drop)
    }
}
