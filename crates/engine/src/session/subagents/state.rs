//! What is remembered of child agents that are not closed, bounded by `subagents_open_max`.

use std::collections::BTreeSet;

use factum_model::id::{SubagentId, ThreadId};
use factum_model::subagent::SubagentRecord;
use factum_model::{Scope, Timestamp};
use serde::{Deserialize, Serialize};

/// The open child agents of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Subagents {
    /// In order of spawning, so a parent stands before its children.
    pub(super) open: Vec<Subagent>,
    /// How many there ever were.
    pub(super) spawned: u64,
}

/// A child agent that is not closed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subagent {
    /// Its status is what the last fact about it said; `view` adds what its thread tells.
    pub(super) record: SubagentRecord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) closing: Option<Closing>,
}

/// A close that lets running work settle first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Closing {
    pub(super) at: Timestamp,
    pub(super) by: String,
    pub(super) reason: Option<String>,
}

impl Subagents {
    pub(in super::super) fn is_empty(&self) -> bool {
        self.spawned == 0
    }

    pub(in super::super) fn is_open(&self, id: &SubagentId) -> bool {
        self.get(id).is_some()
    }

    pub(super) fn get(&self, id: &SubagentId) -> Option<&Subagent> {
        self.open.iter().find(|one| one.record.subagent_id == *id)
    }

    pub(super) fn get_mut(&mut self, id: &SubagentId) -> Option<&mut Subagent> {
        self.open.iter_mut().find(|one| one.record.subagent_id == *id)
    }

    /// The one whose own thread this is.
    pub(in super::super) fn in_thread(&self, thread_id: &ThreadId) -> Option<&Subagent> {
        self.open.iter().find(|one| one.record.thread_id == *thread_id)
    }

    pub(super) fn in_thread_mut(&mut self, thread_id: &ThreadId) -> Option<&mut Subagent> {
        self.open.iter_mut().find(|one| one.record.thread_id == *thread_id)
    }

    pub(super) fn parent(&self, child: &Subagent) -> Option<&Subagent> {
        self.get(child.record.parent_subagent_id.as_ref()?)
    }

    pub(super) fn children<'a>(&'a self, id: &'a SubagentId) -> impl Iterator<Item = &'a Subagent> {
        self.open.iter().filter(move |one| one.record.parent_subagent_id.as_ref() == Some(id))
    }

    /// This one and everything below it, children before their parents.
    pub(super) fn with_descendants(&self, id: &SubagentId) -> Vec<&Subagent> {
        let mut inside = BTreeSet::from([id]);
        let mut found = Vec::new();
        for one in &self.open {
            let below = one.record.parent_subagent_id.as_ref().is_some_and(|parent| inside.contains(parent));
            if below || one.record.subagent_id == *id {
                inside.insert(&one.record.subagent_id);
                found.push(one);
            }
        }
        found.reverse();
        found
    }
}

impl Subagent {
    pub(in super::super) fn id(&self) -> &SubagentId {
        &self.record.subagent_id
    }

    /// The envelope ids of its facts: they stand in its own thread.
    pub(super) fn scope(&self) -> Scope {
        let record = &self.record;
        let mut scope = Scope::default()
            .session_id(&record.parent_session_id)
            .thread_id(&record.thread_id)
            .subagent_id(&record.subagent_id);
        scope.task_id = record.task_id.clone();
        scope
    }
}
