//! What is remembered of a peer between commands: who it is, what it follows and up to where, and what it was asked to decide.

use std::collections::{BTreeMap, BTreeSet};

use factum_model::id::{ActionId, ChannelId, SessionId};
use factum_model::peer::{
    ChannelIdentity, ChannelState, OWN_STREAM, PERMISSIONS, PeerRole, PeerTaskLink, PermissionBridge,
};
use factum_model::{Refusal, Scope, Timestamp};
use serde::{Deserialize, Serialize};

use super::push_ahead::PushAhead;

/// Decided questions kept at hand for the summary; all of them are in the log.
pub(super) const DECIDED_KEPT_MAX: usize = 32;

/// Tasks of peers kept at hand; all of them are in the log.
pub(super) const PEER_TASKS_KEPT_MAX: usize = 256;

/// A remote channel as it stands at `sequence`. `peer` is absent before the first event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PeerState {
    pub sequence: u64,
    pub peer: Option<Peer>,
}

/// Who is on the other end, and what is between us.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    pub account: String,
    pub channel_id: ChannelId,
    /// Whose channel it is. For every other principal it does not exist.
    pub principal: String,
    pub identity: ChannelIdentity,
    pub enrolled_at: Timestamp,
    /// When the last fact was recorded. Time never runs backwards within a channel.
    pub updated_at: Timestamp,
    /// When it last showed that it is there, as far as facts say so: what is recorded of it by others is no sign of life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<Timestamp>,
    /// `connected` or `disconnected`: what was recorded last. Whether it is true now is the shell's to know.
    pub state: ChannelState,
    /// It left for good and has to enroll again.
    pub closed: bool,
    /// Its place in its own stream.
    pub own: Cursor,
    pub sessions: BTreeMap<SessionId, Followed>,
    /// What it was asked to decide: everything open, and the last few that are decided.
    pub bridge: Vec<Bridged>,
    pub peer_tasks: Vec<PeerTaskLink>,
    /// Where it wants to be told of tasks that it has not sent yet, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub push_ahead: Vec<PushAhead>,
}

/// A peer's place in a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// What it said it has taken in. Never goes back.
    pub acknowledged: u64,
    /// What it is sent begins behind this one. Before `acknowledged` only where a peer came back and asked for it; behind
    /// what it acknowledged where the rest was too much to replay, until it says that it took that in some other way.
    pub position: u64,
    /// Where the peer was last told to go on, when it came back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<u64>,
}

impl Cursor {
    /// Whether a peer that stands here may begin behind `place`. What is too far behind has to be said to be missing first. A
    /// peer that was told where to go on may do so, although the log has grown since: by its own coming back, if by nothing
    /// else.
    pub fn may_begin(&self, place: u64, head: u64, replay_max: u64) -> bool {
        let told = self.resumed.filter(|resumed| place >= *resumed);
        place <= head
            && (head - place <= replay_max
                || told.is_some_and(|resumed| head.saturating_sub(resumed) <= replay_max.saturating_mul(2)))
    }
}

/// A session that a channel takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Followed {
    /// Following began behind this one.
    pub since: u64,
    pub cursor: Cursor,
}

/// A question that crossed the channel, and what it was about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bridged {
    pub entry: PermissionBridge,
    pub scope: Scope,
}

impl Peer {
    /// The sessions that it was asked to decide something in, and has not.
    pub fn asked_about(&self) -> BTreeSet<SessionId> {
        let open = self.bridge.iter().filter(|bridged| bridged.entry.decision.is_none());
        open.filter_map(|bridged| bridged.entry.session_id.clone()).collect()
    }

    /// The sessions whose questions are brought to it: those that it decides in, and those that it was asked about before. It
    /// hears how that came out, whatever it follows and whatever it decides by then.
    pub fn bridged_with(&self) -> BTreeSet<SessionId> {
        let decided = self.sessions.keys().filter(|session_id| self.decides_in(session_id)).cloned();
        self.asked_about().into_iter().chain(decided).collect()
    }

    /// Whether it is asked what anybody may decide in a session.
    pub fn decides_in(&self, session_id: &SessionId) -> bool {
        self.decides() && self.sessions.contains_key(session_id)
    }
}

impl PeerState {
    /// The peer, for the principal that enrolled it.
    pub fn of(&self, principal: &str) -> Option<&Peer> {
        self.peer.as_ref().filter(|peer| peer.principal == principal)
    }

    /// The peer, for those who may read of it: a peer that we speak to is nobody's own.
    pub fn read_by(&self, principal: &str) -> Option<&Peer> {
        self.peer.as_ref().filter(|peer| peer.principal == principal || peer.is_spoken_to())
    }

    /// The peer, for the principal that enrolled it, where it has to be there and has not left.
    pub(super) fn open_of(&self, principal: &str) -> Result<&Peer, Refusal> {
        self.of(principal).ok_or_else(Refusal::not_found)?.check_open()
    }
}

impl Peer {
    pub fn is_worker(&self) -> bool {
        self.identity.peer_role == PeerRole::Worker
    }

    /// Whether it decides what its turns ask permission for.
    pub fn decides(&self) -> bool {
        self.identity.capabilities.iter().any(|capability| capability == PERMISSIONS)
    }

    pub fn check_open(&self) -> Result<&Self, Refusal> {
        if self.closed {
            return Err(Refusal::precondition("this channel was closed; enroll_channel opens it again"));
        }
        Ok(self)
    }

    /// Its place in a stream it is sent.
    pub fn cursor(&self, stream: &str) -> Option<Cursor> {
        if stream == OWN_STREAM {
            return Some(self.own);
        }
        self.sessions.get(&stream.parse().ok()?).map(|followed| followed.cursor)
    }

    pub(super) fn cursor_mut(&mut self, stream: &str) -> Option<&mut Cursor> {
        if stream == OWN_STREAM {
            return Some(&mut self.own);
        }
        self.sessions.get_mut(&stream.parse().ok()?).map(|followed| &mut followed.cursor)
    }

    /// Every stream it is sent, its own first.
    pub fn streams(&self) -> impl Iterator<Item = (&str, Cursor)> {
        let sessions = self.sessions.iter().map(|(id, followed)| (id.as_str(), followed.cursor));
        std::iter::once((OWN_STREAM, self.own)).chain(sessions)
    }

    pub fn open_question(&self, action_id: &ActionId) -> Option<&Bridged> {
        self.bridge.iter().find(|bridged| bridged.entry.decision.is_none() && bridged.entry.action_id == *action_id)
    }
}
