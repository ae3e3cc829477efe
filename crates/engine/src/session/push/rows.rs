//! The rows of configurations.

use factum_model::id::TaskId;
use factum_model::{Event, Fact};

use super::configs::PushConfig;
use crate::key::{IndexChange, Key};
use crate::session::index::put;
use crate::session::state::Shell;

/// The keys.
pub mod keys {
    use super::*;

    /// One configuration of a task.
    pub fn config(account: &str, task_id: &TaskId, config_id: &str) -> Vec<u8> {
        // Ids of configurations are free text; a digest bounds their length.
        of(account, task_id).text(&crate::digest::sha256(config_id.as_bytes())).into_bytes()
    }

    /// All configurations of a task.
    pub fn configs(account: &str, task_id: &TaskId) -> Vec<u8> {
        of(account, task_id).into_bytes()
    }

    fn of(account: &str, task_id: &TaskId) -> Key {
        Key::table("push_config").text(account).text(task_id.as_str())
    }
}

/// What a fact changes.
pub(in super::super) fn rows_of(event: &Event, shell: &Shell, changes: &mut Vec<IndexChange>) {
    let Some(task_id) = &event.scope.task_id else { return };
    match &event.fact {
        Fact::PushConfigSet(fact) => {
            let row = PushConfig {
                config_id: fact.config_id.clone(),
                native_protocol: fact.native_protocol.clone(),
                url: fact.url.clone(),
                scheme: fact.scheme.clone(),
                sealed_secrets: fact.sealed_secrets.clone(),
            };
            put(changes, keys::config(&shell.account, task_id, &fact.config_id), &row);
        }
        Fact::PushConfigDeleted(fact) => {
            changes.push(IndexChange::Delete { key: keys::config(&shell.account, task_id, &fact.config_id) });
        }
        _ => {}
    }
}
