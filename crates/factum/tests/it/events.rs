//! Events over HTTP: pages and streams from every sequence, the feed behind its cursors, the published schema, heartbeats,
//! and the command line that reads them.

use std::path::Path;
use std::time::Duration;

use factum_api::grpc::proto::SubscribeRequest;
use factum_testkit::clients::Grpc;
use factum_testkit::sse::Frame;
use factum_testkit::{Client, Reader, run, within};
use serde_json::{Value, json};

use crate::support::*;

/// A session with every kind of event that the demo agent makes.
async fn rich_session(client: &dyn Client) -> String {
    let session = field(&client.call("create_session", json!({ "title": "All of it" })).await.unwrap(), "session_id");
    let submit = |input: &str| {
        client.call("submit_turn", json!({ "session_id": session, "input": text(input), "idempotency_key": input }))
    };
    let decided = [("approve: a", "allow"), ("approve: b", "deny"), ("ask: c?", "blue")];
    for ((input, decision), number) in decided.into_iter().zip(1..) {
        submit(input).await.unwrap();
        let action = wait_for(client, &session, "action.required", number).await;
        let answer = json!({ "action_id": action["action_id"], "decision": decision });
        client.call("respond_action", answer).await.unwrap();
        wait_for(client, &session, "turn.completed", number).await;
    }
    for (input, number) in [("hello", 4), ("artifact: # d", 5)] {
        submit(input).await.unwrap();
        wait_for(client, &session, "turn.completed", number).await;
    }
    submit("fail: e").await.unwrap();
    wait_for(client, &session, "turn.failed", 1).await;
    client.call("submit_turn", json!({ "session_id": session, "agent": "waiting", "input": text("f") })).await.unwrap();
    let queued = submit("g").await.unwrap();
    submit("h").await.unwrap();
    client.call("promote_queued_turn", json!({ "session_id": session, "turn_id": "h" })).await.unwrap_err();
    client.call("remove_queued_turn", json!({ "session_id": session, "turn_id": queued["turn_id"] })).await.unwrap();
    client.call("interrupt_turn", json!({ "session_id": session })).await.unwrap();
    client.call("update_session", json!({ "session_id": session, "title": "Renamed" })).await.unwrap();
    wait_for(client, &session, "turn.completed", 6).await;
    session
}

#[tokio::test]
async fn a_stream_goes_on_behind_any_sequence() {
    let (_dir, server) = dev().await;
    let http = server.http(None);
    let session = rich_session(&http).await;
    let all = all_events(&http, &session).await;
    assert_contiguous(&all);
    let last = all.len() as u64;
    for after in 0..last {
        let header = after.to_string();
        let query = format!("/v1/sessions/{session}/events?after={after}");
        let mut by_header = Reader::session(&http, &session, Some(&header)).await;
        let mut by_query = Reader::open(&http, &query, None).await.unwrap_or_else(|_| panic!("{query}"));
        // The header is what a client sends by itself when it comes back, so it counts.
        let both = format!("/v1/sessions/{session}/events?after=0");
        let mut by_both = Reader::open(&http, &both, Some(&header)).await.unwrap_or_else(|_| panic!("{both}"));
        for reader in [&mut by_header, &mut by_query, &mut by_both] {
            reader.read_to(last).await;
            let seen: Vec<&Value> = reader.seen.iter().map(|event| &event.data).collect();
            assert_eq!(seen, all[after as usize..].iter().collect::<Vec<_>>(), "after {after}");
            assert!(reader.seen.iter().all(|event| event.id == event.sequence().to_string()));
        }
    }
    // Behind the end a stream waits for what comes.
    let mut live = Reader::session(&http, &session, Some(&last.to_string())).await;
    http.call("update_session", json!({ "session_id": session, "title": "Again" })).await.unwrap();
    assert_eq!(within("a live event", live.next()).await.unwrap().sequence(), last + 1);
}

