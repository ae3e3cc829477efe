//! Jobs from beginning to end in the shell: an agent that does the items, restarts, cancelling, retrying, schedules.

use std::time::Duration;

use factum_agent::script::Script;
use factum_model::commands::*;
use factum_model::id::{JobId, JobItemId, ScheduleId, SessionId};
use factum_model::job::*;
use factum_model::{ErrorCode, Refusal};
use factum_runtime::Agents;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::world::World;

/// Does every item; fails those whose arguments say so, and waits for somebody with those that need an approval.
const SCRIPT: &str = r#"
name = "worker"

[[on]]
contains = "fail"
steps = [{ error = { message = "this one cannot be done" } }]

[[on]]
contains = "approve"
steps = [{ tool = { name = "deploy", approval = true, result = "done" } }, { say = "deployed" }]

[[on]]
any = true
steps = [{ say = "done" }]
"#;

fn agents() -> Agents {
    Agents::from_scripts(vec![Script::parse("worker.toml", SCRIPT).unwrap()]).unwrap()
}

async fn world() -> World {
    World::with_agents(agents()).await
}

fn params<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Items with these arguments, named by their place.
fn items(arguments: &[&str]) -> Value {
    let item = |(n, text): (usize, &&str)| json!({ "job_item_id": format!("i{}", n + 1), "arguments": text });
    arguments.iter().enumerate().map(item).collect()
}

impl World {
    async fn create_job(&self, mut value: Value) -> Result<CreateJobResult, Refusal> {
        value["instruction"] = json!("handle this");
        self.runtime.call(&self.caller, params::<CreateJob>(value)).await
    }

    async fn job(&self, job_id: &JobId) -> GetJobResult {
        let command = params::<GetJob>(json!({ "job_id": job_id }));
        self.runtime.call(&self.caller, command).await.unwrap()
    }

    /// Waits, event by event, until the job is as wanted.
    async fn until_job(
        &self,
        session_id: &SessionId,
        job_id: &JobId,
        wanted: impl Fn(&JobRecord) -> bool,
    ) -> GetJobResult {
        let mut subscription = self.runtime.subscribe(&self.caller, session_id, 0).await.unwrap();
        loop {
            let job = self.job(job_id).await;
            if wanted(&job.job) {
                return job;
            }
            let next = tokio::time::timeout(Duration::from_secs(20), subscription.next()).await;
            next.unwrap_or_else(|_| panic!("still {:?}", job.job)).unwrap();
        }
    }

    async fn retry(&self, job_id: &JobId, item: &str) -> Result<RetryJobItemResult, Refusal> {
        let command = params::<RetryJobItem>(json!({ "job_id": job_id, "job_item_id": item }));
        self.runtime.call(&self.caller, command).await
    }
}

impl World {
    /// Waits, event by event, until so many threads of a session wait for somebody.
    async fn until_waiting(&self, session_id: &SessionId, wanted: usize) {
        let mut subscription = self.runtime.subscribe(&self.caller, session_id, 0).await.unwrap();
        loop {
            let session = params::<GetSession>(json!({ "session_id": session_id }));
            let threads = self.runtime.call(&self.caller, session).await.unwrap().threads;
            if threads.iter().filter(|thread| thread.pending_actions > 0).count() == wanted {
                return;
            }
            tokio::time::timeout(Duration::from_secs(20), subscription.next()).await.unwrap().unwrap();
        }
    }

    /// Answers every open action of a session.
    async fn allow_all(&self, session_id: &SessionId) {
        let session = params::<GetSession>(json!({ "session_id": session_id }));
        let threads = self.runtime.call(&self.caller, session).await.unwrap().threads;
        for thread in threads.iter().filter(|thread| thread.pending_actions > 0) {
            let read = json!({ "session_id": session_id, "thread_id": thread.thread_id });
            let thread = self.runtime.call(&self.caller, params::<GetThreadRead>(read)).await.unwrap();
            for action in thread.pending_actions {
                let answer = json!({ "action_id": action.action_id, "decision": "allow" });
                self.runtime.call(&self.caller, params::<RespondAction>(answer)).await.unwrap();
            }
        }
    }
}

