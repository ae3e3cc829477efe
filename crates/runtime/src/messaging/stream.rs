//! `channels/stream`: a channel followed from any message into live, for as long as the caller may see it.
//!
//! A stream reads the same log as everyone, in order. So the fact that takes its caller out of the channel comes to it at
//! the very place where it stands among the messages, and nothing behind it is delivered. A stream that is still on its way
//! there is told as well: from then on it delivers nothing, as a call would be answered nothing (seed 002 §10: the same
//! auth). Facts from before the stream began do not count: who was taken out once and is a member again may read all there is.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use factum_engine::messaging::{ChannelState, Operation, allow, control_view, message_view};
use factum_model::id::MessagingChannelId;
use factum_model::messaging::{PresenceEvent, PresenceEventKind, StreamChannel, StreamEnvelope};
use factum_model::registry::Scope;
use factum_model::{ErrorCode, Event, Fact, Refusal};
use factum_store::ReadLimit;
use tokio::sync::broadcast;

use super::pass::ChannelPass;
use super::presence::Change;
use crate::caller::Caller;
use crate::hub::Published;
use crate::runtime::Runtime;
use crate::subscribe::Follow;

/// What comes at once. Whoever does not read is left with that much in hand, and may be taken out meanwhile: the place of the
/// caller is looked at once for each. The channel's own log is read in the same pieces, so that nothing waits behind them.
const BATCH: ReadLimit = ReadLimit { records: 128, bytes: 32 << 10 };

/// One entry of a stream: an envelope as JSON, and its place where it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelItem {
    pub place: Option<ChannelPlace>,
    pub json: Bytes,
}

/// Where a fact stands in a channel: what a client that comes back goes on behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelPlace {
    /// A message, by its number. Everything before it was seen.
    Message { sequence: u64 },
    /// A change of the channel, behind this many messages. Messages have numbers of their own without a gap, so a change is
    /// told apart from others at the same place by the version it made.
    Change { after_sequence: u64, version: u64 },
}

impl ChannelItem {
    /// Its number, where it is a message.
    pub fn sequence(&self) -> Option<u64> {
        match self.place {
            Some(ChannelPlace::Message { sequence }) => Some(sequence),
            Some(ChannelPlace::Change { .. }) | None => None,
        }
    }
}

/// What a stored fact is to those who follow the channel. Made by the first of them, shared by all.
#[derive(Debug)]
pub(crate) enum Entry {
    Message(ChannelItem),
    Control {
        item: ChannelItem,
        /// The channel's from here on.
        version: u64,
        ends: Ends,
    },
    /// Nothing to anyone.
    Hidden,
}

/// Whose streams end at a fact.
#[derive(Debug)]
pub(crate) enum Ends {
    Nobodys,
    Of(String),
    Everybodys,
}

/// A channel being followed.
pub struct ChannelStream {
    follow: Follow<ChannelState>,
    runtime: Runtime,
    principal: Arc<str>,
    channel_id: MessagingChannelId,
    /// The stream's sequence up to which the caller was known to be allowed.
    allowed_at: u64,
    /// Changes behind this version are delivered; none, where they were not asked for.
    changes_behind: Option<u64>,
    presence: Option<broadcast::Receiver<Change>>,
    /// What was taken from the log and not yet given: kept here while the caller's place is looked at once more.
    taken: Vec<ChannelItem>,
    pass: Arc<ChannelPass>,
    ended: bool,
}

impl Runtime {
    /// Follows a channel.
    pub async fn stream_channel(&self, caller: &Caller, params: &StreamChannel) -> Result<ChannelStream, Refusal> {
        caller.require(Scope::MessagingRead)?;
        let channel_id = self.target_to_read(caller, params.channel_id.as_ref(), params.peer.as_deref()).await?;
        let may = |state: &ChannelState| {
            allow(state, &caller.principal, Operation::Stream)?;
            let version = state.shell.as_ref().map_or(0, |shell| shell.version);
            Ok((state.sequence, state.message_count, version))
        };
        let ((allowed_at, messages, version), _) = self.look(&caller.account, &channel_id, may).await?;
        if params.since_version.is_some() && params.since_sequence.is_none() {
            return Err(Refusal::invalid(
                "sinceVersion goes with sinceSequence: without it nothing from before is sent",
            ));
        }
        if params.since_version.is_some_and(|since| since > version) {
            let message = format!("sinceVersion is ahead of the channel, whose version is {version}");
            return Err(Refusal::invalid(message).with("version", version));
        }
        let after = match params.since_sequence {
            None => allowed_at,
            Some(0) => 0,
            Some(since) if since > messages => {
                let message = format!("sinceSequence is ahead of the channel, whose last message is {messages}");
                return Err(Refusal::invalid(message).with("messageCount", messages));
            }
            Some(since) => self.place_of(&caller.account, &channel_id, since).await?,
        };
        let follow: Follow<ChannelState> = self.follow(&caller.account, &channel_id, after).await?;
        let follow = follow.in_batches_of(BATCH);
        let presence = params.presence.unwrap_or(false).then(|| follow.cell.work.changes());
        follow.cell.work.enter(&caller.principal, self.now());
        let pass = Arc::new(ChannelPass::new(self, &follow.cell, &caller.principal, &channel_id));
        Ok(ChannelStream {
            follow,
            runtime: self.clone(),
            principal: caller.principal.clone(),
            channel_id,
            allowed_at,
            changes_behind: params.control_events.unwrap_or(false).then(|| params.since_version.unwrap_or(0)),
            presence,
            taken: Vec::new(),
            pass,
            ended: false,
        })
    }
}