#[tokio::test]
async fn pages_cover_everything_in_both_directions_whatever_their_size() {
    let (_dir, server) = dev().await;
    let http = server.http(None);
    let session = rich_session(&http).await;
    let all = all_events(&http, &session).await;
    for limit in [1, 2, 7, all.len(), 1000] {
        let (mut forward, mut after) = (Vec::new(), 0);
        loop {
            let page = http.json(&format!("/v1/sessions/{session}/events?after={after}&limit={limit}")).await;
            forward.extend(page["events"].as_array().unwrap().iter().cloned());
            after = page["next_after"].as_u64().unwrap();
            if page["has_more"] == false {
                break;
            }
        }
        assert_eq!(forward, all, "pages of {limit}");
        let (mut backward, mut before) = (Vec::new(), all.len() as u64 + 1);
        loop {
            let page = http.json(&format!("/v1/sessions/{session}/events?before={before}&limit={limit}")).await;
            let events = page["events"].as_array().unwrap();
            before = events.first().map_or(0, |event| event["sequence"].as_u64().unwrap());
            backward.splice(0..0, events.iter().cloned());
            if page["has_more"] == false {
                break;
            }
        }
        assert_eq!(backward, all, "pages of {limit}");
    }
    for bad in ["?limit=0", "?limit=1001", "?after=x", "?after=-1", "?after=1&before=2", "?casing=kebab", "?limit=x"] {
        let response = http.get(&format!("/v1/sessions/{session}/events{bad}")).send().await.unwrap();
        assert_eq!(response.status(), 400, "{bad}");
    }
    for bad in ["x", "-1", "1.5", "99999999999999999999999", "1000000"] {
        let refused = Reader::open(&http, &format!("/v1/sessions/{session}/events"), Some(bad)).await.err().unwrap();
        assert_eq!(refused.status(), 400, "{bad}");
    }
}

#[tokio::test]
async fn events_in_camel_case_fit_the_published_schema() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/standard/agentruntime-event.schema.json");
    let Ok(schema) = std::fs::read(&path) else {
        eprintln!("skipped: {} is not there", path.display());
        return;
    };
    let schema: Value = serde_json::from_slice(&schema).unwrap();
    let published = schema["properties"]["type"]["enum"].as_array().unwrap();
    let validator = jsonschema::draft202012::options().should_validate_formats(true).build(&schema).unwrap();
    let (_dir, server) = dev().await;
    let http = server.http(None);
    let session = rich_session(&http).await;
    let page = http.json(&format!("/v1/sessions/{session}/events?casing=camel&limit=1000")).await;
    let events = page["events"].as_array().unwrap();
    let mut own = std::collections::BTreeSet::new();
    for event in events {
        if published.contains(&event["type"]) {
            validator.validate(event).unwrap_or_else(|error| panic!("{error} in {event:#}"));
        } else {
            own.insert(event["type"].as_str().unwrap());
        }
        assert!(event["sessionId"] == session.as_str() && event.get("session_id").is_none(), "{event}");
    }
    assert!(own.len() <= 3, "few types are our own: {own:?}");
    let path = format!("/v1/sessions/{session}/events?casing=camel");
    let mut stream = Reader::open(&http, &path, None).await.unwrap_or_else(|_| panic!("{path}"));
    stream.read_to(events.len() as u64).await;
    assert_eq!(stream.seen.iter().map(|event| event.data.clone()).collect::<Vec<_>>(), *events);
    let feed = http.json("/v1/feed?casing=camel&limit=1000").await;
    assert_eq!(feed["events"].as_array(), Some(events));
}

