//! What a channel is sent: its own events and those of the sessions it follows, each stream in its order, behind its cursor.
//!
//! Nothing is queued here either: each stream is a place in its log, and the streams take turns. A session that the channel
//! begins to follow joins while the stream is open. What the peer itself acknowledged is not sent back to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use factum_engine::peers::{Cursor, PeerState, appear};
use factum_engine::session::SessionState;
use factum_engine::{Context, Decision};
use factum_model::id::{ChannelId, SessionId};
use factum_model::peer::OWN_STREAM;
use factum_model::registry::Scope;
use factum_model::{ErrorCode, Refusal};
use futures::future::{BoxFuture, FutureExt, select_all};

use super::heartbeat::{key_of, own_peer};
use super::presence::{Connection, End, Key};
use crate::caller::Caller;
use crate::commit::Accept;
use crate::hub::Published;
use crate::runtime::Runtime;
use crate::subscribe::Follow;

/// A live view of what a channel is sent. Dropping it is what a lost connection is.
pub struct PeerStream {
    runtime: Runtime,
    caller: Caller,
    channel_id: ChannelId,
    own: Follow<PeerState>,
    sessions: Vec<(SessionId, Follow<SessionState>)>,
    /// Which stream is looked at first.
    turn: usize,
    /// It was sent that it follows other sessions now, which are not taken up yet.
    stale: bool,
    connected: Connected,
}

/// Events of one stream, in order.
pub struct PeerBatch {
    /// A session's id, or [`OWN_STREAM`].
    pub stream: Arc<str>,
    pub events: Vec<Arc<Published>>,
}

/// An open connection; its end is recorded unless another took its place.
struct Connected {
    runtime: Runtime,
    key: Key,
    connection: Connection,
}

impl Drop for Connected {
    fn drop(&mut self) {
        let (runtime, key, number) = (self.runtime.clone(), self.key.clone(), self.connection.number);
        let ended = runtime.clone();
        runtime.spawn(async move { ended.connection_ended(key, number).await });
    }
}

impl Runtime {
    /// Sends a channel what it follows: behind the given places, and behind its own for every stream that is not named.
    pub async fn stream_peer(
        &self,
        caller: &Caller,
        channel_id: &ChannelId,
        cursors: &BTreeMap<String, u64>,
    ) -> Result<PeerStream, Refusal> {
        caller.require(Scope::ChannelsWrite)?;
        caller.require(Scope::SessionsRead)?;
        let own = |state: &PeerState| {
            let peer = own_peer(state, caller)?;
            let streams = peer.streams().map(|(stream, cursor)| (stream.to_owned(), cursor));
            let bridged: Vec<SessionId> = peer.bridged_with().into_iter().collect();
            Ok((streams.collect::<BTreeMap<String, Cursor>>(), bridged, state.sequence))
        };
        let ((known, bridged, own_head), _) = self.look(&caller.account, channel_id, own).await?;
        let sessions: Vec<SessionId> = known.keys().filter_map(|stream| stream.parse().ok()).collect();
        let heads = self.heads(&caller.account, sessions.iter().cloned()).await?;
        let mut places: BTreeMap<String, u64> = known.iter().map(|(name, at)| (name.clone(), at.position)).collect();
        for (stream, sequence) in cursors {
            let place = places.get_mut(stream).ok_or_else(|| {
                Refusal::precondition("the channel does not follow this session; follow_sessions lets it begin")
            })?;
            *place = *sequence;
        }
        for (stream, place) in &places {
            let head = stream.parse().ok().map_or(own_head, |id: SessionId| heads.get(&id).copied().unwrap_or(0));
            let cursor = known.get(stream).copied().unwrap_or_default();
            if !cursor.may_begin(*place, head, self.0.limits.replay_events_max) {
                let message = "not everything behind this cursor can be sent; reconnect_channel says what is missing";
                return Err(Refusal::precondition(message).with("stream", stream.as_str()));
            }
        }
        let connected = self.connect(caller, channel_id).await?;
        self.bridge_back(&caller.account, bridged);
        let place = |stream: &str| places.get(stream).copied().unwrap_or(0);
        let own = self.follow(&caller.account, channel_id, place(OWN_STREAM)).await?;
        let mut followed = Vec::with_capacity(sessions.len());
        for session_id in sessions {
            let after = place(session_id.as_str());
            let follow = self.follow(&caller.account, &session_id, after).await?;
            followed.push((session_id, follow));
        }
        let (runtime, caller, channel_id) = (self.clone(), caller.clone(), channel_id.clone());
        Ok(PeerStream { runtime, caller, channel_id, own, sessions: followed, turn: 0, stale: false, connected })
    }

