//! Coming back after the connection, the peer or the runtime was gone.

use factum_model::ErrorCode;

use super::*;

#[tokio::test]
async fn a_restart_keeps_the_cursor_and_the_token_and_nothing_is_sent_twice() {
    let mut port = Port::new().await;
    let token = port.enroll("c", json!({})).await["resume_token"].clone();
    let session = port.submit_through("c", "hello", None).await;
    let mut stream = port.stream("c", &[]).await.unwrap();
    read_until(&mut stream, "turn.completed").await;
    port.call("ack_events", json!({ "channel_id": "c", "acknowledged_sequence": 3 })).await;
    port.restart().await;
    drop(stream);
    assert_eq!(port.summary("c").await["channel"]["state"], "unknown", "nobody knows whether it is still there");

    let back = port.call("reconnect_channel", json!({ "channel_id": "c", "resume_token": token })).await;
    assert_eq!((&back["resume_from"], &back["gap"]), (&json!(3), &Value::Null));
    assert_eq!(back["snapshot"]["channel"]["state"], "connected");
    assert_ne!(back["resume_token"], token);
    let events = port.events(&session).await;
    let mut stream = port.stream("c", &[]).await.unwrap();
    let arrived = read_until(&mut stream, "turn.completed").await;
    let rest = of(&arrived, &session);
    assert_eq!(rest, events[3..].iter().collect::<Vec<_>>(), "exactly what was missed");

    let again = json!({ "channel_id": "c", "resume_token": token });
    assert_eq!(
        port.call_as(&port.alice, "reconnect_channel", again).await.unwrap_err().code,
        ErrorCode::PermissionDenied
    );
    port.restart().await;
    let next = json!({ "channel_id": "c", "resume_token": back["resume_token"] });
    port.call("reconnect_channel", next).await;
}

#[tokio::test]
async fn a_repeat_with_the_same_key_shows_no_token_again() {
    let port = Port::new().await;
    let enroll = json!({ "channel_id": "c", "peer_role": "client", "idempotency_key": "k" });
    let first = port.call("enroll_channel", enroll.clone()).await;
    let again = port.call("enroll_channel", enroll).await;
    assert!(first["resume_token"].is_string() && again["resume_token"].is_null());
    assert_eq!(first["sequence"], again["sequence"]);
    let log = serde_json::to_string(&port.own("c").await).unwrap();
    assert!(!log.contains(first["resume_token"].as_str().unwrap()), "the log does not have it");
}

/// A snapshot may be larger than a row of the index can be, so it is not in what is remembered of the answer.
#[tokio::test]
async fn a_repeat_of_a_return_shows_the_channel_as_it_is_then() {
    let port = Port::new().await;
    port.enroll("c", json!({})).await;
    let session = port.submit_through("c", "hello", None).await;
    let back = json!({ "channel_id": "c", "idempotency_key": "k" });
    let first = port.call("reconnect_channel", back.clone()).await;
    let again = port.call("reconnect_channel", back).await;
    for (answer, which) in [(&first, "first"), (&again, "again")] {
        assert_eq!(answer["snapshot"]["sessions"][0]["session_id"], session, "{which}");
    }
    assert_eq!((&first["sequence"], &first["streams"]), (&again["sequence"], &again["streams"]));
    let own = port.own("c").await;
    let accepted = own.iter().find(|event| event["payload"]["command"] == "reconnect_channel").unwrap();
    assert_eq!(accepted["payload"]["result"]["snapshot"]["sessions"], json!([]), "{accepted}");
}

