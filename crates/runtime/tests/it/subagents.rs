//! Child agents in a running runtime: they work, are waited for, survive restarts and stay in their account.

use std::time::Duration;

use factum_model::commands::*;
use factum_model::id::{SessionId, SubagentId, ThreadId};
use factum_model::registry::Scopes;
use factum_model::subagent::{SubagentRecord, SubagentState};
use factum_model::value::{Part, Status};
use factum_model::{ErrorCode, Refusal};
use factum_runtime::{Agents, Caller};
use futures::FutureExt;
use serde_json::{Value, json};

use crate::world::World;

impl World {
    async fn session(&self) -> SessionId {
        let session_id = self.submit("hello").await.unwrap().session_id;
        self.until(&session_id, Status::Completed).await;
        session_id
    }

    /// A child agent of this name that is told `text`, below another where one is named.
    async fn spawn(&self, session_id: &SessionId, id: &str, parent: Option<&str>, text: &str) -> SpawnSubagentResult {
        // The agent `waiting` never answers, so its turn runs for as long as a test wants.
        let agent = if text == "wait" { "waiting" } else { "demo" };
        let params = json!({
            "session_id": session_id, "subagent_id": id, "parent_subagent_id": parent, "agent": agent,
            "input": [{ "type": "text", "text": text }],
        });
        self.call::<SpawnSubagent>(params).await.unwrap()
    }

    async fn call<C>(&self, params: Value) -> Result<C::Output, Refusal>
    where
        C: factum_model::Command + serde::de::DeserializeOwned,
        factum_runtime::Runtime: factum_runtime::Handle<C>,
    {
        let command: C = serde_json::from_value(params).unwrap();
        self.runtime.call(&self.caller, command).await
    }

    async fn wait(&self, ids: &[&str], until: WaitUntil, timeout_ms: u64) -> WaitSubagentsResult {
        let params = json!({ "subagent_ids": ids, "until": until, "timeout_ms": timeout_ms });
        self.call::<WaitSubagents>(params).await.unwrap()
    }

    /// Waits long enough to be sure, and only as long as it takes.
    async fn rests(&self, id: &str) -> SubagentRecord {
        let waited = self.wait(&[id], WaitUntil::All, 20_000).await;
        assert!(!waited.timed_out, "{waited:?}");
        waited.subagents.into_iter().next().unwrap()
    }

    async fn status(&self, id: &str) -> SubagentState {
        self.wait(&[id], WaitUntil::All, 0).await.subagents[0].status
    }

    /// Every child agent a list shows, page by page.
    async fn list(&self, filter: Value, limit: u32) -> Vec<SubagentRecord> {
        let mut all = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let mut params = filter.clone();
            params["limit"] = json!(limit);
            params["cursor"] = json!(cursor);
            let page = self.call::<ListSubagents>(params).await.unwrap();
            all.extend(page.subagents);
            cursor = page.next_cursor;
            if cursor.is_none() {
                return all;
            }
        }
    }

    async fn child_thread(&self, session_id: &SessionId, thread_id: &ThreadId) -> factum_model::read::ThreadReadModel {
        let params = json!({ "session_id": session_id, "thread_id": thread_id });
        self.call::<GetThreadRead>(params).await.unwrap()
    }
}

fn names(records: &[SubagentRecord]) -> Vec<&str> {
    records.iter().map(|record| record.subagent_id.as_str()).collect()
}

#[tokio::test]
async fn a_child_works_and_is_waited_for() {
    let world = World::new().await;
    let session_id = world.session().await;
    let spawned = world.spawn(&session_id, "child", None, "hello child").await;
    assert_eq!(spawned.status, SubagentState::Running);
    let record = world.rests("child").await;
    assert_eq!((record.status, record.depth), (SubagentState::Completed, 1));
    assert!(record.last_message_ref.is_some());
    let thread = world.child_thread(&session_id, &spawned.thread_id).await;
    assert!(thread.last_outcome.unwrap().preview.unwrap().contains("hello child"));

    let more = json!({ "subagent_id": "child", "input": [{ "type": "text", "text": "and more" }] });
    let answer = world.call::<SendSubagentInput>(more).await.unwrap();
    assert_eq!(answer.status, SubagentState::Running);
    world.rests("child").await;
    let resumed = world.call::<ResumeSubagent>(json!({ "subagent_id": "child" })).await.unwrap();
    assert_eq!(resumed.thread_id, spawned.thread_id);
    world.rests("child").await;
    let thread = world.child_thread(&session_id, &spawned.thread_id).await;
    assert_eq!(thread.diagnostics.turns_completed, 3);
}

