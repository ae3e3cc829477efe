//! Commands that answer what the runtime waits for.

use serde_json::Value;

use crate::id::ActionId;
use crate::wire::wire;

wire! {
    /// Answer an open action. The first answer wins.
    pub struct RespondAction {
        pub action_id: ActionId,
        /// One of the action's `decisions`; `answer` for free input.
        pub decision: String,
        /// Structured content, such as the text of an answer.
        pub payload: Option<Value>,
        pub idempotency_key: Option<String>,
    }

    pub struct RespondActionResult {
        pub action_id: ActionId,
        pub decision: String,
        pub sequence: u64,
    }
}
