//! The same calls, whatever carries them. What comes back is written down, so that two transports can be compared whole.
//!
//! Between two calls the suite waits until the session has come to rest: then everything but ids and times is the same in
//! every run. What it reads while it waits is not written down.

mod jobs;
mod peers;
mod subagents;
mod tasks;
mod workers;

use factum_testkit::{Client, normalise};
use serde_json::{Value, json};

use crate::support::{field, text, wait_for};

/// Runs all of it; gives the transcript with ids and times replaced by numbers.
pub(crate) async fn transcript(client: &dyn Client) -> Vec<Value> {
    let mut suite = Suite { client, transcript: Vec::new() };
    let session = suite.plain_turn().await;
    suite.reads(&session).await;
    suite.approvals().await;
    suite.questions().await;
    suite.ends().await;
    suite.queue().await;
    suite.lists().await;
    suite.repeats(&session).await;
    suite.own_ids().await;
    suite.keys().await;
    suite.tasks().await;
    suite.workers().await;
    suite.peers().await;
    suite.jobs().await;
    suite.subagents().await;
    suite.mistakes(&session).await;
    match normalise(&Value::Array(suite.transcript)) {
        Value::Array(entries) => entries,
        other => panic!("{other}"),
    }
}

/// The members of both.
fn merged(mut params: Value, more: Value) -> Value {
    let (Some(members), Value::Object(more)) = (params.as_object_mut(), more) else { panic!("{params}") };
    members.extend(more);
    params
}

struct Suite<'a> {
    client: &'a dyn Client,
    transcript: Vec<Value>,
}