fn statuses(job: &GetJobResult) -> Vec<JobItemStatus> {
    job.items.iter().map(|item| item.status).collect()
}

#[tokio::test]
async fn an_agent_does_every_item() {
    let world = world().await;
    let arguments = ["a"; 30];
    let made = world.create_job(json!({ "items": items(&arguments), "max_concurrency": 3 })).await.unwrap();
    let job = world.until_job(&made.session_id, &made.job_id, |job| job.status.is_terminal()).await;
    assert_eq!((job.job.status, job.job.progress.completed), (JobStatus::Completed, 30));
    assert_eq!(job.job.assigned_threads.len(), 3, "a pool, not a thread for each item");
    assert!(job.items.iter().all(|item| item.summary.as_deref() == Some("done") && item.attempt_count == 1));
}

#[tokio::test]
async fn a_restart_in_the_middle_does_nothing_twice_and_forgets_nothing() {
    let mut world = world().await;
    let arguments = ["approve", "a", "b", "approve", "c"];
    let made = world.create_job(json!({ "items": items(&arguments), "max_concurrency": 2 })).await.unwrap();
    // Whatever still runs would go on in the runtime that is forgotten.
    world.until_waiting(&made.session_id, 2).await;
    let before = world.job(&made.job_id).await;
    assert_eq!((before.job.progress.completed, before.job.progress.running), (2, 2));
    world.restart(agents()).await;
    assert_eq!(world.job(&made.job_id).await, before, "as it was");
    world.allow_all(&made.session_id).await;
    let job = world.until_job(&made.session_id, &made.job_id, |job| job.status.is_terminal()).await;
    assert_eq!((job.job.status, job.job.progress.completed), (JobStatus::Completed, 5));
    assert!(job.items.iter().all(|item| item.attempt_count == 1));
}

#[tokio::test]
async fn cancelling_leaves_finished_items_finished() {
    let world = world().await;
    let arguments = ["a", "approve", "b", "c"];
    let made = world.create_job(json!({ "items": items(&arguments), "max_concurrency": 1 })).await.unwrap();
    world.until_job(&made.session_id, &made.job_id, |job| job.item_cursor == 2).await;
    let cancel = params::<CancelJob>(json!({ "job_id": made.job_id, "reason": "enough" }));
    let cancelled = world.runtime.call(&world.caller, cancel.clone()).await.unwrap();
    assert_eq!((cancelled.status, cancelled.progress.completed), (JobStatus::Cancelled, 1));
    let job = world.job(&made.job_id).await;
    let (done, cut_off, never) = (JobItemStatus::Completed, JobItemStatus::Failed, JobItemStatus::Pending);
    assert_eq!(statuses(&job), [done, cut_off, never, never]);
    let again = world.runtime.call(&world.caller, cancel).await.unwrap();
    assert_eq!((again.status, again.progress), (cancelled.status, cancelled.progress), "answered, not refused");
    world.retry(&made.job_id, "i4").await.unwrap();
    let job = world.until_job(&made.session_id, &made.job_id, |job| job.progress.completed == 2).await;
    assert_eq!((job.job.status, statuses(&job)), (JobStatus::Cancelled, vec![done, cut_off, never, done]));
}

#[tokio::test]
async fn one_item_is_retried_after_the_job_has_ended() {
    let mut world = world().await;
    let made = world.create_job(json!({ "items": items(&["a", "fail"]) })).await.unwrap();
    let job = world.until_job(&made.session_id, &made.job_id, |job| job.status.is_terminal()).await;
    assert_eq!(statuses(&job), [JobItemStatus::Completed, JobItemStatus::Failed]);
    assert_eq!(world.retry(&made.job_id, "i1").await.unwrap_err().code, ErrorCode::PreconditionFailed);
    assert_eq!(world.retry(&made.job_id, "i9").await.unwrap_err(), Refusal::not_found());
    world.restart(agents()).await;
    world.retry(&made.job_id, "i2").await.unwrap();
    let is_over = |job: &JobRecord| job.status.is_terminal() && job.progress.failed == 1;
    let job = world.until_job(&made.session_id, &made.job_id, is_over).await;
    assert_eq!(job.items[1].attempt_count, 2);
}