#[tokio::test]
async fn a_silent_stream_says_that_it_is_alive() {
    let dir = tempfile::tempdir().unwrap();
    let server = launch(&dir).env("FACTUM_SERVER_HEARTBEAT_MS", 30).start().await;
    let http = server.http(None);
    let session = field(&http.call("create_session", json!({})).await.unwrap(), "session_id");
    for path in [format!("/v1/sessions/{session}/events"), "/v1/feed".to_owned()] {
        let mut reader = Reader::open(&http, &path, None).await.unwrap_or_else(|_| panic!("{path}"));
        let mut beats = 0;
        while beats < 3 {
            match within("a heartbeat", reader.frame()).await.unwrap() {
                Frame::Comment(text) => {
                    assert_eq!(text, "heartbeat");
                    beats += 1;
                }
                Frame::Event(event) => assert!(event.sequence() <= 2),
            }
        }
    }
}

#[tokio::test]
async fn the_feed_goes_on_behind_any_event_even_in_the_middle_of_a_commit() {
    let (_dir, server) = dev().await;
    let [ada, eve] = ["dev:agent://ada@ada", "dev:agent://eve@eve"].map(|token| server.http(Some(token)));
    for input in ["one", "two"] {
        for http in [&ada, &eve] {
            let session = submit(http, input).await;
            wait_for(http, &session, "turn.completed", 1).await;
        }
    }
    let all = ada.json("/v1/feed?limit=1000").await;
    let events = all["events"].as_array().unwrap().clone();
    assert!(!serde_json::to_string(&events).unwrap().contains("agent://eve"));
    assert_eq!(events.iter().filter(|event| event["type"] == "session.created").count(), 2);

    // One at a time: each cursor stands in a commit, most of them in its middle.
    let (mut one_by_one, mut after) = (Vec::new(), String::new());
    loop {
        let page = ada.json(&format!("/v1/feed?limit=1&after={after}")).await;
        one_by_one.extend(page["events"].as_array().unwrap().iter().cloned());
        after = field(&page, "next_after");
        if page["has_more"] == false {
            break;
        }
    }
    assert_eq!(one_by_one, events);

    let mut stream = Reader::open(&ada, "/v1/feed", None).await.unwrap_or_else(|_| panic!("the feed"));
    for _ in 0..events.len() {
        within("an event of the feed", stream.next()).await.unwrap();
    }
    assert_eq!(stream.seen.iter().map(|event| event.data.clone()).collect::<Vec<_>>(), events);
    for (at, event) in stream.seen.iter().enumerate().filter(|(at, _)| at + 1 < events.len()) {
        let mut rest = Reader::open(&ada, "/v1/feed", Some(&event.id)).await.unwrap_or_else(|_| panic!("{}", event.id));
        assert_eq!(within("the next event", rest.next()).await.unwrap().data, events[at + 1]);
    }

    let cursor = field(&all, "next_after");
    let mut forged = cursor.clone().into_bytes();
    forged[3] = if forged[3] == b'A' { b'B' } else { b'A' };
    for bad in
        [String::from_utf8(forged).unwrap(), "x".into(), cursor[..cursor.len() - 2].to_owned(), format!("{cursor}AA")]
    {
        assert_eq!(ada.get(&format!("/v1/feed?after={bad}")).send().await.unwrap().status(), 400, "{bad}");
        let refused = Reader::open(&ada, "/v1/feed", Some(&bad)).await.err().unwrap();
        assert_eq!(refused.status(), 400, "{bad}");
    }
    assert_eq!(eve.get(&format!("/v1/feed?after={cursor}")).send().await.unwrap().status(), 400);
    for bad in ["limit=0", "limit=1001", "limit=x", "casing=x"] {
        assert_eq!(ada.get(&format!("/v1/feed?{bad}")).send().await.unwrap().status(), 400, "{bad}");
    }
    // What others do wakes nobody up with something that is not theirs.
    let mut live = Reader::open(&ada, "/v1/feed", Some(&cursor)).await.unwrap_or_else(|_| panic!("the feed"));
    submit(&eve, "not for Ada").await;
    let session = submit(&ada, "for Ada").await;
    assert_eq!(within("a live event", live.next()).await.unwrap().data["session_id"], session);
}

