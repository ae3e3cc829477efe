//! Two accounts that cannot see each other: for every command and every stream, what belongs to another account gives the
//! same bytes as what never existed.

use factum_api::grpc::proto::SubscribeRequest;
use factum_model::commands::COMMANDS;
use factum_testkit::clients::Grpc;
use factum_testkit::{Client, Server};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::access::offline_key;
use crate::support::*;

/// Ids of everything an account has, or of nothing at all.
#[derive(Clone)]
struct Ids {
    session: String,
    thread: String,
    turn: String,
    queued: String,
    action: String,
    key: String,
    channel: String,
    task: String,
    run: String,
    job: String,
    item: String,
    schedule: String,
    subagent: String,
    peer: String,
}

impl Ids {
    /// Ids of the same shape that never existed.
    fn nobody() -> Self {
        let id = |prefix: &str| format!("{prefix}_0198c0de-0000-7000-8000-000000000000");
        Self {
            session: id("sess"),
            thread: id("thread"),
            turn: id("turn"),
            queued: id("turn"),
            action: id("act"),
            key: id("key"),
            channel: id("chan"),
            task: id("task"),
            run: id("run"),
            job: id("job"),
            item: id("item"),
            schedule: id("sched"),
            subagent: id("sub"),
            peer: id("chan"),
        }
    }
}

/// What every command is asked about somebody's things. A command nobody wrote a line for here fails the test.
fn params(command: &str, ids: &Ids) -> Value {
    let Ids { session, thread, turn, queued, action, key, channel, .. } = ids;
    let Ids { task, run, job, item, schedule, subagent, peer, .. } = ids;
    match command {
        "submit_turn" => json!({ "session_id": session, "thread_id": thread, "input": text("x") }),
        "interrupt_turn" => json!({ "session_id": session, "thread_id": thread, "turn_id": turn }),
        "resume_thread" => json!({ "session_id": session, "thread_id": thread }),
        "remove_queued_turn" | "promote_queued_turn" => json!({ "session_id": session, "queued_turn_id": queued }),
        "update_session" => json!({ "session_id": session, "title": "mine now" }),
        "get_session" | "get_thread_read" | "get_queue" => json!({ "session_id": session, "as_of": 2 }),
        "read_events" => json!({ "session_id": session, "after": 1, "limit": 2 }),
        "respond_action" => json!({ "action_id": action, "decision": "allow" }),
        "revoke_api_key" => json!({ "key_id": key }),
        "channels/get" | "channels/history" | "channels/presence" | "channels/delete" | "channels/audit" => {
            json!({ "channelId": channel })
        }
        "channels/update" => json!({ "channelId": channel, "expectedVersion": 1, "name": "mine now" }),
        "channels/addMember" | "channels/removeMember" => json!({ "channelId": channel, "principalId": "user://eve" }),
        "channels/publish" => json!({ "channelId": channel, "parts": text("x") }),
        "channels/markRead" => json!({ "channelId": channel, "sequence": 1 }),
        "create_task" => json!({ "objective": "x", "parent_task_id": task }),
        "get_task"
        | "update_task"
        | "start_task"
        | "append_task_progress"
        | "pause_task"
        | "resume_task"
        | "cancel_task"
        | "complete_task" => json!({ "task_id": task }),
        "retry_task" => json!({ "task_id": task, "reason": "x" }),
        "fail_task" => json!({ "task_id": task, "error": { "category": "x", "message": "x" } }),
        "link_tasks" | "unlink_tasks" => json!({ "from": task, "to": "art_1", "relationship": "evidence" }),
        "get_task_snapshot" | "get_subagent_job_summary" | "list_subagents" => json!({ "session_id": session }),
        "spawn_subagent" => json!({ "session_id": session, "input": text("x") }),
        "send_subagent_input" => json!({ "subagent_id": subagent, "input": text("x") }),
        "resume_subagent" | "close_subagent" => json!({ "subagent_id": subagent }),
        "wait_subagents" => json!({ "subagent_ids": [subagent], "timeout_ms": 1 }),
        "create_job" => json!({ "session_id": session, "instruction": "x", "items": [{}] }),
        "get_job" | "cancel_job" => json!({ "job_id": job }),
        "retry_job_item" => json!({ "job_id": job, "job_item_id": item }),
        "create_schedule" => {
            json!({ "session_id": session, "every_ms": 3_600_000, "job": { "instruction": "x" } })
        }
        "end_schedule" => json!({ "schedule_id": schedule }),
        "claim_runs" | "reconnect_channel" | "heartbeat_channel" | "close_channel" | "get_channel_summary" => {
            json!({ "channel_id": peer })
        }
        "ack_events" => json!({ "channel_id": peer, "acknowledged_sequence": 1 }),
        "follow_sessions" => json!({ "channel_id": peer, "follow": [session] }),
        "heartbeat_run" | "report_run" | "complete_run" | "release_run" => json!({ "run_id": run, "lease_token": 1 }),
        "fail_run" => json!({ "run_id": run, "lease_token": 1, "error": { "category": "x", "message": "x" } }),
        // These name nothing of anybody's.
        "list_tasks" | "list_jobs" | "list_schedules" => json!({}),
        "enroll_channel" => json!({ "peer_role": "worker", "session_ids": [session] }),
        "list_remote_channels" => json!({}),
        "create_session" | "list_sessions" | "create_api_key" | "list_api_keys" | "channels/create"
        | "channels/list" => json!({}),
        unavailable if factum_runtime::UNAVAILABLE.contains(&unavailable) => {
            json!({ "session_id": session, "thread_id": thread, "task_id": action, "job_id": action })
        }
        other => panic!("say here what {other} is asked about other accounts' things"),
    }
}

