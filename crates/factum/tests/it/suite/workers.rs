//! Workers: enrolled, given runs of tasks and of jobs, refused when they are late.
//!
//! A run is made only once the one before it is claimed: which of two that wait goes first is no transport's affair.

use serde_json::{Value, json};

use super::{Suite, merged};

impl Suite<'_> {
    pub(super) async fn workers(&mut self) {
        self.call("create_session", json!({ "session_id": "work" })).await;
        let worker = json!({ "channel_id": "worker", "peer_role": "worker", "queues": ["q"], "capabilities": ["x"] });
        self.call("enroll_channel", worker.clone()).await;
        self.call("enroll_channel", worker).await;
        self.call("enroll_channel", json!({ "channel_id": "client", "peer_role": "client" })).await;
        for bad in [
            json!({ "channel_id": "client" }),
            json!({ "channel_id": "nobody" }),
            json!({ "channel_id": "worker", "max": 0 }),
            json!({ "channel_id": "worker", "lease_ms": 1 }),
            json!({ "channel_id": "worker", "queues": ["other"] }),
        ] {
            self.call("claim_runs", bad).await;
        }
        self.call("claim_runs", json!({ "channel_id": "worker", "wait_ms": 5 })).await;
        self.completed_run().await;
        self.failed_and_given_back().await;
        self.late().await;
        self.reported().await;
        self.events("work").await;
    }

    async fn queued(&mut self, task_id: &str, more: Value) {
        let task =
            json!({ "session_id": "work", "task_id": task_id, "objective": "do it", "queue": "q", "status": "queued" });
        self.call("create_task", merged(task, more)).await;
    }

    /// Claims the only run there is; gives what every report on it says.
    async fn claimed(&mut self, key: &str) -> Value {
        let claim = json!({ "channel_id": "worker", "lease_ms": 600_000, "wait_ms": 10_000, "idempotency_key": key });
        let first = self.call("claim_runs", claim.clone()).await;
        assert_eq!(first, self.call("claim_runs", claim).await);
        let run = &first["runs"][0];
        assert!(run.is_object(), "{first}");
        json!({ "run_id": run["run_id"], "lease_token": run["lease_token"] })
    }

    async fn on_run(&mut self, method: &str, held: &Value, more: Value) -> Value {
        self.call(method, merged(held.clone(), more)).await
    }

    async fn completed_run(&mut self) {
        let asks = json!({ "required_capabilities": ["x"], "auto_complete": true, "input_refs": ["in"] });
        self.queued("w1", asks).await;
        let held = self.claimed("first").await;
        self.on_run("heartbeat_run", &held, json!({})).await;
        let fact = json!({ "type": "run.status", "payload": { "phase": "working", "title": "reading" } });
        let report = json!({ "progress": { "percent": 10 }, "facts": [fact], "checkpoint_refs": ["c1"] });
        self.on_run("report_run", &held, report).await;
        let forbidden = json!({ "type": "task.completed", "payload": {} });
        self.on_run("report_run", &held, json!({ "facts": [forbidden] })).await;
        self.call("complete_task", json!({ "task_id": "w1" })).await;
        let end = json!({ "summary": "done", "output_refs": ["out"], "artifacts": ["a"], "idempotency_key": "end" });
        let first = self.on_run("complete_run", &held, end.clone()).await;
        assert_eq!(first["task_status"], "completed");
        assert_eq!(first, self.on_run("complete_run", &held, end).await);
        self.call("get_task", json!({ "task_id": "w1" })).await;
    }

    async fn failed_and_given_back(&mut self) {
        self.queued("w2", json!({ "retry_policy": { "max_attempts": 2 } })).await;
        let held = self.claimed("second").await;
        let error = json!({ "error": { "category": "test", "message": "no", "retryable": true } });
        self.on_run("fail_run", &held, error.clone()).await;
        let held = self.claimed("third").await;
        self.on_run("release_run", &held, json!({ "reason": "busy" })).await;
        let held = self.claimed("fourth").await;
        self.on_run("fail_run", &held, error).await;
        self.call("get_task", json!({ "task_id": "w2" })).await;
    }

    /// An item of a job whose result is reported before it is handed in.
    async fn reported(&mut self) {
        let job = json!({ "session_id": "work", "job_id": "wj", "instruction": "do it", "queue": "q" });
        self.call("create_job", job).await;
        let held = self.claimed("sixth").await;
        self.on_run("report_run", &held, json!({ "result": { "summary": "found", "output_refs": ["out"] } })).await;
        let read = self.call("get_job", json!({ "job_id": "wj" })).await;
        assert_eq!(
            (&read["items"][0]["status"], &read["job"]["progress"]["reported"]),
            (&json!("reported"), &json!(1))
        );
        self.on_run("complete_run", &held, json!({})).await;
        let read = self.call("get_job", json!({ "job_id": "wj" })).await;
        assert_eq!((&read["items"][0]["status"], &read["items"][0]["summary"]), (&json!("completed"), &json!("found")));
    }

    async fn late(&mut self) {
        self.queued("w3", json!({})).await;
        let mut held = self.claimed("fifth").await;
        self.call("cancel_task", json!({ "task_id": "w3" })).await;
        let kept = self.on_run("heartbeat_run", &held, json!({})).await;
        assert_eq!(kept["cancel_requested"], true);
        self.on_run("complete_run", &held, json!({})).await;
        held["lease_token"] = json!(1);
        for method in ["heartbeat_run", "report_run", "complete_run", "release_run"] {
            self.on_run(method, &held, json!({})).await;
        }
        self.call("get_task", json!({ "task_id": "w3" })).await;
    }
}