#[tokio::test]
async fn a_wait_ends_when_any_or_all_rest_or_its_time_is_over() {
    let world = World::new().await;
    let session_id = world.session().await;
    world.spawn(&session_id, "busy", None, "wait").await;
    let other = world.session().await;
    world.spawn(&other, "quick", None, "hello").await;
    let any = world.wait(&["busy", "quick"], WaitUntil::Any, 20_000).await;
    assert!(!any.timed_out);
    assert_eq!(names(&any.subagents), ["busy", "quick"], "in the order they were named");
    assert_eq!(any.subagents[1].status, SubagentState::Completed);
    let all = world.wait(&["busy", "quick"], WaitUntil::All, 0).await;
    assert!(all.timed_out);
    assert_eq!(all.subagents[0].status, SubagentState::Running);
}

#[tokio::test]
async fn a_wait_is_woken_by_what_happens() {
    let world = World::new().await;
    let session_id = world.session().await;
    let child = world.spawn(&session_id, "child", None, "approve: ship it").await;
    let mut subscription = world.runtime.subscribe(&world.caller, &session_id, 0).await.unwrap();
    while world.status("child").await != SubagentState::WaitingPermission {
        subscription.next().await.unwrap();
    }
    let mut waiting = Box::pin(world.wait(&["child"], WaitUntil::All, 600_000));
    assert!(waiting.as_mut().now_or_never().is_none(), "who waits for a person is not at rest");
    let action_id = world.child_thread(&session_id, &child.thread_id).await.pending_actions[0].action_id.clone();
    world.call::<RespondAction>(json!({ "action_id": action_id, "decision": "allow" })).await.unwrap();
    let waited = tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("woken");
    assert_eq!(waited.subagents[0].status, SubagentState::Completed);
}

#[tokio::test]
async fn a_close_wakes_who_waits() {
    let world = World::new().await;
    let session_id = world.session().await;
    world.spawn(&session_id, "child", None, "wait").await;
    world.spawn(&session_id, "grandchild", Some("child"), "wait").await;
    let mut waiting = Box::pin(world.wait(&["grandchild"], WaitUntil::All, 600_000));
    assert!(waiting.as_mut().now_or_never().is_none());
    let closed = world.call::<CloseSubagent>(json!({ "subagent_id": "child" })).await.unwrap();
    assert_eq!(closed.status, SubagentState::Closed);
    let waited = tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("woken");
    assert_eq!(waited.subagents[0].status, SubagentState::Closed);
    let again = world.call::<CloseSubagent>(json!({ "subagent_id": "child" })).await.unwrap();
    assert_eq!((again.status, again.thread_id), (SubagentState::Closed, closed.thread_id), "a no-op is answered");
    let refused = world.call::<ResumeSubagent>(json!({ "subagent_id": "child" })).await.unwrap_err();
    assert_eq!((refused.code, &refused.details["status"]), (ErrorCode::PreconditionFailed, &json!("closed")));
    let below = json!({ "session_id": session_id, "parent_subagent_id": "child", "input": [] });
    assert_eq!(world.call::<SpawnSubagent>(below).await.unwrap_err().code, ErrorCode::PreconditionFailed);
}

#[tokio::test]
async fn descendants_are_listed_after_a_restart_and_running_ones_carried_on() {
    let mut world = World::new().await;
    let session_id = world.session().await;
    let running = world.spawn(&session_id, "running", None, "wait").await;
    world.spawn(&session_id, "done", Some("running"), "hello").await;
    world.rests("done").await;
    world.spawn(&session_id, "closed", Some("done"), "hello").await;
    world.rests("closed").await;
    world.call::<CloseSubagent>(json!({ "subagent_id": "closed" })).await.unwrap();
    world.spawn(&session_id, "beside", None, "ask: which colour?").await;
    let mut subscription = world.runtime.subscribe(&world.caller, &session_id, 0).await.unwrap();
    while world.status("beside").await != SubagentState::WaitingInput {
        subscription.next().await.unwrap();
    }
    let filter = json!({ "session_id": session_id, "descendants": true });
    let before = world.list(filter.clone(), 50).await;
    assert_eq!(names(&before), ["running", "done", "closed", "beside"]);

    world.restart(Agents::demo()).await;
    let after = world.list(filter.clone(), 1).await;
    assert_eq!(names(&after), names(&before));
    let statuses: Vec<SubagentState> = after.iter().map(|record| record.status).collect();
    use SubagentState::*;
    assert_eq!(statuses, [Running, Completed, Closed, WaitingInput]);
    // Carrying it on is written down, so its `updated_at` may differ; nothing else does.
    assert_eq!(after[1..], before[1..]);
    let thread = world.child_thread(&session_id, &running.thread_id).await;
    assert_eq!(thread.active_turn.unwrap().attempt, 2, "somebody runs what is said to run");

    let below = |id: &str, descendants: bool| json!({ "session_id": session_id, "subagent_id": id, "descendants": descendants });
    assert_eq!(names(&world.list(below("running", true), 50).await), ["done", "closed"]);
    assert_eq!(names(&world.list(below("running", false), 50).await), ["done"]);
    assert_eq!(names(&world.list(json!({ "session_id": session_id }), 1).await), ["running", "beside"]);
}