    async fn connect(&self, caller: &Caller, channel_id: &ChannelId) -> Result<Connected, Refusal> {
        let key = key_of(caller, channel_id);
        let mut opened = None;
        let decide = |state: &PeerState, context: &mut Context<'_>| -> Result<Decision<u64>, Refusal> {
            own_peer(state, caller)?;
            let (connection, sign) = self.0.presence.connect(&key, caller.transport, context.now, self.heartbeat());
            // Held from here on: whatever goes wrong below, its end is taken care of.
            opened = Some(Connected { runtime: self.clone(), key: key.clone(), connection });
            appear(state, sign, context)
        };
        self.execute(&caller.account, channel_id, &caller.actor(), &Accept::default(), decide).await?;
        opened.ok_or_else(|| Refusal::internal("a connection was decided on and not made"))
    }
}

impl PeerStream {
    pub fn channel_id(&self) -> &ChannelId {
        &self.channel_id
    }

    /// The next events, at least one, all of one stream. Waits where there are none yet; dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<PeerBatch, Refusal> {
        loop {
            let ready = match self.connected.connection.ended() {
                Some(End::Replaced) => return Err(replaced()),
                // Everything that closing brought with it is recorded by now, and is the last that the channel is sent.
                Some(End::Closed) => Some(self.own.is_ready().then_some(0).ok_or_else(closed)?),
                None => {
                    if self.stale {
                        self.refresh().await?;
                        self.stale = false;
                    }
                    self.ready()
                }
            };
            let Some(at) = ready else {
                self.wait().await;
                continue;
            };
            self.turn = at + 1;
            let batch = if at == 0 { self.next_own().await? } else { self.next_of(at - 1).await? };
            if !batch.events.is_empty() {
                return Ok(batch);
            }
        }
    }

    /// The stream that has something, each of them first in its turn.
    fn ready(&self) -> Option<usize> {
        let count = self.sessions.len() + 1;
        let is_ready = |at: &usize| match at.checked_sub(1) {
            None => self.own.is_ready(),
            Some(at) => self.sessions[at].1.is_ready(),
        };
        (0..count).map(|step| (self.turn + step) % count).find(is_ready)
    }

    /// Waits until any stream has something, or until somebody ended this connection.
    async fn wait(&self) {
        let ended = self.connected.connection.until_ended();
        let mut streams: Vec<BoxFuture<'_, ()>> = vec![ended.boxed(), self.own.ready().boxed()];
        streams.extend(self.sessions.iter().map(|(_, follow)| follow.ready().boxed()));
        select_all(streams).await;
    }

    async fn next_of(&mut self, at: usize) -> Result<PeerBatch, Refusal> {
        let (session_id, follow) = &mut self.sessions[at];
        let events = follow.next().await?;
        Ok(PeerBatch { stream: session_id.shared(), events })
    }

    async fn next_own(&mut self) -> Result<PeerBatch, Refusal> {
        let mut events = self.own.next().await?;
        // Looked at before the next ones: whoever drops this future has the events, or nothing was taken.
        self.stale |= events.iter().any(|event| is(event, FOLLOWING));
        events.retain(|event| !is(event, &["channel.acknowledged"]));
        Ok(PeerBatch { stream: OWN_STREAM.into(), events })
    }

    /// Takes up what is followed now and lets go of what is not.
    async fn refresh(&mut self) -> Result<(), Refusal> {
        let own = |state: &PeerState| {
            let sessions = state.of(&self.caller.principal).ok_or_else(Refusal::not_found)?.sessions.iter();
            Ok(sessions.map(|(id, followed)| (id.clone(), followed.cursor.position)).collect::<BTreeMap<_, _>>())
        };
        let (now, _) = self.runtime.look(&self.caller.account, &self.channel_id, own).await?;
        self.sessions.retain(|(session_id, _)| now.contains_key(session_id));
        for (session_id, after) in now {
            if !self.sessions.iter().any(|(known, _)| *known == session_id) {
                let follow = self.runtime.follow(&self.caller.account, &session_id, after).await?;
                self.sessions.push((session_id, follow));
            }
        }
        Ok(())
    }
}

/// The facts that change what is followed.
const FOLLOWING: &[&str] = &["channel.connected", "channel.followed", "channel.unfollowed", "channel.disconnected"];

/// Whether an event is of one of these types. The type is the first member of every event, see `Event::encode`.
fn is(event: &Published, types: &[&str]) -> bool {
    let Some(rest) = event.json.strip_prefix(b"{\"type\":\"") else { return false };
    types.iter().any(|name| rest.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'"')))
}

fn closed() -> Refusal {
    Refusal::precondition("this channel was closed; enroll_channel opens it again").with("cause", "closed")
}

fn replaced() -> Refusal {
    let message = "another connection of this channel took the place of this one";
    Refusal::new(ErrorCode::Conflict, message).with("cause", "replaced")
}