#[tokio::test]
async fn a_key_keeps_the_answer_of_what_had_ended_already() {
    let world = world().await;
    let made = world.create_job(json!({ "items": items(&["a", "fail"]) })).await.unwrap();
    world.until_job(&made.session_id, &made.job_id, |job| job.status.is_terminal()).await;
    let cancel = params::<CancelJob>(json!({ "job_id": made.job_id, "idempotency_key": "enough" }));
    let first = world.runtime.call(&world.caller, cancel.clone()).await.unwrap();
    assert!(first.status.is_terminal(), "it had ended");
    world.retry(&made.job_id, "i2").await.unwrap();
    let has_moved = |job: &JobRecord| job.status.is_terminal() && job.as_of_sequence > first.sequence;
    world.until_job(&made.session_id, &made.job_id, has_moved).await;
    assert_eq!(world.runtime.call(&world.caller, cancel).await.unwrap(), first);
    let other = params::<CancelJob>(json!({ "job_id": "another", "idempotency_key": "enough" }));
    assert_eq!(world.runtime.call(&world.caller, other).await.unwrap_err(), Refusal::not_found());

    let value = json!({ "schedule_id": "daily", "every_ms": 86_400_000, "job": { "instruction": "sweep" } });
    let schedule = world.runtime.call(&world.caller, params::<CreateSchedule>(value)).await.unwrap();
    let end = |key: &str| params::<EndSchedule>(json!({ "schedule_id": "daily", "idempotency_key": key }));
    world.runtime.call(&world.caller, end("one")).await.unwrap();
    let first = world.runtime.call(&world.caller, end("two")).await.unwrap();
    world.create_job(json!({ "session_id": schedule.session_id, "items": items(&["a"]) })).await.unwrap();
    assert_eq!(world.runtime.call(&world.caller, end("two")).await.unwrap(), first);
}

#[tokio::test]
async fn an_id_makes_creating_safe_to_repeat() {
    let world = world().await;
    let value = json!({ "job_id": "mine", "items": items(&["a"]) });
    let first = world.create_job(value.clone()).await.unwrap();
    assert_eq!(world.create_job(value).await.unwrap(), first);
    let other = world.create_job(json!({ "job_id": "mine", "items": items(&["b"]) })).await.unwrap_err();
    assert_eq!(other.code, ErrorCode::Conflict);
    let bob = factum_runtime::Caller::new("agent://bob", "acme", factum_model::registry::Scopes::admin());
    let value = json!({ "job_id": "mine", "instruction": "x" });
    let taken = world.runtime.call(&bob, params::<CreateJob>(value)).await.unwrap_err();
    assert_eq!(taken.code, ErrorCode::Conflict, "another session, the same account");
    let eve = factum_runtime::Caller::new("agent://eve", "other", factum_model::registry::Scopes::admin());
    let hidden = world.runtime.call(&eve, params::<GetJob>(json!({ "job_id": "mine" }))).await.unwrap_err();
    assert_eq!(hidden, Refusal::not_found());
}

