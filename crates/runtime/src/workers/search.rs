//! How a worker finds the next run: from its queues in turn, and in each the most urgent, then oldest, that it can do.
//!
//! A queue's rows stand in groups by what they ask for; groups that the worker cannot do are leapt over, never read. Of each
//! other group only the head is read, up to the first row that nobody else has reserved.

use std::cmp::Reverse;
use std::sync::Arc;

use bytes::Bytes;
use factum_engine::session::workers::{ReadyKey, RunRow, keys};
use factum_model::Refusal;
use factum_model::id::SessionId;
use factum_store::{Direction, Scan};
use rustc_hash::FxHashSet;

use super::groups::{next, satisfies};
use super::reserved::Reservation;
use crate::error::read_refusal;
use crate::peers::Turn;
use crate::runtime::Runtime;

/// How many rows of a group are read at first. Each further page is twice as long, up to the longest.
const PAGE: usize = 4;
const PAGE_MAX: usize = 256;

/// A worker that looks for runs.
pub(super) struct Seeker {
    pub(super) account: Arc<str>,
    /// Those of its queues that it wants runs from now.
    pub(super) queues: Vec<String>,
    /// Sorted.
    pub(super) capabilities: Arc<[String]>,
}

/// A run that is ready, reserved for whoever found it.
pub(super) struct Found<'a> {
    pub(super) ready: ReadyKey,
    pub(super) session_id: SessionId,
    pub(super) reservation: Reservation<'a>,
}

/// A row that nobody has reserved.
struct Head {
    ready: ReadyKey,
    key: Bytes,
    row: Bytes,
}

impl Runtime {
    /// The next run for a worker, from the queue whose turn it is or the first behind it that has one. `passed` are rows
    /// that turned out to be no longer ready.
    pub(super) async fn find_run(
        &self,
        seeker: &Seeker,
        turn: &Turn,
        passed: &FxHashSet<Vec<u8>>,
    ) -> Result<Option<Found<'_>>, Refusal> {
        let (count, first) = (seeker.queues.len(), turn.get());
        for at in (0..count).map(|step| first.wrapping_add(step) % count) {
            if let Some(found) = self.find_in(seeker, &seeker.queues[at], passed).await? {
                turn.set(at + 1);
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    async fn find_in(
        &self,
        seeker: &Seeker,
        queue: &str,
        passed: &FxHashSet<Vec<u8>>,
    ) -> Result<Option<Found<'_>>, Refusal> {
        // Ends: a reservation that was not got is somebody else's progress.
        while let Some(head) = self.best_in(seeker, queue, passed).await? {
            if let Some(reservation) = self.0.workers.reserve(&head.key) {
                let row: RunRow = serde_json::from_slice(&head.row)
                    .map_err(|error| Refusal::internal(format!("ready row: {error}")))?;
                return Ok(Some(Found { ready: head.ready, session_id: row.session_id, reservation }));
            }
        }
        Ok(None)
    }

    /// The best of all heads.
    async fn best_in(
        &self,
        seeker: &Seeker,
        queue: &str,
        passed: &FxHashSet<Vec<u8>>,
    ) -> Result<Option<Head>, Refusal> {
        let mut best: Option<Head> = None;
        let mut from = Some(String::new());
        while let Some(group) = from {
            let Some(there) = self.group_from(seeker, queue, &group).await? else { break };
            if satisfies(&seeker.capabilities, &there)
                && let Some(head) = self.head_of(seeker, queue, &there, passed).await?
                && best.as_ref().is_none_or(|best| rank(&head.ready) < rank(&best.ready))
            {
                best = Some(head);
            }
            from = next(&seeker.capabilities, &there.join(","));
        }
        Ok(best)
    }

    /// The first group that is there, at `group` or behind it.
    async fn group_from(&self, seeker: &Seeker, queue: &str, group: &str) -> Result<Option<Vec<String>>, Refusal> {
        let prefix = keys::ready_in(&seeker.account, queue);
        let first = [prefix.as_slice(), group.as_bytes(), &[0]].concat();
        let known = self.0.workers.heads.start(&first).after;
        let after = known.unwrap_or_else(|| [prefix.as_slice(), group.as_bytes()].concat().into());
        let rows = self.ready_rows(prefix, Some(after), 1).await?;
        Ok(rows.first().and_then(|(key, _)| keys::read_ready(key)).map(|ready| ready.capabilities))
    }

    /// The first row of a group that nobody has reserved.
    async fn head_of(
        &self,
        seeker: &Seeker,
        queue: &str,
        group: &[String],
        passed: &FxHashSet<Vec<u8>>,
    ) -> Result<Option<Head>, Refusal> {
        let prefix = keys::ready_group(&seeker.account, queue, group);
        let start = self.0.workers.heads.start(&prefix);
        let (mut after, mut page, mut first) = (start.after.clone(), PAGE, true);
        loop {
            let rows = self.ready_rows(prefix.clone(), after, page).await?;
            if std::mem::take(&mut first) {
                self.0.workers.heads.found(&prefix, &start, rows.first().map(|(key, _)| key));
            }
            let full = rows.len() == page;
            after = rows.last().map(|(key, _)| key.clone());
            for (key, row) in rows {
                if self.0.workers.reserved.contains(&key) || passed.contains(&*key) {
                    continue;
                }
                if let Some(ready) = keys::read_ready(&key) {
                    return Ok(Some(Head { ready, key, row }));
                }
            }
            if !full {
                return Ok(None);
            }
            page = (page * 2).min(PAGE_MAX);
        }
    }

    async fn ready_rows(
        &self,
        prefix: Vec<u8>,
        after: Option<Bytes>,
        limit: usize,
    ) -> Result<Vec<(Bytes, Bytes)>, Refusal> {
        let scan = Scan { prefix: prefix.into(), after, until: None, direction: Direction::Forward, limit };
        self.0.store.scan(scan).await.map_err(|error| read_refusal(&error))
    }
}

/// Smaller goes first.
fn rank(ready: &ReadyKey) -> impl Ord + use<> {
    (Reverse(ready.priority), ready.since, ready.run_id.clone())
}
