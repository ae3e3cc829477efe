//! Being there: connections, heartbeats, and that none of it ever touches a task.

use factum_model::ErrorCode;

use super::*;

/// Looks until the channel's own events end with a type.
async fn until_last(port: &Port, channel: &str, kind: &str) {
    let look = async {
        while port.own_types(channel).await.last().map(String::as_str) != Some(kind) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, look).await.expect("something happens");
}

#[tokio::test]
async fn a_lost_connection_is_said_so_and_changes_no_task() {
    let port = Port::new().await;
    port.enroll("c", json!({})).await;
    let created =
        port.through("c", "create_task", json!({ "objective": "go on", "status": "queued", "queue": "q" })).await;
    let task = created.unwrap();
    let stream = port.stream("c", &[]).await.unwrap();
    let before = port.call("get_task", json!({ "task_id": task["task_id"] })).await;
    drop(stream);
    until_last(&port, "c", "channel.disconnected").await;
    let gone = port.own("c").await.pop().unwrap();
    assert_eq!(gone["payload"]["reason"], "transport_error");
    assert_eq!(port.summary("c").await["channel"]["state"], "disconnected");
    assert_eq!(port.call("get_task", json!({ "task_id": task["task_id"] })).await, before);
    port.call("heartbeat_channel", json!({ "channel_id": "c" })).await;
    assert_eq!(port.summary("c").await["channel"]["state"], "connected");
}

#[tokio::test]
async fn a_second_connection_takes_the_place_of_the_first() {
    let port = Port::new().await;
    port.enroll("c", json!({})).await;
    let mut first = port.stream("c", &[]).await.unwrap();
    let mut second = port.stream("c", &[]).await.unwrap();
    let refused = loop {
        if let Err(refusal) = read(&mut first).await {
            break refusal;
        }
    };
    assert_eq!((refused.code, &refused.details["cause"]), (ErrorCode::Conflict, &json!("replaced")));
    drop(first);
    let back = port.call("reconnect_channel", json!({ "channel_id": "c" })).await;
    let refused = loop {
        if let Err(refusal) = read(&mut second).await {
            break refusal;
        }
    };
    assert_eq!(refused.code, ErrorCode::Conflict);
    drop(second);
    let types = port.own_types("c").await;
    let expected = ["connected", "disconnected", "resumed", "disconnected", "resumed"];
    assert_eq!(
        types,
        expected.map(|kind| format!("channel.{kind}")),
        "the ends of those that were replaced are no news"
    );
    assert_eq!(back["sequence"], types.len());
    let reasons: Vec<Value> = port.own("c").await.iter().map(|event| event["payload"]["reason"].clone()).collect();
    assert_eq!((&reasons[1], &reasons[3]), (&json!("replaced"), &json!("replaced")));
}

/// When exactly somebody is missed is in the tests of the table; here time is real, and short.
#[tokio::test]
async fn who_is_not_heard_of_in_time_is_given_up() {
    let mut port = Port::with(Limits { channel_heartbeat_ms: 100, ..Limits::default() }).await;
    port.enroll("busy", json!({})).await;
    let open = port.stream("busy", &[]).await.unwrap();
    let before = port.own("busy").await.len();
    port.enroll("quiet", json!({})).await;
    until_last(&port, "quiet", "channel.disconnected").await;
    assert_eq!(port.own("quiet").await.pop().unwrap()["payload"]["reason"], "heartbeat_missed");
    assert_eq!(port.summary("quiet").await["channel"]["state"], "disconnected");
    assert_eq!(port.own("busy").await.len(), before, "a connection is a sign of life");

    port.restart().await;
    drop(open);
    until_last(&port, "busy", "channel.disconnected").await;
    assert_eq!(port.own("busy").await.pop().unwrap()["payload"]["reason"], "heartbeat_missed");
}

#[tokio::test]
async fn after_a_restart_nobody_knows_until_it_is_heard_of() {
    let mut port = Port::new().await;
    port.enroll("c", json!({})).await;
    port.restart().await;
    assert_eq!(port.summary("c").await["channel"]["state"], "unknown");
    for _ in 0..3 {
        port.call("heartbeat_channel", json!({ "channel_id": "c" })).await;
    }
    assert_eq!(port.summary("c").await["channel"]["state"], "connected");
    assert_eq!(port.own_types("c").await, ["channel.connected", "channel.resumed"], "heartbeats write nothing");
}

#[tokio::test]
async fn last_seen_is_known_without_being_written() {
    let port = Port::new().await;
    port.enroll("c", json!({})).await;
    let before = port.own("c").await.len();
    port.clock.advance(Duration::from_secs(5));
    port.through("c", "list_sessions", json!({})).await.unwrap();
    let seen = port.summary("c").await["channel"]["last_seen_at"].clone();
    assert_eq!(seen, "2027-01-15T08:00:05Z");
    assert_eq!(port.own("c").await.len(), before);
    let listed = port.call("list_remote_channels", json!({})).await;
    assert_eq!(listed["channels"][0]["last_seen_at"], seen);
}

/// That somebody was given up is no sign of life: it was last seen when it last was.
#[tokio::test]
async fn last_seen_is_what_it_was_when_a_channel_is_given_up() {
    let mut port = Port::new().await;
    port.enroll("c", json!({})).await;
    let stream = port.stream("c", &[]).await.unwrap();
    port.clock.advance(Duration::from_secs(5));
    drop(stream);
    until_last(&port, "c", "channel.disconnected").await;
    for _ in 0..2 {
        let gone = port.own("c").await.pop().unwrap();
        let seen = &port.summary("c").await["channel"]["last_seen_at"];
        assert_eq!((seen, &gone["payload"]["last_seen_at"]), (&json!("2027-01-15T08:00:00Z"), seen));
        port.restart().await;
    }
}

#[tokio::test]
async fn who_closes_a_channel_is_sent_nothing_more() {
    let port = Port::new().await;
    port.enroll("c", json!({})).await;
    port.submit_through("c", "hello", None).await;
    let mut stream = port.stream("c", &[]).await.unwrap();
    read_until(&mut stream, "turn.completed").await;
    port.call("close_channel", json!({ "channel_id": "c", "reason": "done" })).await;
    let (arrived, refused) = read_to_the_end(&mut stream).await;
    let (_, last) = arrived.last().unwrap();
    assert_eq!((&last["type"], &last["payload"]["detail"]), (&json!("channel.disconnected"), &json!("done")));
    assert_eq!(last["payload"]["reason"], "closed_by_peer");
    assert_eq!((refused.code, &refused.details["cause"]), (ErrorCode::PreconditionFailed, &json!("closed")));
    for method in ["reconnect_channel", "heartbeat_channel", "ack_events"] {
        let params = json!({ "channel_id": "c", "acknowledged_sequence": 1 });
        assert_eq!(port.call_as(&port.alice, method, params).await.unwrap_err().code, ErrorCode::PreconditionFailed);
    }
    port.enroll("c", json!({})).await;
    assert_eq!(port.summary("c").await["sessions"], json!([]));
}

/// The store has no room at that moment: that the channel is gone is recorded once it has.
#[tokio::test]
async fn a_channel_that_is_gone_while_the_disk_is_full_is_not_forgotten() {
    let port = Port::new().await;
    port.enroll("c", json!({})).await;
    let stream = port.stream("c", &[]).await.unwrap();
    port.handle.fill_channels(true);
    drop(stream);
    let refused = async {
        while port.handle.refused() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, refused).await.expect("it is tried");
    port.handle.fill_channels(false);
    until_last(&port, "c", "channel.disconnected").await;
}