#[tokio::test]
async fn items_and_jobs_come_by_page() {
    let world = world().await;
    let arguments: Vec<&str> = (0..25).map(|n| if n % 5 == 0 { "fail" } else { "a" }).collect();
    let made = world.create_job(json!({ "items": items(&arguments), "max_concurrency": 4 })).await.unwrap();
    world.until_job(&made.session_id, &made.job_id, |job| job.status.is_terminal()).await;
    for (status, expected) in [(None, 25), (Some(JobItemStatus::Failed), 5), (Some(JobItemStatus::Running), 0)] {
        let mut found: Vec<JobItemId> = Vec::new();
        let mut cursor = None;
        loop {
            let value = json!({ "job_id": made.job_id, "item_limit": 4, "item_status": status, "item_cursor": cursor });
            let page = world.runtime.call(&world.caller, params::<GetJob>(value)).await.unwrap();
            found.extend(page.items.into_iter().map(|item| item.job_item_id));
            cursor = page.next_item_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found.len(), expected, "{status:?}");
        assert!(found.windows(2).all(|pair| pair[0] != pair[1]));
    }

    for n in 0..5 {
        world.clock.advance(Duration::from_secs(1));
        let value = json!({ "job_id": format!("j{n}"), "session_id": made.session_id, "items": items(&["a"]) });
        world.create_job(value).await.unwrap();
    }
    let list = |value: Value| world.runtime.call(&world.caller, params::<ListJobs>(value));
    let page = list(json!({ "limit": 2 })).await.unwrap();
    let ids: Vec<&str> = page.jobs.iter().map(|job| job.job_id.as_str()).collect();
    assert_eq!(ids, ["j4", "j3"], "newest first");
    let next = list(json!({ "limit": 2, "cursor": page.next_cursor })).await.unwrap();
    assert_eq!(next.jobs[0].job_id.as_str(), "j2");
    let other = list(json!({ "limit": 2, "cursor": page.next_cursor, "status": ["failed"] })).await.unwrap_err();
    assert_eq!(other.code, ErrorCode::InvalidParams, "a cursor belongs to its filters");
    let none = list(json!({ "session_id": "another" })).await.unwrap();
    assert_eq!((none.jobs.len(), none.next_cursor), (0, None));
    let threads = world.job(&made.job_id).await.job.assigned_threads;
    let by_thread = list(json!({ "thread_id": threads[0] })).await.unwrap();
    assert_eq!(by_thread.jobs.len(), 1);
}

#[tokio::test]
async fn a_schedule_makes_jobs_and_makes_up_for_a_time_nobody_was_there() {
    let mut world = world().await;
    let value = json!({
        "schedule_id": "nightly", "every_ms": 3_600_000, "missed": "all",
        "job": { "instruction": "sweep", "items": [{ "arguments": "a" }, { "arguments": "b" }] },
    });
    let made = world.runtime.call(&world.caller, params::<CreateSchedule>(value.clone())).await.unwrap();
    assert_eq!(world.runtime.call(&world.caller, params::<CreateSchedule>(value)).await.unwrap(), made);
    assert_eq!(world.until_jobs_made(&made.session_id, 1).await, 1, "its first time is now");
    let first = world.schedules(false).await[0].last_job_id.clone().unwrap();
    world.until_job(&made.session_id, &first, |job| job.status.is_terminal()).await;
    world.clock.advance(Duration::from_secs(3 * 3_600));
    world.restart(agents()).await;
    assert_eq!(world.until_jobs_made(&made.session_id, 4).await, 4);
    let list = params::<ListJobs>(json!({ "session_id": made.session_id }));
    let jobs = world.runtime.call(&world.caller, list).await.unwrap().jobs;
    assert_eq!(jobs.len(), 4);
    for job in jobs {
        assert_eq!(job.schedule_id, Some("nightly".parse::<ScheduleId>().unwrap()));
        world.until_job(&made.session_id, &job.job_id, |job| job.status == JobStatus::Completed).await;
    }
    let end = params::<EndSchedule>(json!({ "schedule_id": "nightly" }));
    world.runtime.call(&world.caller, end.clone()).await.unwrap();
    world.runtime.call(&world.caller, end).await.unwrap();
    assert_eq!(world.schedules(false).await.len(), 0);
    let ended = world.schedules(true).await.remove(0);
    assert_eq!((ended.next_at, ended.jobs_made, ended.ended_at.is_some()), (None, 4, true));
}

impl World {
    async fn schedules(&self, include_ended: bool) -> Vec<ScheduleRecord> {
        let list = params::<ListSchedules>(json!({ "include_ended": include_ended }));
        self.runtime.call(&self.caller, list).await.unwrap().schedules
    }

    /// Waits, event by event, until the only schedule has made so many jobs.
    async fn until_jobs_made(&self, session_id: &SessionId, wanted: u64) -> u64 {
        let mut subscription = self.runtime.subscribe(&self.caller, session_id, 0).await.unwrap();
        loop {
            let made = self.schedules(true).await[0].jobs_made;
            if made >= wanted {
                return made;
            }
            let next = tokio::time::timeout(Duration::from_secs(20), subscription.next()).await;
            next.unwrap_or_else(|_| panic!("{made} jobs made")).unwrap();
        }
    }
}
