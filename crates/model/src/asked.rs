//! Which of several open actions is asked: one rule for whoever shows a question and for whoever takes an answer to it.

use crate::events::ActionType;

/// The action that is shown, and that an answer which names none is for: the oldest of `open`, which stand in the order they were
/// asked in. It stays the one until it is decided, whatever is asked meanwhile.
pub fn asked_now<T>(open: impl IntoIterator<Item = T>) -> Option<T> {
    open.into_iter().next()
}

impl ActionType {
    /// Whether it is about what may be done, and not about what somebody wants.
    pub fn is_permission(self) -> bool {
        match self {
            Self::ToolPermission | Self::Authorization => true,
            Self::Input | Self::Review | Self::Custom => false,
        }
    }
}
