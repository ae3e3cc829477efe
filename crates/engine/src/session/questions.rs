//! What a session asks permission for right now, as the channels that decide are asked.

use factum_model::id::ChannelId;

use super::crossing::agent_of;
use super::respond_action::action_scope;
use super::state::SessionState;
use crate::peers::{Question, asks_permission};

/// Every open action that asks permission, and the channel that alone may decide it.
pub fn open_questions(state: &SessionState) -> Vec<(Question, Option<ChannelId>)> {
    let Some(shell) = &state.shell else { return Vec::new() };
    let asking = state.actions.iter().filter(|action| asks_permission(action.required.action_type));
    let question = |action: &super::state::OpenAction| {
        let agent = agent_of(state, Some(&action.thread_id));
        let decided_through = action.decided_through.clone();
        let scope = action_scope(shell, action);
        (Question::new(scope, agent, &action.required, decided_through.is_some()), decided_through)
    };
    asking.map(question).collect()
}
