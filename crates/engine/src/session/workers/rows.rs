//! The rows runs are found by: those that wait, by queue; those that are held, by lease; all of them, by id.

use factum_model::Timestamp;
use factum_model::id::{RunId, SessionId};
use factum_model::task::Priority;
use serde::{Deserialize, Serialize};

use super::super::state::Shell;
use crate::key::{Key, KeyReader, row_bytes};

/// The keys.
pub mod keys {
    use super::*;

    /// Runs that wait for a worker: by queue, then by what a worker has to be able to do, then by priority and age. Those of one
    /// instant are in the order of their facts.
    pub fn ready(key: &ReadyKey) -> Vec<u8> {
        let group = Key::table("ready").text(&key.account).text(&key.queue).text(&key.capabilities.join(","));
        let aged = group.number(u64::from(urgency(key.priority))).instant(key.since);
        // Older versions wrote none.
        let ordered = if key.sequence == 0 { aged } else { aged.number(key.sequence) };
        ordered.text(key.run_id.as_str()).into_bytes()
    }

    /// All that wait in a queue.
    pub fn ready_in(account: &str, queue: &str) -> Vec<u8> {
        Key::table("ready").text(account).text(queue).into_bytes()
    }

    /// Those of them that ask for exactly these capabilities.
    pub fn ready_group(account: &str, queue: &str, capabilities: &[String]) -> Vec<u8> {
        Key::table("ready").text(account).text(queue).text(&capabilities.join(",")).into_bytes()
    }

    pub fn read_ready(key: &[u8]) -> Option<ReadyKey> {
        let mut reader = KeyReader::new(key);
        reader.text().filter(|table| *table == "ready")?;
        let (account, queue) = (reader.text()?.to_owned(), reader.text()?.to_owned());
        let capabilities = reader.text()?.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let priority = priority(reader.number()?)?;
        let since = Timestamp::from_millisecond(i64::try_from(reader.number()?).ok()?).ok()?;
        // A sequence begins with a zero, being far from the largest; an id does not.
        let sequence = if reader.rest().first() == Some(&0) { reader.number()? } else { 0 };
        Some(ReadyKey { account, queue, capabilities, priority, since, sequence, run_id: reader.text()?.parse().ok()? })
    }

    /// Runs that a worker holds.
    pub fn lease(account: &str, run_id: &RunId) -> Vec<u8> {
        Key::table("lease").text(account).text(run_id.as_str()).into_bytes()
    }

    pub fn leases() -> Vec<u8> {
        Key::table("lease").into_bytes()
    }

    /// The account and run of a lease's key.
    pub fn read_lease(key: &[u8]) -> Option<(String, RunId)> {
        let mut reader = KeyReader::new(key);
        reader.text().filter(|table| *table == "lease")?;
        Some((reader.text()?.to_owned(), reader.text()?.parse().ok()?))
    }

    /// Where a run is, ended ones too.
    pub fn run(account: &str, run_id: &RunId) -> Vec<u8> {
        Key::table("run").text(account).text(run_id.as_str()).into_bytes()
    }
}

/// A run that waits. Capabilities are sorted, without duplicates, and hold no comma.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyKey {
    pub account: String,
    pub queue: String,
    pub capabilities: Vec<String>,
    pub priority: Priority,
    pub since: Timestamp,
    /// Of the fact that made it ready; 0 where an older version kept none.
    pub sequence: u64,
    pub run_id: RunId,
}

/// Since when a run waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Ready {
    pub(in super::super) at: Timestamp,
    pub(in super::super) sequence: u64,
}

/// Where a run is: the value of a `ready` and of a `run` key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRow {
    pub session_id: SessionId,
}

/// A lease as it was given. When it runs out is not here: heartbeats move that, and after a restart every lease begins anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRow {
    pub session_id: SessionId,
    pub token: u64,
    pub lease_ms: u64,
}

/// The row of a run that waits.
pub(in super::super) fn ready_row(
    shell: &Shell,
    queue: &str,
    capabilities: &[String],
    priority: Priority,
    since: Ready,
    run_id: &RunId,
) -> (Vec<u8>, Vec<u8>) {
    let mut capabilities = capabilities.to_vec();
    capabilities.sort();
    capabilities.dedup();
    let key = ReadyKey {
        account: shell.account.clone(),
        queue: queue.to_owned(),
        capabilities,
        priority,
        since: since.at,
        sequence: since.sequence,
        run_id: run_id.clone(),
    };
    (keys::ready(&key), row_bytes(&RunRow { session_id: shell.session_id.clone() }))
}

/// The row of a run that is held.
pub(in super::super) fn lease_row(shell: &Shell, run_id: &RunId, token: u64, lease_ms: u64) -> (Vec<u8>, Vec<u8>) {
    let row = LeaseRow { session_id: shell.session_id.clone(), token, lease_ms };
    (keys::lease(&shell.account, run_id), row_bytes(&row))
}

const PRIORITIES: [Priority; 4] = [Priority::Urgent, Priority::High, Priority::Normal, Priority::Low];

/// Smaller goes first.
fn urgency(priority: Priority) -> u8 {
    PRIORITIES.iter().position(|one| *one == priority).map_or(0, |at| at as u8)
}

fn priority(urgency: u64) -> Option<Priority> {
    PRIORITIES.get(usize::try_from(urgency).ok()?).copied()
}