/// Ada's account has a turn at work, one queued, an open action, a key and a public channel; Eve's has only a key.
async fn accounts() -> (tempfile::TempDir, Server, Ids, [String; 2]) {
    let dir = tempfile::tempdir().unwrap();
    let ada = offline_key(&dir, "ada", &["--admin"]).await;
    let eve = offline_key(&dir, "eve", &["--admin"]).await;
    let server = factum_testkit::Launch::serve(BINARY, dir.path().join("data")).start().await;
    let http = server.http(Some(&ada));
    let first = http.call("submit_turn", json!({ "input": text("approve: something of Ada's") })).await.unwrap();
    let session = field(&first, "session_id");
    let action = wait_for(&http, &session, "action.required", 1).await;
    let queued = http.call("submit_turn", json!({ "session_id": session, "input": text("later") })).await.unwrap();
    let keys = http.call("list_api_keys", json!({})).await.unwrap();
    let channel = http.call("channels/create", json!({ "visibility": "public" })).await.unwrap();
    let in_session = |mut params: Value| {
        params["session_id"] = json!(session);
        params
    };
    let task = http.call("create_task", in_session(json!({ "objective": "Ada's" }))).await.unwrap();
    let started = http.call("start_task", json!({ "task_id": task["task_id"] })).await.unwrap();
    let job = json!({ "instruction": "Ada's", "items": [{ "job_item_id": "item_ada" }], "queue": "ada" });
    let job = http.call("create_job", in_session(job)).await.unwrap();
    let schedule = json!({ "every_ms": 3_600_000, "job": { "instruction": "Ada's", "queue": "ada" } });
    let schedule = http.call("create_schedule", in_session(schedule)).await.unwrap();
    let subagent =
        http.call("spawn_subagent", in_session(json!({ "agent": "waiting", "input": text("x") }))).await.unwrap();
    let peer = http.call("enroll_channel", json!({ "peer_role": "worker" })).await.unwrap();
    let ids = Ids {
        task: field(&task, "task_id"),
        run: field(&started, "run_id"),
        job: field(&job, "job_id"),
        item: "item_ada".to_owned(),
        schedule: field(&schedule, "schedule_id"),
        subagent: field(&subagent, "subagent_id"),
        peer: field(&peer, "channel_id"),
        channel: field(&channel["channel"], "id"),
        session,
        thread: field(&first, "thread_id"),
        turn: field(&first, "turn_id"),
        queued: field(&queued, "turn_id"),
        action: field(&action, "action_id"),
        key: field(&keys["keys"][0], "key_id"),
    };
    (dir, server, ids, [ada, eve])
}

