//! Child agents.

use serde_json::{Value, json};

use super::Suite;
use crate::support::text;

impl Suite<'_> {
    pub(super) async fn subagents(&mut self) {
        let session = self.begin("demo", "hello").await;
        self.rest(&session, "turn.completed", 1).await;
        let spawn = |id: &str, agent: &str, parent: Value, input: Value| {
            json!({
                "session_id": session, "subagent_id": id, "agent": agent, "parent_subagent_id": parent, "input": input,
                "idempotency_key": format!("spawn {id}"),
            })
        };
        let first = spawn("a1", "demo", Value::Null, text("hello child"));
        self.call("spawn_subagent", first.clone()).await;
        self.wait(&["a1"], 20_000).await;
        self.call("spawn_subagent", first).await;
        self.call("send_subagent_input", json!({ "subagent_id": "a1", "input": text("and more") })).await;
        self.wait(&["a1"], 20_000).await;
        self.call("resume_subagent", json!({ "subagent_id": "a1" })).await;
        self.wait(&["a1"], 20_000).await;
        // The first event of a turn that never ends is the last one for a while.
        self.call("spawn_subagent", spawn("a2", "waiting", Value::Null, text("wait"))).await;
        self.rest(&session, "model.requested", 5).await;
        self.call("spawn_subagent", spawn("a3", "demo", json!("a2"), json!([]))).await;
        self.wait(&["a2", "a3"], 1).await;
        self.wait(&["a_nobody"], 1).await;
        for more in [json!({}), json!({ "descendants": true }), json!({ "subagent_id": "a2" }), json!({ "limit": 1 })] {
            let params = super::merged(json!({ "session_id": session }), more);
            self.call("list_subagents", params).await;
        }
        self.call("get_subagent_job_summary", json!({ "session_id": session })).await;
        let close = json!({ "subagent_id": "a2", "reason": "enough", "idempotency_key": "close" });
        self.call("close_subagent", close.clone()).await;
        self.wait(&["a2", "a3"], 20_000).await;
        self.call("close_subagent", close).await;
        self.call("send_subagent_input", json!({ "subagent_id": "a3", "input": text("still there?") })).await;
        self.call("resume_subagent", json!({ "subagent_id": "a2" })).await;
        self.events(&session).await;
    }

    async fn wait(&mut self, ids: &[&str], timeout_ms: u64) {
        self.call("wait_subagents", json!({ "subagent_ids": ids, "timeout_ms": timeout_ms })).await;
    }
}