impl Suite<'_> {
    /// Calls and writes down what came of it.
    async fn call(&mut self, method: &str, params: Value) -> Value {
        let outcome = self.client.call(method, params.clone()).await;
        let (word, value) = match outcome {
            Ok(value) => ("ok", value),
            Err(value) => ("refused", value),
        };
        self.transcript.push(json!({ "method": method, "params": params, word: value }));
        value
    }

    /// A session with one turn. Sessions are listed by the millisecond they began in, so no two begin in the same one.
    async fn begin(&mut self, agent: &str, input: &str) -> String {
        let mut next = tokio::time::interval(std::time::Duration::from_millis(2));
        next.tick().await;
        next.tick().await;
        let answer = self.call("submit_turn", json!({ "agent": agent, "input": text(input) })).await;
        field(&answer, "session_id")
    }

    async fn rest(&self, session: &str, kind: &str, count: usize) -> Value {
        wait_for(self.client, session, kind, count).await
    }

    async fn events(&mut self, session: &str) {
        self.call("read_events", json!({ "session_id": session, "limit": 1000 })).await;
    }

    async fn plain_turn(&mut self) -> String {
        let session = self.begin("demo", "hello, how are you?").await;
        self.rest(&session, "turn.completed", 1).await;
        self.events(&session).await;
        session
    }

    async fn reads(&mut self, session: &str) {
        for method in ["get_session", "get_thread_read", "get_queue"] {
            self.call(method, json!({ "session_id": session })).await;
            let newest = self.call(method, json!({ "session_id": session, "as_of": 3 })).await;
            assert_eq!(newest["as_of_sequence"], 3);
        }
        let newest = self.call("get_thread_read", json!({ "session_id": session })).await["as_of_sequence"].as_u64();
        for as_of in 0..=newest.unwrap() + 1 {
            self.call("get_thread_read", json!({ "session_id": session, "as_of": as_of })).await;
        }
        for window in
            [json!({ "limit": 1 }), json!({ "limit": 2, "before": 5 }), json!({ "limit": 0 }), json!({ "limit": 201 })]
        {
            self.call("get_session", json!({ "session_id": session, "window": window })).await;
        }
        for page in [
            (Some(0), None, 3),
            (Some(3), None, 3),
            (None, Some(4), 2),
            (Some(1), Some(2), 3),
            (Some(1), None, 0),
            (Some(9999), None, 5),
        ] {
            let (after, before, limit) = page;
            let mut params = json!({ "session_id": session, "limit": limit });
            after.into_iter().for_each(|after: u64| params["after"] = json!(after));
            before.into_iter().for_each(|before: u64| params["before"] = json!(before));
            self.call("read_events", params).await;
        }
    }

    async fn approvals(&mut self) {
        for decision in ["allow", "deny"] {
            let session = self.begin("demo", "approve: deploy it").await;
            let action = field(&self.rest(&session, "action.required", 1).await, "action_id");
            self.call("get_thread_read", json!({ "session_id": session })).await;
            self.call("respond_action", json!({ "action_id": action, "decision": "perhaps" })).await;
            let answer =
                json!({ "action_id": action, "decision": decision, "idempotency_key": format!("decide {decision}") });
            let first = self.call("respond_action", answer.clone()).await;
            assert_eq!(first, self.call("respond_action", answer).await);
            self.call("respond_action", json!({ "action_id": action, "decision": "deny" })).await;
            self.call(
                "respond_action",
                json!({ "action_id": action, "decision": "no", "idempotency_key": "decide allow" }),
            )
            .await;
            self.rest(&session, "turn.completed", 1).await;
            self.events(&session).await;
        }
    }

    async fn questions(&mut self) {
        for (decision, payload) in [("answer", json!({ "text": "blue" })), ("decline", Value::Null)] {
            let session = self.begin("demo", "ask: what colour?").await;
            let action = field(&self.rest(&session, "action.required", 1).await, "action_id");
            self.call("respond_action", json!({ "action_id": action, "decision": decision, "payload": payload })).await;
            self.rest(&session, "turn.completed", 1).await;
            self.events(&session).await;
        }
    }

    async fn ends(&mut self) {
        let session = self.begin("demo", "fail: no reason").await;
        self.rest(&session, "turn.failed", 1).await;
        self.events(&session).await;
        self.call("get_thread_read", json!({ "session_id": session })).await;
        let session = self.begin("demo", "artifact: # A report").await;
        self.rest(&session, "turn.completed", 1).await;
        self.events(&session).await;
        self.call("get_session", json!({ "session_id": session })).await;
    }

    async fn queue(&mut self) {
        let session = self.begin("waiting", "work").await;
        self.rest(&session, "model.requested", 1).await;
        let submit = |name: &str, on_busy: &str| json!({ "session_id": session, "turn_id": name, "input": text(name), "on_busy": on_busy });
        for name in ["first", "second", "third", "fourth"] {
            self.call("submit_turn", submit(name, "queue")).await;
        }
        self.call("submit_turn", submit("never", "reject")).await;
        self.call("submit_turn", submit("second", "interrupt")).await;
        let turn = |name: &str| json!({ "session_id": session, "queued_turn_id": name });
        self.call("promote_queued_turn", turn("third")).await;
        self.call("promote_queued_turn", json!({ "session_id": session, "turn_id": "fourth", "position": 2 })).await;
        self.call("promote_queued_turn", json!({ "session_id": session, "turn_id": "fourth", "position": 9 })).await;
        self.call("remove_queued_turn", turn("first")).await;
        self.call("remove_queued_turn", turn("first")).await;
        self.call("get_queue", json!({ "session_id": session })).await;
        self.call("interrupt_turn", json!({ "session_id": session, "turn_id": "fourth", "reason": "not needed" }))
            .await;
        self.call("interrupt_turn", json!({ "session_id": session })).await;
        self.rest(&session, "model.requested", 2).await;
        self.call("submit_turn", submit("fifth", "interrupt")).await;
        self.rest(&session, "model.requested", 3).await;
        let thread = self.call("get_thread_read", json!({ "session_id": session })).await;
        let resume = json!({ "session_id": session, "thread_id": thread["thread_id"] });
        self.call("resume_thread", resume.clone()).await;
        self.call("interrupt_turn", json!({ "session_id": session, "turn_id": "fifth" })).await;
        self.rest(&session, "model.requested", 4).await;
        self.call("interrupt_turn", json!({ "session_id": session })).await;
        self.call("interrupt_turn", json!({ "session_id": session })).await;
        self.call("interrupt_turn", json!({ "session_id": session, "turn_id": "unheard-of" })).await;
        self.call("resume_thread", resume).await;
        self.events(&session).await;
    }

    async fn lists(&mut self) {
        let mut cursor = Value::Null;
        loop {
            let page = self.call("list_sessions", json!({ "limit": 3, "cursor": cursor })).await;
            match page.get("next_cursor") {
                Some(next) if !next.is_null() => cursor = next.clone(),
                _ => break,
            }
        }
        for limit in [0, 201] {
            self.call("list_sessions", json!({ "limit": limit })).await;
        }
        let refused = self.client.call("list_sessions", json!({ "cursor": "forged" })).await.unwrap_err();
        assert_eq!(refused["code"], "invalid_params", "{refused}");
    }

    async fn repeats(&mut self, session: &str) {
        let keyed = json!({ "title": "Kept", "idempotency_key": "create" });
        let first = self.call("create_session", keyed.clone()).await;
        assert_eq!(first, self.call("create_session", keyed).await);
        self.call("create_session", json!({ "title": "Other", "idempotency_key": "create" })).await;
        self.call("update_session", json!({ "session_id": session, "title": "Other", "idempotency_key": "create" }))
            .await;
        let turn = json!({ "session_id": session, "turn_id": "mine", "input": text("again") });
        let first = self.call("submit_turn", turn.clone()).await;
        self.rest(session, "turn.completed", 2).await;
        assert_eq!(first, self.call("submit_turn", turn).await);
        self.call("submit_turn", json!({ "session_id": session, "turn_id": "mine", "input": text("other") })).await;
        self.call("submit_turn", json!({ "turn_id": "mine", "input": text("again") })).await;
        let both =
            json!({ "session_id": session, "turn_id": "both", "idempotency_key": "both", "input": text("both") });
        let first = self.call("submit_turn", both.clone()).await;
        self.rest(session, "turn.completed", 3).await;
        assert_eq!(first, self.call("submit_turn", both).await);
        for key in ["", "@turn/mine", "a\u{7}b", &"x".repeat(129)] {
            self.call("submit_turn", json!({ "session_id": session, "idempotency_key": key, "input": text("x") }))
                .await;
        }
        self.events(session).await;
    }

    async fn own_ids(&mut self) {
        // What a turn names and is missing comes to be.
        for thread in ["thread_mine", "thread_other"] {
            let params =
                json!({ "session_id": "sess_mine", "thread_id": thread, "agent": "waiting", "input": text("x") });
            self.call("submit_turn", params).await;
        }
        let mine = json!({ "session_id": "my-session", "title": "Mine", "metadata": { "a": [1, { "b": null }] } });
        self.call("create_session", mine.clone()).await;
        self.call("create_session", mine).await;
        self.call("update_session", json!({ "session_id": "my-session", "title": "Still mine", "metadata": {} })).await;
        self.call("submit_turn", json!({ "session_id": "my-session", "input": text("hi") })).await;
        self.rest("my-session", "turn.completed", 1).await;
        self.call("get_session", json!({ "session_id": "my-session" })).await;
        for bad in ["", "a b", "a/b", "ü", &"x".repeat(129)] {
            self.call("create_session", json!({ "session_id": bad })).await;
        }
    }

    async fn keys(&mut self) {
        let key = self.call("create_api_key", json!({ "principal": "agent://robot", "scopes": ["sessions:read"], "name": "one", "idempotency_key": "key" })).await;
        self.call("create_api_key", json!({ "principal": "agent://robot", "scopes": ["sessions:read"], "name": "one", "idempotency_key": "key" })).await;
        self.call("list_api_keys", json!({})).await;
        self.call("revoke_api_key", json!({ "key_id": key["key_id"], "reason": "lost" })).await;
        self.call("list_api_keys", json!({ "limit": 1 })).await;
        self.call("revoke_api_key", json!({ "key_id": "key_nobody" })).await;
        for bad in [
            json!({ "principal": "" }),
            json!({ "principal": "a", "scopes": [] }),
            json!({ "principal": "a", "scopes": ["root"] }),
            json!({ "principal": "a", "expires_at": "2001-01-01T00:00:00Z" }),
        ] {
            self.call("create_api_key", bad).await;
        }
    }

    async fn mistakes(&mut self, session: &str) {
        let nobody = json!({
            "session_id": "sess_nobody", "thread_id": "thread_nobody", "queued_turn_id": "t", "action_id": "act_nobody",
            "decision": "allow", "input": text("x"), "task_id": "task_nobody", "reason": "x", "from": "task_nobody",
            "to": "task_other", "relationship": "blocks", "error": { "category": "x", "message": "x" },
            "run_id": "run_nobody", "lease_token": 1, "channel_id": "chan_nobody", "job_id": "job_nobody",
            "job_item_id": "item_nobody", "instruction": "x", "schedule_id": "sched_nobody", "objective": "x",
            "subagent_id": "sub_nobody", "subagent_ids": ["sub_nobody"], "every_ms": 60_000,
            "job": { "instruction": "x" },
        });
        for method in [
            "interrupt_turn",
            "resume_thread",
            "remove_queued_turn",
            "promote_queued_turn",
            "update_session",
            "get_session",
            "get_thread_read",
            "get_queue",
            "read_events",
            "respond_action",
            "create_task",
            "update_task",
            "start_task",
            "append_task_progress",
            "pause_task",
            "resume_task",
            "cancel_task",
            "retry_task",
            "complete_task",
            "fail_task",
            "get_task",
            "get_task_snapshot",
            "link_tasks",
            "unlink_tasks",
            "claim_runs",
            "heartbeat_run",
            "report_run",
            "complete_run",
            "fail_run",
            "release_run",
            "create_job",
            "get_job",
            "cancel_job",
            "retry_job_item",
            "create_schedule",
            "end_schedule",
            "spawn_subagent",
            "send_subagent_input",
            "resume_subagent",
            "close_subagent",
            "wait_subagents",
            "list_subagents",
            "get_subagent_job_summary",
            "reconnect_channel",
            "ack_events",
            "follow_sessions",
            "heartbeat_channel",
            "close_channel",
            "get_channel_summary",
        ] {
            self.call(method, nobody.clone()).await;
            self.call(method, json!({})).await;
            self.call(method, json!({ "session_id": 7, "action_id": [] })).await;
        }
        self.call("get_thread_read", json!({ "session_id": session, "thread_id": "thread_nobody" })).await;
        self.call("submit_turn", json!({ "session_id": session, "thread_id": "thread_nobody", "input": text("x") }))
            .await;
        self.call("submit_turn", json!({ "input": [] })).await;
        self.call("submit_turn", json!({ "input": [{ "type": "smell" }] })).await;
        self.call("submit_turn", json!({ "input": text("x"), "agent": "nobody" })).await;
        self.call("submit_turn", json!({ "input": text("x"), "on_busy": "panic" })).await;
        self.call("submit_turn", json!({ "input": vec![json!({ "type": "text", "text": "x" }); 65] })).await;
        self.call("submit_turn", json!({ "input": text("x"), "metadata": { "big": "x".repeat(20_000) } })).await;
        self.call("create_session", json!({ "title": "x".repeat(257) })).await;
        for method in factum_runtime::UNAVAILABLE {
            self.call(method, json!({})).await;
        }
        for method in ["no_such_method", "", "Submit_turn", "submit_turn/", "subscribe "] {
            // Each transport says it in its own words.
            let refused = self.client.call(method, json!({})).await.unwrap_err();
            assert_eq!(
                (&refused["code"], &refused["retryable"]),
                (&json!("not_found"), &json!(false)),
                "{method}: {refused}"
            );
        }
    }
}
