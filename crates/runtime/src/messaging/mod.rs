//! Messaging channels (seed 002): how they are hosted, who gets to them, how their messages are found.
//!
//! What may be done and what follows is decided in `engine::messaging`. Here is the rest: the gate in front of private
//! channels, the way from a message's number to its place in the log, pages, streams, and who is present. One file for
//! each command.

mod add_member;
mod audit;
mod create;
mod delete;
mod feed;
mod gate;
mod get;
mod history;
mod list;
mod mark_read;
mod messages;
mod page_token;
mod pass;
mod presence;
mod principals;
mod publish;
mod remove_member;
mod stream;
mod target;
mod update;

use std::sync::Arc;

use factum_engine::IndexChange;
use factum_engine::messaging::{ChannelState, apply, apply_commit, partition_name, stream_name};
use factum_model::id::MessagingChannelId;
use factum_model::{Event, Fact, Scope, Timestamp};

use crate::aggregate::{Aggregate, Recover};
use crate::cell::Cell;
use crate::cells::Cells;
use crate::options::ShellLimits;
use crate::runtime::Runtime;

pub(crate) use feed::{ChannelsSeen, is_for};
pub(crate) use gate::Gate;
pub use pass::ChannelPass;
pub(crate) use presence::Presence;
pub(crate) use principals::Principals;
pub use stream::{ChannelItem, ChannelPlace, ChannelStream};
pub(crate) use stream::{Entry, EntrySlot};

impl Aggregate for ChannelState {
    type Id = MessagingChannelId;
    type Work = Presence;

    fn stream(account: &str, channel_id: &MessagingChannelId) -> Arc<str> {
        stream_name(account, channel_id).into()
    }

    fn partition(account: &Arc<str>) -> Arc<str> {
        partition_name(account).into()
    }

    fn cells(runtime: &Runtime) -> &Cells<Self> {
        &runtime.0.channels
    }

    /// The envelope's `channel_id` is a link to a peer; a messaging fact names its channel in the payload.
    fn scope(_: &MessagingChannelId) -> Scope {
        Scope::default()
    }

    fn sequence(&self) -> u64 {
        self.sequence
    }

    fn exists(&self) -> bool {
        self.shell.is_some()
    }

    fn updated_at(&self) -> Option<Timestamp> {
        self.shell.as_ref().map(|shell| shell.updated_at)
    }

    fn apply(&mut self, event: &Event) {
        apply(self, event);
    }

    fn apply_commit(
        &mut self,
        events: &mut Vec<Event>,
        _: impl FnOnce(&Self, &[Event]) -> Vec<Event>,
    ) -> Vec<IndexChange> {
        apply_commit(self, events)
    }

    fn snapshot_events(&self, limits: &ShellLimits) -> u64 {
        limits.channel_snapshot_events
    }

    /// Nothing of a channel is ever half done.
    fn recover(&self) -> Option<Recover<Self>> {
        None
    }

    fn committed(runtime: &Runtime, cell: &Arc<Cell<Self>>, events: &Arc<Vec<Event>>) {
        for event in events.iter() {
            match &event.fact {
                Fact::MessagingChannelCreated(fact) => {
                    for member in &fact.members {
                        runtime.0.principals.meet(&cell.account, &member.principal);
                    }
                }
                Fact::MessagingMemberAdded(fact) => runtime.0.principals.meet(&cell.account, &fact.principal),
                Fact::MessagingMemberRemoved(fact) => {
                    cell.work.cut();
                    runtime.0.gate.forget(&cell.account, &fact.principal, &cell.id);
                }
                Fact::MessagingChannelDeleted(fact) => {
                    cell.work.cut();
                    for principal in &fact.members {
                        runtime.0.gate.forget(&cell.account, principal, &cell.id);
                    }
                }
                _ => {}
            }
        }
    }

    fn is_quiet(_: &Presence) -> bool {
        true
    }
}
