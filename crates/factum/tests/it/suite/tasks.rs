//! Tasks: made, moved, linked, read and listed.
//!
//! Lists go by the millisecond something began in, so ids rise in the order in which things are made: then two in one
//! millisecond stand as two in different ones do.

use serde_json::{Value, json};

use super::{Suite, merged};

impl Suite<'_> {
    pub(super) async fn tasks(&mut self) {
        self.call("create_session", json!({ "session_id": "tasks" })).await;
        self.lifecycle().await;
        self.graph().await;
        self.cancelled().await;
        self.agent_task().await;
        self.task_lists().await;
        for as_of in [3, 12, 9999] {
            self.call("get_task", json!({ "task_id": "t1", "as_of": as_of })).await;
        }
        self.call("get_task_snapshot", json!({ "session_id": "tasks" })).await;
        self.call("get_task_snapshot", json!({ "session_id": "tasks", "root_task_id": "t2", "limit": 1 })).await;
        self.events("tasks").await;
    }

    async fn task(&mut self, task_id: &str, more: Value) {
        let task = json!({ "session_id": "tasks", "task_id": task_id, "objective": format!("do {task_id}") });
        self.call("create_task", merged(task, more)).await;
    }

    async fn on(&mut self, method: &str, task_id: &str, more: Value) -> Value {
        self.call(method, merged(json!({ "task_id": task_id }), more)).await
    }

    async fn lifecycle(&mut self) {
        let acceptance = json!({ "criteria": [{ "criterion_id": "good" }], "required_artifacts": ["report"] });
        let policy = json!({ "max_attempts": 2 });
        let first =
            json!({ "title": "One", "acceptance": acceptance, "retry_policy": policy, "idempotency_key": "t1" });
        self.task("t1", first.clone()).await;
        self.task("t1", first).await;
        self.task("t1", json!({})).await;
        self.on("update_task", "t1", json!({ "priority": "high", "owner": "ada", "metadata": { "a": [1] } })).await;
        self.on("retry_task", "t1", json!({ "reason": "too early" })).await;
        let started = self.on("start_task", "t1", json!({ "worker": "me" })).await;
        self.on("start_task", "t1", json!({})).await;
        let run = json!({ "run_id": started["run_id"] });
        let progress = json!({ "percent": 40, "phase": "working", "counters": { "pages": 3 }, "summary": "on it" });
        self.on("append_task_progress", "t1", merged(run.clone(), progress)).await;
        self.on("append_task_progress", "t1", json!({ "percent": 140 })).await;
        self.on("pause_task", "t1", json!({ "reason": "lunch" })).await;
        self.on("pause_task", "t1", json!({})).await;
        self.on("resume_task", "t1", json!({})).await;
        let error = json!({ "error": { "category": "network", "message": "gone", "retryable": true } });
        self.on("fail_task", "t1", merged(run.clone(), error.clone())).await;
        self.on("fail_task", "t1", merged(run, error.clone())).await;
        self.on("complete_task", "t1", json!({})).await;
        self.on("fail_task", "t1", error).await;
        self.on("retry_task", "t1", json!({ "reason": "once more", "idempotency_key": "again" })).await;
        self.on("retry_task", "t1", json!({ "reason": "once more", "idempotency_key": "again" })).await;
        let criteria = json!([{ "criterion_id": "good", "state": "met" }]);
        let done =
            json!({ "criteria": criteria, "artifacts": ["report"], "summary": "done", "idempotency_key": "done" });
        let first = self.on("complete_task", "t1", done.clone()).await;
        assert_eq!(first["status"], "completed");
        assert_eq!(first, self.on("complete_task", "t1", done).await);
        self.on("start_task", "t1", json!({})).await;
        self.on("update_task", "t1", json!({ "status": "archived" })).await;
        self.on("get_task", "t1", json!({})).await;
    }

    async fn graph(&mut self) {
        self.task("t2", json!({})).await;
        self.task("t3", json!({ "parent_task_id": "t2" })).await;
        self.task("t4", json!({ "parent_task_id": "t2", "blocked_by": ["t3"], "status": "queued" })).await;
        self.task("t5", json!({ "blocked_by": ["t_nobody"] })).await;
        let link =
            |from: &str, to: &str, relationship: &str| json!({ "from": from, "to": to, "relationship": relationship });
        self.call("link_tasks", link("t4", "t3", "blocks")).await;
        self.call("link_tasks", link("t2", "art_1", "produced_artifact")).await;
        self.call("link_tasks", link("t2", "art_1", "produced_artifact")).await;
        self.call("link_tasks", link("t2", "t1", "source_task")).await;
        self.call("link_tasks", link("t2", "t_nobody", "blocks")).await;
        self.call("unlink_tasks", link("t2", "t1", "source_task")).await;
        self.call("unlink_tasks", link("t2", "t1", "source_task")).await;
        self.on("start_task", "t4", json!({})).await;
        self.on("complete_task", "t2", json!({})).await;
        self.on("complete_task", "t3", json!({})).await;
        for task_id in ["t2", "t3", "t4"] {
            self.on("get_task", task_id, json!({})).await;
        }
    }

    async fn cancelled(&mut self) {
        let cancel = json!({ "propagation": "descendants", "reason": "not needed", "idempotency_key": "cancel" });
        let first = self.on("cancel_task", "t2", cancel.clone()).await;
        assert_eq!(first, self.on("cancel_task", "t2", cancel).await);
        self.task("t6", json!({ "parent_task_id": "t2" })).await;
        self.on("resume_task", "t2", json!({})).await;
        self.on("get_task", "t2", json!({})).await;
        self.on("get_task", "t4", json!({})).await;
    }

    async fn agent_task(&mut self) {
        self.task("t7", json!({ "agent": "demo", "auto_complete": true, "status": "queued" })).await;
        self.rest("tasks", "task.completed", 3).await;
        self.on("get_task", "t7", json!({})).await;
        self.task("t8", json!({ "agent": "nobody" })).await;
        self.task("t8", json!({ "agent": "demo", "queue": "both" })).await;
    }

    async fn task_lists(&mut self) {
        let mut cursor = Value::Null;
        loop {
            let page = self.call("list_tasks", json!({ "limit": 2, "cursor": cursor })).await;
            match page.get("next_cursor") {
                Some(next) if !next.is_null() => cursor = next.clone(),
                _ => break,
            }
        }
        for filters in [
            json!({ "session_id": "tasks", "status": ["completed"] }),
            json!({ "parent_task_id": "t2" }),
            json!({ "root_task_id": "t2" }),
            json!({ "owner": "ada" }),
            json!({ "session_id": "sess_nobody" }),
        ] {
            self.call("list_tasks", json!({ "filters": filters })).await;
        }
        for limit in [0, 201] {
            self.call("list_tasks", json!({ "limit": limit })).await;
        }
    }
}
