//! `ack_events`: durable when it is answered, and cheap. What is said of one channel while a commit of it is under way
//! becomes one fact behind it, so a channel never has more than one such commit in flight, however often it says so.

use std::collections::BTreeMap;

use factum_engine::Context;
use factum_engine::peers::{PeerState, ack_events, acknowledged, check_ack};
use factum_model::Refusal;
use factum_model::commands::{AckEvents, AckEventsResult};
use factum_model::id::SessionId;
use parking_lot::Mutex;

use super::heartbeat::own_peer;
use crate::caller::Caller;
use crate::commit::Accept;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

/// What was said of a channel and is not handed to the store yet.
#[derive(Default)]
pub(super) struct Acks {
    waiting: Mutex<BTreeMap<String, u64>>,
    /// Held while what was waiting is written.
    writing: tokio::sync::Mutex<()>,
}

impl Acks {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.lock().is_empty()
    }

    fn add(&self, cursors: &BTreeMap<String, u64>) {
        let mut waiting = self.waiting.lock();
        for (stream, sequence) in cursors {
            let known = waiting.entry(stream.clone()).or_default();
            *known = (*known).max(*sequence);
        }
    }

    fn take(&self) -> BTreeMap<String, u64> {
        std::mem::take(&mut self.waiting.lock())
    }
}

impl Handle<AckEvents> for Runtime {
    async fn handle(&self, caller: &Caller, command: AckEvents) -> Result<AckEventsResult, Refusal> {
        let channel_id = &command.channel_id;
        self.hear_from(caller, channel_id).await?;
        let named = |state: &PeerState| Ok(named_sessions(own_peer(state, caller)?.sessions.keys(), &command));
        let (sessions, _) = self.peek(&caller.account, channel_id, named).await?;
        let heads = self.heads(&caller.account, sessions?).await?;
        let shown = command.resume_token.as_deref().map(|token| self.token_ref(caller, channel_id, token));
        let check = |state: &PeerState| check_ack(state, &command, shown.as_deref(), &heads, &caller.principal);
        loop {
            // Not waiting for the commit under way: whoever waits for it could not be taken along behind it.
            let (checked, cell) = self.peek(&caller.account, channel_id, check).await?;
            let checked = checked?;
            let acks = &cell.work.acks;
            acks.add(&checked.cursors);
            {
                let _writing = acks.writing.lock().await;
                let all = acks.take();
                if !all.is_empty() {
                    let decide = |state: &PeerState, context: &mut Context<'_>| ack_events(state, &all, context);
                    self.execute(&caller.account, channel_id, &caller.actor(), &Accept::default(), decide).await?;
                }
            }
            // What somebody else took along is durable now, or their commit failed and this one tries again.
            let settled = |state: &PeerState| {
                let peer = own_peer(state, caller)?;
                let covered = |(stream, sequence): (&String, &u64)| {
                    peer.cursor(stream).is_none_or(|cursor| cursor.acknowledged >= *sequence)
                };
                let all = checked.cursors.iter().all(covered);
                Ok(all.then(|| acknowledged(peer, &checked.about, state.sequence)))
            };
            if let (Some(result), _) = self.look(&caller.account, channel_id, settled).await? {
                return Ok(result);
            }
        }
    }
}

/// The sessions whose heads have to be known: those that are named, or the only one there is.
fn named_sessions<'a>(followed: impl Iterator<Item = &'a SessionId>, command: &AckEvents) -> Vec<SessionId> {
    let mut followed: Vec<SessionId> = followed.cloned().collect();
    if followed.len() > 1 {
        let named = |session_id: &SessionId| {
            command.session_id.as_ref() == Some(session_id) || command.cursors.contains_key(session_id.as_str())
        };
        followed.retain(named);
    }
    followed
}
