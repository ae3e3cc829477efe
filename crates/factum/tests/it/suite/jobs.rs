//! Jobs and schedules.

use serde_json::json;

use super::{Suite, merged};

impl Suite<'_> {
    pub(super) async fn jobs(&mut self) {
        self.call("create_session", json!({ "session_id": "jobs" })).await;
        self.job_of_an_agent().await;
        self.job_of_a_worker().await;
        for params in [json!({}), json!({ "limit": 1 }), json!({ "status": ["completed"] }), json!({ "limit": 0 })] {
            self.call("list_jobs", params).await;
        }
        self.schedules().await;
        self.call("get_subagent_job_summary", json!({ "session_id": "jobs" })).await;
        self.events("jobs").await;
    }

    async fn job_of_an_agent(&mut self) {
        let items =
            json!([{ "job_item_id": "i1", "arguments": "one" }, { "job_item_id": "i2", "arguments": { "n": 2 } }]);
        let job = json!({
            "session_id": "jobs", "job_id": "j1", "instruction": "say", "items": items, "agent": "demo",
            "max_concurrency": 1, "idempotency_key": "j1",
        });
        let first = self.call("create_job", job.clone()).await;
        assert_eq!(first, self.call("create_job", job.clone()).await);
        self.call("create_job", merged(job, json!({ "idempotency_key": null }))).await;
        self.rest("jobs", "job.completed", 1).await;
        self.call("get_job", json!({ "job_id": "j1" })).await;
        self.call("get_job", json!({ "job_id": "j1", "item_limit": 1 })).await;
        self.call("cancel_job", json!({ "job_id": "j1" })).await;
        self.call("retry_job_item", json!({ "job_id": "j1", "job_item_id": "i1" })).await;
    }

    async fn job_of_a_worker(&mut self) {
        let items = json!([{ "job_item_id": "i1" }, { "job_item_id": "i2" }]);
        let job = json!({ "session_id": "jobs", "job_id": "j2", "instruction": "do", "items": items, "queue": "q", "max_concurrency": 1 });
        self.call("create_job", job).await;
        let claim = json!({ "channel_id": "worker", "lease_ms": 600_000, "wait_ms": 10_000 });
        let answer = self.call("claim_runs", claim.clone()).await;
        let run = &answer["runs"][0];
        let held = json!({ "run_id": run["run_id"], "lease_token": run["lease_token"] });
        let error = json!({ "error": { "category": "test", "message": "no" } });
        self.call("fail_run", merged(held, error)).await;
        let answer = self.call("claim_runs", claim.clone()).await;
        let run = &answer["runs"][0];
        let held = json!({ "run_id": run["run_id"], "lease_token": run["lease_token"] });
        self.call("complete_run", merged(held.clone(), json!({ "summary": "done" }))).await;
        self.call("complete_run", held).await;
        self.call("get_job", json!({ "job_id": "j2", "item_status": "failed" })).await;
        self.call("retry_job_item", json!({ "job_id": "j2", "job_item_id": "i1", "reason": "again" })).await;
        self.call("cancel_job", json!({ "job_id": "j2", "reason": "enough" })).await;
        self.call("get_job", json!({ "job_id": "j2" })).await;
        self.call("claim_runs", json!({ "channel_id": "worker" })).await;
    }

    async fn schedules(&mut self) {
        let job = json!({ "instruction": "tick", "queue": "q" });
        // The newest comes first in a list, and of two of the same millisecond the one whose id is first: the same one here.
        let hourly = json!({ "session_id": "jobs", "schedule_id": "s2", "every_ms": 3_600_000, "start_at": "2999-01-01T00:00:00Z", "job": job });
        self.call("create_schedule", hourly.clone()).await;
        self.call("create_schedule", hourly).await;
        let cron = json!({ "session_id": "jobs", "schedule_id": "s1", "cron": "0 4 1 1 *", "time_zone": "Europe/Vienna", "job": job });
        self.call("create_schedule", cron).await;
        for bad in
            [json!({ "cron": "every day" }), json!({ "every_ms": 0 }), json!({}), json!({ "time_zone": "Nowhere" })]
        {
            self.call("create_schedule", merged(json!({ "session_id": "jobs", "job": job }), bad)).await;
        }
        self.call("list_schedules", json!({ "session_id": "jobs", "limit": 1 })).await;
        self.call("end_schedule", json!({ "schedule_id": "s2", "reason": "over" })).await;
        self.call("end_schedule", json!({ "schedule_id": "s2" })).await;
        self.call("list_schedules", json!({ "include_ended": true })).await;
    }
}
