//! Everything that is stored in the end, when nothing is at work any more.

use std::collections::BTreeMap;

use factum_testkit::clients::Http;
use factum_testkit::{Client, Server, eventually};
use serde_json::{Value, json};

use super::super::read::{events, pages};
use super::book::text;
use super::{BATCHERS, OWNERS, PARENTS, batches, family, session, sessions};

/// Everything that is stored.
#[derive(Default)]
pub(super) struct Found {
    pub(super) events: BTreeMap<String, Vec<Value>>,
    pub(super) tasks: BTreeMap<String, Value>,
    /// Batches with all their items, as `get_job` shows them.
    pub(super) jobs: BTreeMap<String, Value>,
    pub(super) schedules: Vec<Value>,
    /// Child agents of each session, oldest first.
    pub(super) subagents: BTreeMap<String, Vec<Value>>,
}

impl Found {
    /// Events of these types, in order.
    pub(super) fn of<'a>(&'a self, session_id: &str, types: &'a [&str]) -> impl Iterator<Item = &'a Value> {
        self.events[session_id].iter().filter(move |event| types.contains(&event["type"].as_str().unwrap()))
    }
}

/// Waits until nothing is at work any more: without workers every lease runs out. Then reads everything.
pub(super) async fn come_to_rest(server: &Server) -> Found {
    let http = server.http(None);
    let mut found = Found::default();
    for batcher in 0..BATCHERS {
        end_batches(&http, batcher, &mut found).await;
    }
    for parent in 0..PARENTS {
        end_family(&http, &family::session(parent), &mut found).await;
    }
    for session_id in (0..OWNERS).map(session) {
        let at_work = ["preparing", "running", "retrying", "cancelling"];
        eventually("no task at work", async || {
            let filters = json!({ "session_id": session_id, "status": at_work });
            let page = http.call("list_tasks", json!({ "filters": filters, "limit": 1 })).await.unwrap();
            (page["tasks"] == json!([])).then_some(())
        })
        .await;
        let filters = json!({ "session_id": session_id });
        for task in pages(&http, "list_tasks", json!({ "filters": filters, "limit": 200 }), "tasks").await {
            let task_id = text(&task, "task_id").to_owned();
            let record = http.call("get_task", json!({ "task_id": task_id })).await.unwrap();
            found.tasks.insert(task_id, record);
        }
    }
    for session_id in sessions() {
        let events = events(&http, &session_id).await;
        found.events.insert(session_id, events);
    }
    found
}

/// Ends what would go on for ever: schedules, and batches that wait for workers who are gone.
async fn end_batches(http: &Http, batcher: usize, found: &mut Found) {
    let session_id = batches::session(batcher);
    let schedule = json!({ "schedule_id": format!("schedule-{batcher}") });
    http.call("end_schedule", schedule).await.unwrap();
    eventually("no batch at work", async || {
        let params = json!({ "session_id": session_id, "status": ["created", "queued", "running", "cancelling"] });
        let open = pages(http, "list_jobs", params, "jobs").await;
        for job in &open {
            // One may just have ended.
            drop(http.call("cancel_job", json!({ "job_id": job["job_id"] })).await);
        }
        open.is_empty().then_some(())
    })
    .await;
    for job in pages(http, "list_jobs", json!({ "session_id": session_id, "limit": 200 }), "jobs").await {
        let job_id = text(&job, "job_id");
        let seen = http.call("get_job", json!({ "job_id": job_id, "item_limit": 200 })).await.unwrap();
        found.jobs.insert(job_id.to_owned(), seen);
    }
    let params = json!({ "session_id": session_id, "include_ended": true });
    found.schedules.extend(pages(http, "list_schedules", params, "schedules").await);
}

/// Closes everybody who is not.
async fn end_family(http: &Http, session_id: &str, found: &mut Found) {
    let all = json!({ "session_id": session_id, "descendants": true, "limit": 200 });
    for child in pages(http, "list_subagents", all.clone(), "subagents").await {
        http.call("close_subagent", json!({ "subagent_id": child["subagent_id"] })).await.unwrap();
    }
    let closed = pages(http, "list_subagents", all, "subagents").await;
    found.subagents.insert(session_id.to_owned(), closed);
}
