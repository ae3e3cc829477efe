//! `list_subagents`: a page of the child agents within something, oldest first. A page costs what it shows, however many
//! there are: what stands within what is written down when a child is spawned.

use factum_engine::session::SessionState;
use factum_engine::session::subagents::{Within, keys};
use factum_model::Refusal;
use factum_model::commands::{ListSubagents, ListSubagentsResult};
use factum_model::id::SubagentId;

use super::list_sessions::Page;
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

const PURPOSE: &str = "list_subagents";

impl Handle<ListSubagents> for Runtime {
    async fn handle(&self, caller: &Caller, command: ListSubagents) -> Result<ListSubagentsResult, Refusal> {
        self.find::<SessionState>(&caller.account, &command.session_id).await?;
        let prefix = keys::within(&caller.account, &command.session_id, &within(&command)?, command.descendants);
        if let Some(cursor) = &command.cursor {
            // The key in a cursor begins with what it was listed by; with another filter it leads nowhere.
            let after = self.0.secret.open(PURPOSE, &caller.account, cursor)?;
            if !after.starts_with(&prefix) {
                return Err(Refusal::invalid("the cursor is not valid here; start again without one"));
            }
        }
        let page = Page { purpose: PURPOSE, limit: command.limit, cursor: command.cursor.as_deref() };
        let (ids, next_cursor) = self.page::<SubagentId>(caller, prefix, page).await?;
        let (subagents, as_of_sequence) = self.subagent_records(caller, &command.session_id, &ids).await?;
        Ok(ListSubagentsResult { subagents, next_cursor, as_of_sequence })
    }
}

fn within(command: &ListSubagents) -> Result<Within, Refusal> {
    let ListSubagents { thread_id, turn_id, task_id, subagent_id, .. } = command.clone();
    let named = [
        thread_id.map(Within::Thread),
        turn_id.map(Within::Turn),
        task_id.map(Within::Task),
        subagent_id.map(Within::Subagent),
    ];
    let mut named = named.into_iter().flatten();
    match (named.next(), named.next()) {
        (None, _) => Ok(Within::Session),
        (Some(within), None) => Ok(within),
        (Some(_), Some(_)) => Err(Refusal::invalid("name one of thread_id, turn_id, task_id and subagent_id")),
    }
}
