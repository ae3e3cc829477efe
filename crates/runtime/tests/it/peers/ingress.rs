//! Commands through a channel: whose channel it is, what their facts carry, what is followed from then on.

use factum_model::ErrorCode;
use factum_model::commands::COMMANDS;

use super::*;

#[tokio::test]
async fn what_comes_through_a_channel_says_so_and_is_followed() {
    let port = Port::new().await;
    port.enroll("c", json!({})).await;
    let session = port.submit_through("c", "hello", None).await;
    let mut stream = port.stream("c", &[]).await.unwrap();
    let arrived = read_until(&mut stream, "turn.completed").await;
    let seen = of(&arrived, &session);
    assert_eq!(sequences(&seen), (1..=seen.len() as u64).collect::<Vec<_>>(), "from the first event on");
    let submitted = seen.iter().find(|event| event["type"] == "turn.submitted").unwrap();
    assert_eq!(submitted["channel_id"], "c");
    let summary = port.summary("c").await;
    assert_eq!(summary["sessions"][0]["session_id"], json!(session));
    assert_eq!(summary["sessions"][0]["since_sequence"], 0);
    assert_eq!(summary["channel"]["state"], "connected");
}

#[tokio::test]
async fn a_session_that_was_there_is_followed_from_where_it_stood() {
    let port = Port::new().await;
    port.enroll("c", json!({})).await;
    let created = port.call("create_session", json!({ "session_id": "s" })).await;
    port.submit_through("c", "hello", Some("s")).await;
    let summary = port.summary("c").await;
    assert_eq!(summary["sessions"][0]["since_sequence"], created["sequence"]);
    port.enroll("all", json!({ "session_ids": ["s"] })).await;
    assert_eq!(port.summary("all").await["sessions"][0]["last_acknowledged_sequence"], 0, "from the beginning");
    let refused = port.call_as(&port.alice, "enroll_channel", json!({ "peer_role": "client", "session_ids": ["t"] }));
    assert_eq!(refused.await, Err(Refusal::not_found()));
}

#[tokio::test]
async fn a_session_that_begins_while_the_stream_is_open_joins_it() {
    let port = Port::new().await;
    port.enroll("c", json!({})).await;
    let mut stream = port.stream("c", &[]).await.unwrap();
    let first = port.submit_through("c", "one", None).await;
    let arrived = read_until(&mut stream, "turn.completed").await;
    assert!(!of(&arrived, &first).is_empty());
    let second = port.submit_through("c", "two", None).await;
    let arrived = read_until(&mut stream, "turn.completed").await;
    let seen = of(&arrived, &second);
    assert_eq!(sequences(&seen), (1..=seen.len() as u64).collect::<Vec<_>>());
    port.call("follow_sessions", json!({ "channel_id": "c", "unfollow": [first] })).await;
    assert_eq!(port.summary("c").await["sessions"].as_array().unwrap().len(), 1);
}

/// Whoever could take the id that another's A2A channel will have could keep it from ever having one, or own it.
#[tokio::test]
async fn the_ids_of_channels_that_nobody_enrolls_cannot_be_taken() {
    use factum_engine::peers::{channel_of_peer, channel_of_principal};
    let port = Port::new().await;
    let ids = [
        channel_of_principal("a2a", "agent://bob"),
        channel_of_principal("a2a", "agent://alice"),
        channel_of_peer("a2a", "north"),
    ];
    for channel_id in ids {
        let params = json!({ "channel_id": channel_id, "peer_role": "client" });
        let refused = port.call_as(&port.alice, "enroll_channel", params).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidParams, "{channel_id:?}");
    }
}

#[tokio::test]
async fn a_channel_is_its_principals_own() {
    let port = Port::new().await;
    port.enroll("c", json!({})).await;
    let session = port.submit_through("c", "hello", None).await;
    let before = port.own("c").await;
    let bob = member("agent://bob");
    for command in COMMANDS.iter().filter(|command| command.family == "channels") {
        for channel in ["c", "unheard-of"] {
            let params = json!({ "channel_id": channel, "peer_role": "client", "acknowledged_sequence": 1 });
            match command.name {
                "list_remote_channels" => {}
                // An id that nobody has is anybody's to take.
                "enroll_channel" if channel != "c" => {}
                name => {
                    assert_eq!(port.call_as(&bob, name, params).await, Err(Refusal::not_found()), "{name} {channel}")
                }
            }
        }
    }
    for channel in ["c", "unheard-of"] {
        let through = bob.coming_through(channel.parse().unwrap());
        let turn = json!({ "session_id": session, "input": [{ "type": "text", "text": "x" }] });
        assert_eq!(port.call_as(&through, "submit_turn", turn).await, Err(Refusal::not_found()));
        let stream = port.runtime.stream_peer(&bob, &channel.parse().unwrap(), &BTreeMap::new()).await;
        assert_eq!(stream.err(), Some(Refusal::not_found()));
    }
    assert_eq!(port.own("c").await, before, "nothing was written");
    assert_eq!(port.call_as(&bob, "list_remote_channels", json!({})).await.unwrap()["channels"], json!([]));
}

#[tokio::test]
async fn a_channel_without_room_refuses_before_anything_is_written() {
    let port = Port::new().await;
    port.enroll("c", json!({})).await;
    for number in 0..4 {
        port.submit_through("c", &format!("turn {number}"), None).await;
    }
    let before = port.call("list_sessions", json!({})).await;
    let turn = json!({ "input": [{ "type": "text", "text": "one too many" }] });
    let refused = port.through("c", "submit_turn", turn).await.unwrap_err();
    assert_eq!(
        (refused.code, &refused.details["limit"]["name"]),
        (ErrorCode::LimitExceeded, &json!("channel_sessions"))
    );
    assert_eq!(port.call("list_sessions", json!({})).await, before);
}

/// Who looks in without changing anything takes part in nothing.
#[tokio::test]
async fn a_command_that_changes_nothing_follows_nothing() {
    let port = Port::new().await;
    port.enroll("c", json!({})).await;
    port.call("create_session", json!({ "session_id": "s" })).await;
    port.through("c", "update_session", json!({ "session_id": "s" })).await.unwrap();
    assert_eq!(port.summary("c").await["sessions"], json!([]));
}

/// The first try may have been cut off before the channel followed. Its repeat makes up for that, where there is room.
#[tokio::test]
async fn a_repeat_follows_what_its_first_try_began() {
    let port = Port::new().await;
    port.enroll("c", json!({})).await;
    let turn = |key: &str| json!({ "input": [{ "type": "text", "text": "hello" }], "idempotency_key": key });
    let own_id = json!({ "turn_id": "mine", "input": [{ "type": "text", "text": "hello" }] });
    for params in [turn("one"), own_id, turn("two"), turn("three"), turn("four")] {
        let first = port.call("submit_turn", params.clone()).await;
        let repeated = port.through("c", "submit_turn", params.clone()).await;
        if params == turn("four") {
            let refused = repeated.unwrap_err();
            assert_eq!(refused.details["limit"]["name"], "channel_sessions");
            assert_eq!(port.summary("c").await["sessions"].as_array().unwrap().len(), 4);
            continue;
        }
        assert_eq!(repeated.unwrap(), first);
        let followed = port.summary("c").await["sessions"].clone();
        let of_first = |one: &&Value| one["session_id"] == first["session_id"] && one["since_sequence"] == 0;
        assert!(followed.as_array().unwrap().iter().any(|one| of_first(&one)), "{followed}");
    }
}
