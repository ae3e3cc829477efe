//! What sessions know of the channels of A2A: the tasks that crossed them, and what was asked across. It stands in the facts of
//! the sessions alone, so that a message costs one commit; whoever asks for a channel's summary has it put together here.

use std::collections::BTreeMap;
use std::sync::Arc;

use factum_engine::peers::{
    Derived, FromSessions, Heads, Peer, asked_of_client, given_to_peer, linked_by_client, reachable,
};
use factum_engine::session::SessionState;
use factum_engine::session::tasks::inbound::{InboundRow, keys};
use factum_model::id::SessionId;
use factum_model::peer::{FollowedSession, PeerTask};
use factum_model::task::TaskStatus;
use factum_model::{ErrorCode, Event, Fact, Refusal};
use factum_store::{Direction, ReadLimit, Scan};

use crate::aggregate::Aggregate;
use crate::error::read_refusal;
use crate::runtime::Runtime;

/// The most tasks that a summary shows: those that are open, then the newest of the others.
const TASKS_SHOWN_MAX: usize = 256;
/// How many of a client's tasks are looked at for it, newest change first.
const TASKS_LOOKED_AT_MAX: usize = 4_096;

impl Runtime {
    /// Nothing for a channel that somebody enrolled: its own stream has everything.
    pub(super) async fn told_by_sessions(&self, account: &Arc<str>, peer: &Peer) -> Result<FromSessions, Refusal> {
        match peer.derived() {
            None => Ok(FromSessions::default()),
            Some(Derived::Client) => self.told_by_rows(account, peer).await,
            Some(Derived::SpokenTo) => self.told_by_delegations(account, peer).await,
        }
    }

    /// The tasks that a client gave to us.
    async fn told_by_rows(&self, account: &Arc<str>, peer: &Peer) -> Result<FromSessions, Refusal> {
        let protocol = peer.identity.native_protocol.as_deref().unwrap_or_default();
        let rows = self.newest(keys::all_changed(account, protocol, &peer.principal)).await?;
        let mut found = FromSessions { last_seen_at: rows.first().map(|row| row.status_at), ..FromSessions::default() };
        let mut since: BTreeMap<SessionId, u64> = BTreeMap::new();
        for row in shown(rows) {
            let before = row.first_sequence.saturating_sub(1);
            since.entry(row.session_id.clone()).and_modify(|since| *since = before.min(*since)).or_insert(before);
            // Its client is shown the oldest question, and what it is asked permission for may be behind that.
            if matches!(row.status, TaskStatus::WaitingInput | TaskStatus::WaitingPermission) {
                let asked = |state: &SessionState| Ok(asked_of_client(state, &row.task_id));
                found
                    .permission_bridge
                    .extend(self.of_session(account, &row.session_id, asked).await?.unwrap_or_default());
            }
            if let Some(linked) = self.linked(account, &row).await? {
                found.peer_tasks.push(linked_by_client(&row, linked));
            }
        }
        found.sessions = followed(&since, &self.heads(account, since.keys().cloned()).await?);
        Ok(found)
    }

    /// The tasks that a peer does for us, as long as they are open.
    async fn told_by_delegations(&self, account: &Arc<str>, peer: &Peer) -> Result<FromSessions, Refusal> {
        let key = (account.clone(), peer.channel_id.clone());
        let mut found = FromSessions::default();
        let mut since: BTreeMap<SessionId, u64> = BTreeMap::new();
        for (session_id, run_id) in self.0.open_delegations.of(&key, TASKS_SHOWN_MAX) {
            let given = |state: &SessionState| Ok(given_to_peer(state, &run_id));
            let Some(Some((task, question))) = self.of_session(account, &session_id, given).await? else { continue };
            since.insert(session_id, 0);
            found.peer_tasks.push(task);
            found.permission_bridge.extend(question);
        }
        found.state = reachable(&found.peer_tasks);
        found.sessions = followed(&since, &self.heads(account, since.keys().cloned()).await?);
        Ok(found)
    }

    /// The rows of a client's tasks, newest change first.
    async fn newest(&self, prefix: Vec<u8>) -> Result<Vec<InboundRow>, Refusal> {
        let (prefix, direction, limit) = (prefix.into(), Direction::Forward, TASKS_LOOKED_AT_MAX);
        let scan = Scan { prefix, after: None, until: None, direction, limit };
        let rows = self.0.store.scan(scan).await.map_err(|error| read_refusal(&error))?;
        let rows: Result<Vec<InboundRow>, _> = rows.iter().map(|(_, row)| serde_json::from_slice(row)).collect();
        rows.map_err(|error| Refusal::internal(format!("inbound row: {error}")))
    }

    /// The fact that linked a task, as far as it is about the peer's side.
    async fn linked(&self, account: &Arc<str>, row: &InboundRow) -> Result<Option<PeerTask>, Refusal> {
        let stream = SessionState::stream(account, &row.session_id);
        let records = self.0.store.read(&stream, row.first_sequence, ReadLimit::records(1)).await;
        let records = records.map_err(|error| read_refusal(&error))?;
        let event = records.first().and_then(|record| Event::decode(&record.bytes).ok());
        Ok(event.and_then(|event| match event.fact {
            Fact::ChannelPeerTaskLinked(fact) => Some(fact.peer_task),
            _ => None,
        }))
    }

    /// What a session says; nothing where it is not there any more.
    async fn of_session<T>(
        &self,
        account: &Arc<str>,
        session_id: &SessionId,
        look: impl Fn(&SessionState) -> Result<T, Refusal>,
    ) -> Result<Option<T>, Refusal> {
        match self.look(account, session_id, look).await {
            Ok((found, _)) => Ok(Some(found)),
            Err(refusal) if refusal.code == ErrorCode::NotFound => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }
}

/// The open ones first: none of them is left out for one that is over.
fn shown(rows: Vec<InboundRow>) -> impl Iterator<Item = InboundRow> {
    let over = |row: &InboundRow| row.status.is_terminal() || row.status == TaskStatus::Archived;
    let (over, open): (Vec<_>, Vec<_>) = rows.into_iter().partition(over);
    open.into_iter().chain(over).take(TASKS_SHOWN_MAX)
}

/// A2A has no acknowledgements: what a peer has taken in of a session is what was there before it took part.
fn followed(since: &BTreeMap<SessionId, u64>, heads: &Heads) -> Vec<FollowedSession> {
    let followed = |(session_id, since): (&SessionId, &u64)| FollowedSession {
        session_id: session_id.clone(),
        since_sequence: *since,
        last_acknowledged_sequence: *since,
        head_sequence: heads.get(session_id).copied().unwrap_or(0),
    };
    since.iter().map(followed).collect()
}