#[tokio::test]
async fn the_feed_survives_a_crash_with_its_cursors() {
    let (_dir, mut server) = dev().await;
    let session = submit(&server.http(None), "hello").await;
    wait_for(&server.http(None), &session, "turn.completed", 1).await;
    let before = server.http(None).json("/v1/feed?limit=3").await;
    let rest = server.http(None).json(&format!("/v1/feed?after={}", field(&before, "next_after"))).await;
    server.kill_and_restart().await;
    let again = server.http(None).json(&format!("/v1/feed?after={}", field(&before, "next_after"))).await;
    assert_eq!(rest["events"], again["events"]);
}

#[tokio::test]
async fn the_command_line_calls_and_tails() {
    let (_dir, server) = dev().await;
    let url = server.url("");
    let called = run(BINARY, ["call", "submit_turn", "text=hello there", "--url", &url]).await;
    let answer: Value = serde_json::from_str(&called.stdout).unwrap_or_else(|error| panic!("{error}: {called:?}"));
    let session = field(&answer, "session_id");
    wait_for(&server.http(None), &session, "turn.completed", 1).await;
    let tailed = run(BINARY, ["tail", &session, "--no-follow", "--url", &url, "-o", "jsonl"]).await;
    let events: Vec<Value> = tailed.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events, all_events(&server.http(None), &session).await);
    let rest = run(BINARY, ["tail", &session, "--no-follow", "--after", "4", "--url", &url, "-o", "jsonl"]).await;
    assert_eq!(rest.stdout.lines().count(), events.len() - 4);
    let shown = run(BINARY, ["tail", &session, "--no-follow", "--url", &url]).await;
    assert!(shown.stdout.contains("hello there"), "{shown:?}");
    for (args, code) in [
        (vec!["call", "get_session", "session_id=nobody", "--url", &url], 1),
        (vec!["call", "no_such", "--url", &url], 2),
        (vec!["tail", "nobody", "--no-follow", "--url", &url], 1),
        (vec!["call", "list_sessions", "--url", "http://127.0.0.1:1"], 3),
    ] {
        assert_eq!(run(BINARY, &args).await.code, Some(code), "{args:?}");
    }
    drop(server);
    assert_eq!(
        tokio::time::timeout(Duration::from_secs(30), run(BINARY, ["call", "list_sessions", "--url", &url]))
            .await
            .unwrap()
            .code,
        Some(3)
    );
}

/// Whoever waits at a place that a session has not come to would miss everything before it.
#[tokio::test]
async fn a_subscription_ahead_of_its_session_is_refused_with_the_newest_sequence() {
    let (_dir, server) = dev().await;
    let session = submit(&server.http(None), "hello").await;
    completed(&server, &session).await;
    let newest = all_events(&server.http(None), &session).await.len() as u64;
    let check = |refused: &Value, over: &str| {
        let told = (&refused["code"], &refused["details"]["newest_sequence"]);
        assert_eq!(told, (&json!("invalid_params"), &json!(newest)), "{over}: {refused}");
    };
    let path = format!("/v1/sessions/{session}/events?after={}", newest + 1);
    let refused = Reader::open(&server.http(None), &path, None).await.err().unwrap();
    assert_eq!(refused.status(), 400);
    check(&refused.json().await.unwrap(), "SSE");
    let ws = server.ws(None).await;
    let ahead = json!({ "session_id": session, "after": newest + 1 });
    check(&ws.call("subscribe", ahead).await.unwrap_err(), "WebSocket");
    ws.call("subscribe", json!({ "session_id": session, "after": newest })).await.unwrap();
    let ahead = SubscribeRequest { session_id: session.clone(), after: newest + 1, ..Default::default() };
    check(&Grpc::error(&server.grpc(None).subscribe(ahead).await.unwrap_err()), "gRPC");
}