#[tokio::test]
async fn the_thread_of_a_child_that_was_closed_long_ago_is_read_as_before() {
    let mut world = World::new().await;
    let session_id = world.session().await;
    let first = world.spawn(&session_id, "first", None, "hello").await;
    world.rests("first").await;
    world.call::<CloseSubagent>(json!({ "subagent_id": "first" })).await.unwrap();
    let read = |as_of: Option<u64>| json!({ "session_id": session_id, "thread_id": first.thread_id, "as_of": as_of });
    let just_closed = world.call::<GetThreadRead>(read(None)).await.unwrap();
    assert_eq!(just_closed.last_outcome.as_ref().map(|outcome| outcome.status), Some(Status::Completed));
    for number in 0..70 {
        let id = format!("other{number}");
        world.call::<SpawnSubagent>(json!({ "session_id": session_id, "subagent_id": id })).await.unwrap();
        world.call::<CloseSubagent>(json!({ "subagent_id": id })).await.unwrap();
    }
    for restarted in [false, true] {
        let session = world.call::<GetSession>(json!({ "session_id": session_id })).await.unwrap();
        assert_eq!(session.threads.len(), 1 + 64, "the main one and the last that came to rest");
        assert!(session.threads.iter().all(|thread| thread.thread_id != first.thread_id));
        let seen = world.call::<GetThreadRead>(read(None)).await.unwrap();
        assert_eq!(seen.as_of_sequence, session.as_of_sequence);
        let as_of_sequence = just_closed.as_of_sequence;
        assert_eq!(factum_model::read::ThreadReadModel { as_of_sequence, ..seen }, just_closed);
        assert_eq!(world.call::<GetThreadRead>(read(Some(as_of_sequence))).await.unwrap(), just_closed);
        let queue = world.call::<GetQueue>(read(None)).await.unwrap();
        assert_eq!((queue.queued_turns.len(), queue.status), (0, Status::Completed));
        let before = world.call::<GetThreadRead>(read(Some(1))).await;
        assert_eq!(before, Err(Refusal::not_found()), "there was no such thread then");
        let said = world.call::<SubmitTurn>(json!({ "session_id": session_id, "thread_id": first.thread_id, "input": [{ "type": "text", "text": "hello" }] }));
        let refusal = said.await.unwrap_err();
        assert_eq!(refusal.code, ErrorCode::PreconditionFailed);
        assert!(refusal.message.contains("takes no more input"), "{refusal:?}");
        if !restarted {
            world.restart(Agents::demo()).await;
        }
    }
}

#[tokio::test]
async fn work_that_does_not_settle_is_ended_even_across_a_restart() {
    let mut world = World::new().await;
    let session_id = world.session().await;
    world.spawn(&session_id, "child", None, "wait").await;
    let close = json!({ "subagent_id": "child", "grace_ms": 60_000, "reason": "enough" });
    assert_eq!(world.call::<CloseSubagent>(close).await.unwrap().status, SubagentState::Closing);
    world.restart(Agents::demo()).await;
    assert_eq!(world.status("child").await, SubagentState::Closing);
    world.clock.advance(Duration::from_secs(61));
    world.restart(Agents::demo()).await;
    let record = world.rests("child").await;
    assert_eq!(record.status, SubagentState::Closed);
    assert_eq!(record.last_error.unwrap().message, "enough");
}