/// More sessions than a channel can follow are not even looked up.
#[tokio::test]
async fn more_sessions_than_a_channel_follows_are_refused_before_anything_else() {
    let port = Port::new().await;
    port.enroll("c", json!({})).await;
    let nowhere: Vec<String> = (0..5).map(|at| format!("sess_{at}")).collect();
    let asked = [
        ("follow_sessions", json!({ "channel_id": "c", "follow": nowhere })),
        ("enroll_channel", json!({ "channel_id": "d", "peer_role": "client", "session_ids": nowhere })),
    ];
    for (method, params) in asked {
        let refusal = port.call_as(&port.alice, method, params).await.unwrap_err();
        assert_eq!(refusal.code, ErrorCode::LimitExceeded, "{method}: {refusal:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_replayed_is_said_to_be_missing() {
    let port = Port::with(Limits { replay_events_max: 5, ..Limits::default() }).await;
    port.enroll("c", json!({})).await;
    let session = port.submit_through("c", "hello", None).await;
    let subscribed = port.runtime.subscribe(&port.alice, &session.parse().unwrap(), 0).await;
    let mut subscription = subscribed.unwrap();
    let mut seen = String::new();
    while !seen.contains("turn.completed") {
        let batch = tokio::time::timeout(PATIENCE, subscription.next()).await.unwrap().unwrap();
        seen = batch.iter().map(|event| String::from_utf8_lossy(&event.json).into_owned()).collect();
    }
    let head = port.events(&session).await.len() as u64;
    assert!(head > 6);
    let refused = port.stream("c", &[]).await.err().unwrap();
    assert_eq!(refused.code, ErrorCode::PreconditionFailed, "a stream never leaves something out silently");

    let back = port.call("reconnect_channel", json!({ "channel_id": "c" })).await;
    assert_eq!(back["resume_from"], head - 5);
    assert_eq!((&back["gap"]["from_sequence"], &back["gap"]["to_sequence"]), (&json!(1), &json!(head - 5)));
    let repaired = port.own("c").await.into_iter().find(|event| event["type"] == "snapshot.repaired").unwrap();
    assert_eq!((&repaired["payload"]["gap"], &repaired["session_id"]), (&back["gap"], &json!(session)));
    let mut stream = port.stream("c", &[]).await.unwrap();
    let arrived = read_until(&mut stream, "turn.completed").await;
    assert_eq!(sequences(&of(&arrived, &session)), (head - 4..=head).collect::<Vec<_>>());

    let ahead = json!({ "channel_id": "c", "last_acknowledged_sequence": head + 10 });
    let back = port.call("reconnect_channel", ahead.clone()).await;
    assert_eq!((&back["resume_from"], &back["gap"]["to_sequence"]), (&json!(head - 5), &json!(head - 5)));
    assert_eq!(back["snapshot"]["sessions"][0]["last_acknowledged_sequence"], 0, "nothing of it was acknowledged");
    port.call("ack_events", json!({ "channel_id": "c", "acknowledged_sequence": head - 1 })).await;
    let back = port.call("reconnect_channel", ahead).await;
    assert_eq!((&back["resume_from"], &back["gap"]["to_sequence"]), (&json!(head - 1), &json!(head + 10)));
    let back = port.call("reconnect_channel", json!({ "channel_id": "c" })).await;
    assert_eq!((&back["resume_from"], &back["gap"]), (&json!(head - 1), &Value::Null), "nothing is skipped");
}

/// Coming back is a fact of the channel's own stream, and sessions go on: what was said a moment ago still holds.
#[tokio::test]
async fn where_a_peer_was_told_to_go_on_it_may() {
    let port = Port::with(Limits { replay_events_max: 10, ..Limits::default() }).await;
    port.enroll("c", json!({})).await;
    port.call("create_session", json!({ "session_id": "s" })).await;
    port.call("follow_sessions", json!({ "channel_id": "c", "follow": ["s"] })).await;
    for number in 1..=12 {
        port.call("update_session", json!({ "session_id": "s", "title": format!("{number}") })).await;
        port.call("ack_events", json!({ "channel_id": "c", "cursors": { "s": number } })).await;
    }
    assert_eq!(port.stream("c", &[]).await.err().unwrap().code, ErrorCode::PreconditionFailed);
    for _ in 0..3 {
        let back = port.call("reconnect_channel", json!({ "channel_id": "c" })).await;
        let own = back["streams"].as_array().unwrap().iter().find(|stream| stream["stream"] == "@channel").unwrap();
        assert!(own["gap"].is_object(), "{back}");
        for number in 0..5 {
            port.call("update_session", json!({ "session_id": "s", "title": format!("again {number}") })).await;
        }
        let from = own["resume_from"].as_u64().unwrap();
        let mut stream = port.stream("c", &[("@channel", from)]).await.unwrap();
        let arrived = read_until(&mut stream, "channel.resumed").await;
        assert!(sequences(&of(&arrived, "@channel")).into_iter().all(|sequence| sequence > from));
    }
}

#[tokio::test]
async fn who_asks_for_older_events_is_sent_them_and_the_acknowledgement_stands() {
    let port = Port::new().await;
    port.enroll("c", json!({})).await;
    port.call("create_session", json!({ "session_id": "s" })).await;
    port.call("follow_sessions", json!({ "channel_id": "c", "follow": ["s"] })).await;
    port.call("ack_events", json!({ "channel_id": "c", "acknowledged_sequence": 2 })).await;
    let back = port.call("reconnect_channel", json!({ "channel_id": "c", "cursors": { "s": 0 } })).await;
    assert_eq!(
        (&back["resume_from"], &back["snapshot"]["sessions"][0]["last_acknowledged_sequence"]),
        (&json!(0), &json!(2))
    );
    let mut stream = port.stream("c", &[("@channel", back["sequence"].as_u64().unwrap())]).await.unwrap();
    let arrived = read(&mut stream).await.unwrap();
    assert_eq!(sequences(&of(&arrived, "s")), [1, 2]);
    assert_eq!(port.stream("c", &[("nobody", 0)]).await.err().unwrap().code, ErrorCode::PreconditionFailed);
    assert_eq!(port.stream("c", &[("s", 3)]).await.err().unwrap().code, ErrorCode::PreconditionFailed);
}