impl ChannelStream {
    pub fn channel_id(&self) -> &MessagingChannelId {
        &self.channel_id
    }

    /// The caller's leave to follow, for whoever sends entries later than they are taken.
    pub fn pass(&self) -> Arc<ChannelPass> {
        self.pass.clone()
    }

    /// What comes next, at least one entry, in order. Refuses when the caller may not see the channel any longer. Dropping
    /// the future loses nothing.
    pub async fn next(&mut self) -> Result<Vec<ChannelItem>, Refusal> {
        loop {
            if !self.taken.is_empty() {
                self.still_allowed().await?;
                return Ok(std::mem::take(&mut self.taken));
            }
            if self.ended {
                return Err(self.why_ended().await);
            }
            self.taken = tokio::select! {
                events = self.follow.next() => self.items(&events?),
                change = next_change(&mut self.presence) => vec![presence_item(&self.channel_id, &change)],
            };
        }
    }

    /// What a call would be told now. A caller who was taken out and may read again, or still, because the channel is public,
    /// is told what happened to the stream.
    async fn why_ended(&self) -> Refusal {
        match self.pass.look().await {
            Err(refusal) => refusal,
            Ok(()) => Refusal::new(
                ErrorCode::PermissionDenied,
                "you were taken out of this channel, which ended the stream; open another one to go on as who you are now",
            ),
        }
    }

    async fn still_allowed(&mut self) -> Result<(), Refusal> {
        let passed = self.pass.check().await;
        if passed.is_err() {
            self.taken.clear();
            self.ended = true;
        }
        passed
    }

    fn items(&mut self, events: &[Arc<Published>]) -> Vec<ChannelItem> {
        let mut items = Vec::with_capacity(events.len());
        for event in events {
            match event.channel_entry() {
                Entry::Hidden => {}
                Entry::Message(item) => items.push(item.clone()),
                Entry::Control { item, version, ends } => {
                    if event.sequence > self.allowed_at && ends.is_of(&self.principal) {
                        self.ended = true;
                        break;
                    }
                    if self.changes_behind.is_some_and(|seen| *version > seen) {
                        items.push(item.clone());
                    }
                }
            }
        }
        items
    }
}

impl Drop for ChannelStream {
    fn drop(&mut self) {
        self.follow.cell.work.leave(&self.principal, self.runtime.now());
    }
}

impl Ends {
    fn is_of(&self, principal: &str) -> bool {
        match self {
            Self::Nobodys => false,
            Self::Of(removed) => removed == principal,
            Self::Everybodys => true,
        }
    }
}

/// Where an entry is kept with the event it was made of.
pub(crate) type EntrySlot = OnceLock<Box<Entry>>;

impl Entry {
    /// A fact that cannot be read is nothing to those who follow; whoever asks for a page of it is told.
    pub(crate) fn of(json: &[u8]) -> Self {
        let Ok(event) = Event::decode(json) else { return Self::Hidden };
        if let Some(event) = message_view(&event) {
            let place = ChannelPlace::Message { sequence: event.sequence };
            return envelope(&StreamEnvelope::MessageEvent { event }, Some(place)).map_or(Self::Hidden, Self::Message);
        }
        let ends = match &event.fact {
            Fact::MessagingMemberRemoved(fact) => Ends::Of(fact.principal.clone()),
            Fact::MessagingChannelDeleted(_) => Ends::Everybodys,
            _ => Ends::Nobodys,
        };
        let Some(event) = control_view(&event) else { return Self::Hidden };
        let (after_sequence, version) = (event.after_sequence, event.version);
        let place = ChannelPlace::Change { after_sequence, version };
        let item = envelope(&StreamEnvelope::ControlEvent { event }, Some(place));
        item.map_or(Self::Hidden, |item| Self::Control { item, version, ends })
    }
}

fn envelope(envelope: &StreamEnvelope, place: Option<ChannelPlace>) -> Option<ChannelItem> {
    Some(ChannelItem { place, json: serde_json::to_vec(envelope).ok()?.into() })
}

fn presence_item(channel_id: &MessagingChannelId, change: &Change) -> ChannelItem {
    let event = PresenceEvent {
        channel_id: channel_id.clone(),
        principal_id: change.principal.to_string(),
        state: change.state,
        timestamp: change.at.as_millisecond(),
        kind: PresenceEventKind::PresenceEvent,
    };
    // A struct of texts and numbers always serializes.
    envelope(&StreamEnvelope::PresenceEvent { event }, None)
        .unwrap_or_else(|| ChannelItem { place: None, json: Bytes::new() })
}

/// The next change of presence; never, where it was not asked for.
async fn next_change(changes: &mut Option<broadcast::Receiver<Change>>) -> Change {
    let Some(changes) = changes else { return std::future::pending().await };
    loop {
        match changes.recv().await {
            Ok(change) => return change,
            // Who was missed can be asked for; what comes is what is new.
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return std::future::pending().await,
        }
    }
}