#[tokio::test]
async fn spawning_is_safe_to_repeat_and_ids_are_the_accounts() {
    let world = World::new().await;
    let session_id = world.session().await;
    let first = world.spawn(&session_id, "child", None, "wait").await;
    assert_eq!(world.spawn(&session_id, "child", None, "wait").await, first, "the same answer");
    let spawn =
        |session_id: &SessionId, role: &str| json!({ "session_id": session_id, "subagent_id": "child", "role": role });
    let changed = world.call::<SpawnSubagent>(spawn(&session_id, "other")).await.unwrap_err();
    assert_eq!(changed.code, ErrorCode::Conflict, "the same id for something else");
    let other = world.session().await;
    let elsewhere = Caller::new("agent://second", "acme", Scopes::admin());
    let command: SpawnSubagent = serde_json::from_value(spawn(&other, "other")).unwrap();
    assert_eq!(world.runtime.call(&elsewhere, command).await.unwrap_err().code, ErrorCode::Conflict);
    let keyed = json!({ "session_id": session_id, "input": [], "idempotency_key": "k1" });
    let one = world.call::<SpawnSubagent>(keyed.clone()).await.unwrap();
    assert_eq!(world.call::<SpawnSubagent>(keyed).await.unwrap(), one);
    assert_eq!(world.list(json!({ "session_id": session_id }), 50).await.len(), 2);
}

#[tokio::test]
async fn another_account_finds_nothing() {
    let world = World::new().await;
    let session_id = world.session().await;
    world.spawn(&session_id, "child", None, "wait").await;
    let stranger = Caller::new("agent://tester", "other", Scopes::admin());
    let input = json!([Part::Text { text: "hello".to_owned() }]);
    let calls = [
        ("spawn_subagent", json!({ "session_id": session_id, "input": input })),
        ("spawn_subagent", json!({ "session_id": session_id, "agent": "no such agent", "input": input })),
        ("send_subagent_input", json!({ "subagent_id": "child", "input": input })),
        ("resume_subagent", json!({ "subagent_id": "child" })),
        ("close_subagent", json!({ "subagent_id": "child" })),
        ("wait_subagents", json!({ "subagent_ids": ["child"] })),
        ("list_subagents", json!({ "session_id": session_id })),
        ("get_subagent_job_summary", json!({ "session_id": session_id })),
    ];
    for (name, params) in calls {
        let answer = world.runtime.call_by_name(&stranger, name, &params.to_string()).await;
        let refused = answer.map(|_| ()).unwrap_err();
        assert_eq!(refused, factum_runtime::CallError::Refused(Refusal::not_found()), "{name}");
    }
    let own = world.runtime.call_by_name(&stranger, "submit_turn", r#"{"input":[{"type":"text","text":"hi"}]}"#).await;
    let own: SubmitTurnResult = serde_json::from_str(own.unwrap().get()).unwrap();
    let theirs = json!({ "session_id": own.session_id, "parent_subagent_id": "child", "input": input });
    let answer = world.runtime.call_by_name(&stranger, "spawn_subagent", &theirs.to_string()).await;
    assert_eq!(answer.map(|_| ()).unwrap_err(), factum_runtime::CallError::Refused(Refusal::not_found()));
}

#[tokio::test]
async fn waits_and_lists_have_bounds() {
    let world = World::new().await;
    let session_id = world.session().await;
    world.spawn(&session_id, "child", None, "wait").await;
    world.spawn(&session_id, "second", None, "wait").await;
    let wait = |ids: Vec<SubagentId>, ms: u64| json!({ "subagent_ids": ids, "timeout_ms": ms });
    let child: SubagentId = "child".parse().unwrap();
    let table = [
        (
            wait(vec![child.clone()], 600_001),
            ErrorCode::LimitExceeded,
            "subagent_wait_ms is 600001, the limit is 600000",
        ),
        (wait(vec![child.clone(); 101], 1), ErrorCode::LimitExceeded, "subagent_ids is 101, the limit is 100"),
        (wait(Vec::new(), 1), ErrorCode::InvalidParams, "subagent_ids needs at least one id"),
        (wait(vec!["unknown".parse().unwrap()], 1), ErrorCode::NotFound, "not found"),
    ];
    for (params, code, message) in table {
        let refused = world.call::<WaitSubagents>(params).await.unwrap_err();
        assert_eq!((refused.code, refused.message.as_str()), (code, message));
    }
    let page = world.call::<ListSubagents>(json!({ "session_id": session_id, "limit": 1 })).await.unwrap();
    let cursor = page.next_cursor.unwrap();
    let misused = json!({ "session_id": session_id, "descendants": true, "cursor": cursor });
    assert_eq!(world.call::<ListSubagents>(misused).await.unwrap_err().code, ErrorCode::InvalidParams);
    let two = json!({ "session_id": session_id, "subagent_id": "child", "turn_id": "t" });
    assert_eq!(world.call::<ListSubagents>(two).await.unwrap_err().code, ErrorCode::InvalidParams);
    let summary = world.call::<GetSubagentJobSummary>(json!({ "session_id": session_id })).await.unwrap();
    assert_eq!((summary.subagents.len(), summary.subagents_total, summary.assigned_threads.len()), (2, 2, 2));
}
