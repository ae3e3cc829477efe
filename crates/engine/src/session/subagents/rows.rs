//! The rows child agents are found by: each by its id, and lists of ids by what they stand below.
//!
//! The lists are written once, with the spawn. The row of an id says where the child is; what became of it is added when it
//! is closed and leaves the state.

use std::collections::{BTreeMap, BTreeSet};

use factum_model::id::{SessionId, SubagentId, TaskId, ThreadId, TurnId};
use factum_model::subagent::{SubagentRecord, SubagentState};
use factum_model::{Event, Fact, Timestamp};
use serde::{Deserialize, Serialize};

use super::super::index::{TimerKind, keys::timer, put};
use super::super::state::Shell;
use super::state::{Subagent, Subagents};
use crate::key::{IndexChange, Key};

/// The keys.
pub mod keys {
    use super::*;

    /// Where a child agent is, and what became of it.
    pub fn subagent(account: &str, subagent_id: &SubagentId) -> Vec<u8> {
        Key::table("subagent").text(account).text(subagent_id.as_str()).into_bytes()
    }

    /// All child agents within something, in order of spawning: direct ones, or everything below. The values are ids.
    pub fn within(account: &str, session_id: &SessionId, within: &Within, descendants: bool) -> Vec<u8> {
        list(account, session_id, within, descendants).into_bytes()
    }

    pub(super) fn list(account: &str, session_id: &SessionId, within: &Within, descendants: bool) -> Key {
        let table = if descendants { "subagent_below" } else { "subagent_child" };
        let (kind, id) = match within {
            Within::Session => ("session", ""),
            Within::Thread(id) => ("thread", id.as_str()),
            Within::Turn(id) => ("turn", id.as_str()),
            Within::Task(id) => ("task", id.as_str()),
            Within::Subagent(id) => ("subagent", id.as_str()),
        };
        Key::table(table).text(account).text(session_id.as_str()).text(kind).text(id)
    }
}

/// What child agents are listed by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Within {
    Session,
    Thread(ThreadId),
    Turn(TurnId),
    /// The parent's task, or the child's own.
    Task(TaskId),
    Subagent(SubagentId),
}

/// Where a child agent is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubagentRow {
    pub session_id: SessionId,
    pub thread_id: ThreadId,
    /// Once it is closed; until then it is in the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<SubagentRecord>,
}

/// What a commit changes in the index.
#[derive(Default)]
pub(in super::super) struct RowDiff {
    spawned: Vec<Spawned>,
    closed: Vec<SubagentRecord>,
    /// The timers of those whose timer may change, as they were before.
    timers: BTreeMap<SubagentId, Option<Timestamp>>,
}

struct Spawned {
    sequence: u64,
    subagent_id: SubagentId,
    thread_id: ThreadId,
    children_of: BTreeSet<Within>,
    below: BTreeSet<Within>,
}

impl RowDiff {
    pub(in super::super) fn begin(_: &Subagents) -> Self {
        Self::default()
    }

    /// An event is about to be applied: only the state before it still has what it closes.
    pub(in super::super) fn before(&mut self, subagents: &Subagents, event: &Event) {
        if !matches!(event.fact, Fact::SubagentStatus(_) | Fact::SubagentClosed(_)) {
            return;
        }
        let Some(one) = event.scope.subagent_id.as_ref().and_then(|id| subagents.get(id)) else { return };
        self.timers.entry(one.id().clone()).or_insert_with(|| due(one));
        if matches!(event.fact, Fact::SubagentClosed(_)) {
            self.closed.push(closed_record(one, event.timestamp));
        }
    }

    /// An event was applied.
    pub(in super::super) fn saw(&mut self, subagents: &Subagents, event: &Event) {
        if !matches!(event.fact, Fact::SubagentSpawned(_)) {
            return;
        }
        let Some(one) = event.scope.subagent_id.as_ref().and_then(|id| subagents.get(id)) else { return };
        self.spawned.push(Spawned {
            sequence: event.sequence,
            subagent_id: one.id().clone(),
            thread_id: one.record.thread_id.clone(),
            children_of: children_of(one).collect(),
            below: below(subagents, one),
        });
    }

    pub(in super::super) fn end(self, subagents: &Subagents, shell: &Shell, changes: &mut Vec<IndexChange>) {
        let (account, session_id) = (shell.account.as_str(), &shell.session_id);
        for one in self.spawned {
            let row = SubagentRow { session_id: session_id.clone(), thread_id: one.thread_id, record: None };
            put(changes, keys::subagent(account, &one.subagent_id), &row);
            let lists = one.children_of.iter().map(|within| (within, false));
            for (within, descendants) in lists.chain(one.below.iter().map(|within| (within, true))) {
                let key = keys::list(account, session_id, within, descendants).number(one.sequence).into_bytes();
                put(changes, key, &one.subagent_id);
            }
        }
        for record in self.closed {
            let key = keys::subagent(account, &record.subagent_id);
            let thread_id = record.thread_id.clone();
            put(changes, key, &SubagentRow { session_id: session_id.clone(), thread_id, record: Some(record) });
        }
        for (id, was) in self.timers {
            let is = subagents.get(&id).and_then(due);
            let key = |due| timer(&shell.timer(due, TimerKind::SubagentClose, id.as_str()));
            if was != is {
                changes.extend(was.map(|due| IndexChange::Delete { key: key(due) }));
                changes.extend(is.map(|due| IndexChange::Put { key: key(due), value: Vec::new() }));
            }
        }
    }
}

fn due(one: &Subagent) -> Option<Timestamp> {
    one.closing.as_ref().map(|closing| closing.at)
}

/// What a child is directly within.
fn children_of(one: &Subagent) -> impl Iterator<Item = Within> {
    let record = &one.record;
    let tasks = record.parent_task_id.iter().chain(&record.task_id).cloned().map(Within::Task);
    let parent = record.parent_subagent_id.clone().map_or(Within::Session, Within::Subagent);
    let turn = record.parent_turn_id.clone().map(Within::Turn);
    [Within::Thread(record.parent_thread_id.clone()), parent].into_iter().chain(turn).chain(tasks)
}

/// What it is within, and what its parents are within.
fn below(subagents: &Subagents, one: &Subagent) -> BTreeSet<Within> {
    let mut all = BTreeSet::from([Within::Session]);
    let mut next = Some(one);
    while let Some(one) = next {
        all.extend(children_of(one));
        next = subagents.parent(one);
    }
    all
}

fn closed_record(one: &Subagent, at: Timestamp) -> SubagentRecord {
    let ended_at = one.record.ended_at.or(Some(at));
    SubagentRecord { status: SubagentState::Closed, close_at: None, updated_at: at, ended_at, ..one.record.clone() }
}