/// A whole response: status, headers but the date, body.
async fn bytes(request: RequestBuilder) -> (u16, Vec<(String, String)>, String) {
    let response = request.send().await.unwrap();
    let header = |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
        (name.to_string(), value.to_str().unwrap().to_owned())
    };
    let headers = response.headers().iter().map(header).filter(|(name, _)| name != "date").collect();
    (response.status().as_u16(), headers, response.text().await.unwrap())
}

#[tokio::test]
async fn what_is_not_yours_and_what_is_not_there_are_the_same_bytes() {
    let (_dir, server, ids, [ada, eve]) = accounts().await;
    let nobody = Ids::nobody();
    let before = all_events(&server.http(Some(&ada)), &ids.session).await;
    let http = server.http(Some(&eve));
    let (ws, grpc) = (server.ws(Some(&eve)).await, server.grpc(Some(&eve)));
    for command in COMMANDS.iter().map(|command| command.name) {
        let (theirs, absent) = (params(command, &ids), params(command, &nobody));
        // What a turn names and is missing is created, under the same name in an account of one's own: see below.
        if theirs == absent || command == "submit_turn" {
            continue;
        }
        let plain =
            |params: &Value| bytes(http.request(Method::POST, &format!("/v1/{command}")).body(params.to_string()));
        assert_eq!(plain(&theirs).await, plain(&absent).await, "{command}");
        let rpc = |params: &Value| {
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": command, "params": params }).to_string();
            bytes(http.request(Method::POST, "/rpc").body(body))
        };
        assert_eq!(rpc(&theirs).await, rpc(&absent).await, "{command}");
        assert_eq!(ws.call(command, theirs.clone()).await, ws.call(command, absent.clone()).await, "{command}");
        let status = async |params: &Value| {
            let status = grpc.raw(command, &params.to_string()).await.unwrap_err();
            let error = Grpc::error(&status);
            (status.code(), status.message().to_owned(), error)
        };
        let (theirs, absent) = (status(&theirs).await, status(&absent).await);
        assert_eq!(theirs, absent, "{command}");
        if !factum_runtime::UNAVAILABLE.contains(&command) {
            assert_eq!(theirs.0, tonic::Code::NotFound, "{command}");
        }
    }
    let own = http.call("submit_turn", params("submit_turn", &ids)).await.unwrap();
    assert_eq!((own["session_id"].as_str(), own["status"].as_str()), (Some(&*ids.session), Some("accepted")));
    let first = all_events(&http, &ids.session).await.remove(0);
    assert_eq!(first["type"], "session.created", "another session, which has Ada's name and nothing else of hers");
    assert_eq!(all_events(&server.http(Some(&ada)), &ids.session).await, before, "Eve changed nothing");
}

#[tokio::test]
async fn a_task_of_others_or_of_another_session_is_no_place_for_a_job_or_a_child() {
    let (_dir, server, ids, [ada, eve]) = accounts().await;
    let elsewhere = server.http(Some(&ada)).call("create_session", json!({})).await.unwrap();
    let mine = server.http(Some(&eve)).call("create_session", json!({})).await.unwrap();
    let nobody = Ids::nobody();
    let asked = |session: &Value, task: &str| {
        let job = json!({ "session_id": session, "task_id": task, "instruction": "x", "items": [{}] });
        let alone = json!({ "task_id": task, "instruction": "x", "items": [{}] });
        let child = json!({ "session_id": session, "task_id": task });
        let spawned = json!({ "session_id": session, "parent_task_id": task });
        [("create_job", job), ("create_job", alone), ("spawn_subagent", child), ("spawn_subagent", spawned)]
    };
    for (key, session) in [(&eve, &mine["session_id"]), (&ada, &elsewhere["session_id"])] {
        let http = server.http(Some(key));
        let (ws, grpc) = (server.ws(Some(key)).await, server.grpc(Some(key)));
        let pairs = asked(session, &ids.task).into_iter().zip(asked(session, &nobody.task));
        for ((command, theirs), (_, absent)) in pairs {
            if key == &ada && theirs.get("session_id").is_none() {
                continue; // It is hers: the job goes where the task is.
            }
            let plain =
                |params: &Value| bytes(http.request(Method::POST, &format!("/v1/{command}")).body(params.to_string()));
            let (known, unknown) = (plain(&theirs).await, plain(&absent).await);
            assert_eq!((known.0, &known), (404, &unknown), "{command} {theirs}");
            let rpc = |params: &Value| {
                let body = json!({ "jsonrpc": "2.0", "id": 1, "method": command, "params": params }).to_string();
                bytes(http.request(Method::POST, "/rpc").body(body))
            };
            assert_eq!(rpc(&theirs).await, rpc(&absent).await, "{command} {theirs}");
            assert_eq!(ws.call(command, theirs.clone()).await, ws.call(command, absent.clone()).await, "{command}");
            let status = async |params: &Value| Grpc::error(&grpc.raw(command, &params.to_string()).await.unwrap_err());
            assert_eq!(status(&theirs).await, status(&absent).await, "{command} {theirs}");
        }
    }
    let job = json!({ "task_id": ids.task, "instruction": "x", "items": [{}], "queue": "ada" });
    let job = server.http(Some(&ada)).call("create_job", job).await.unwrap();
    assert_eq!((&job["session_id"], &job["task_id"]), (&json!(ids.session), &json!(ids.task)));
}

#[tokio::test]
async fn streams_of_others_do_not_exist() {
    let (_dir, server, ids, [ada, eve]) = accounts().await;
    let nobody = Ids::nobody();
    let http = server.http(Some(&eve));
    for query in ["", "?after=1", "?after=999999", "?before=3&limit=1", "?casing=camel"] {
        for accept in ["text/event-stream", "application/json"] {
            let ask = |session: &str| {
                bytes(http.get(&format!("/v1/sessions/{session}/events{query}")).header("accept", accept))
            };
            let (theirs, absent, unspeakable) = (ask(&ids.session).await, ask(&nobody.session).await, ask("%20").await);
            assert_eq!(theirs.0, 404);
            assert_eq!(theirs, absent, "{query} as {accept}");
            assert_eq!(theirs, unspeakable, "{query} as {accept}");
        }
    }
    let (ws, grpc) = (server.ws(Some(&eve)).await, server.grpc(Some(&eve)));
    let subscribe = |session: &str| ws.call("subscribe", json!({ "session_id": session }));
    assert_eq!(subscribe(&ids.session).await, subscribe(&nobody.session).await);
    let subscribe = async |session: &str| {
        let request = SubscribeRequest { session_id: session.to_owned(), ..Default::default() };
        Grpc::error(&grpc.subscribe(request).await.unwrap_err())
    };
    assert_eq!(subscribe(&ids.session).await, subscribe(&nobody.session).await);

    // Cursors are sealed for an account: Ada's is as good as a forged one.
    let cursor = field(&server.http(Some(&ada)).json("/v1/feed?limit=1").await, "next_after");
    let ask = |cursor: &str| bytes(http.get(&format!("/v1/feed?after={cursor}")));
    assert_eq!(ask(&cursor).await, ask("forged").await);
    assert_eq!(http.json("/v1/feed").await["events"], json!([]));
    assert_eq!(http.call("list_sessions", json!({})).await.unwrap(), json!({ "sessions": [] }));
    let keys = http.call("list_api_keys", json!({})).await.unwrap();
    assert!(keys["keys"].as_array().unwrap().iter().all(|key| key["key_id"] != ids.key), "{keys}");
}

#[tokio::test]
async fn names_belong_to_an_account() {
    let (_dir, server, ids, [ada, eve]) = accounts().await;
    let http = server.http(Some(&eve));
    let mine = http.call("create_session", json!({ "session_id": ids.session, "title": "Eve's" })).await.unwrap();
    assert_eq!((&mine["session_id"], &mine["sequence"]), (&json!(ids.session), &json!(2)));
    let turn = json!({ "session_id": ids.session, "turn_id": ids.turn, "idempotency_key": "k", "input": text("hi") });
    http.call("submit_turn", turn).await.unwrap();
    wait_for(&http, &ids.session, "turn.completed", 1).await;
    let theirs = server.http(Some(&ada)).call("get_session", json!({ "session_id": ids.session })).await.unwrap();
    assert_eq!(theirs["title"], "approve: something of Ada's");
    let events = all_events(&http, &ids.session).await;
    assert!(!serde_json::to_string(&events).unwrap().contains("Ada"));
    assert_contiguous(&events);
}
