//! Acknowledging costs little and means durable.

use factum_model::ErrorCode;
use futures::future::join_all;

use super::*;

#[tokio::test]
async fn many_at_once_become_few_facts_and_all_are_durable() {
    let mut port = Port::new().await;
    port.enroll("c", json!({})).await;
    let session = port.submit_through("c", "hello", None).await;
    let mut stream = port.stream("c", &[]).await.unwrap();
    read_until(&mut stream, "turn.completed").await;
    let head = port.events(&session).await.len() as u64;
    let ack = |sequence: u64| port.call("ack_events", json!({ "channel_id": "c", "acknowledged_sequence": sequence }));
    let before = port.own_types("c").await.len();
    port.store.pause();
    let said = join_all((1..=head).map(ack));
    let resume = async {
        // The first is on its way to the disk; the others wait behind it.
        while port.store.waiting() == 0 {
            tokio::task::yield_now().await;
        }
        port.store.resume();
    };
    let (answers, ()) = tokio::join!(said, resume);
    for (answer, said) in answers.iter().zip(1..) {
        assert!(answer["last_acknowledged_sequence"].as_u64().unwrap() >= said);
    }
    let facts = port.own_types("c").await.len() - before;
    assert!(head > 6 && facts == 2, "{head} acknowledgements made {facts} facts: the first, and all others together");
    drop(stream);
    port.restart().await;
    assert_eq!(port.summary("c").await["sessions"][0]["last_acknowledged_sequence"], head);
}

#[tokio::test]
async fn what_does_not_exist_is_not_acknowledged() {
    let port = Port::new().await;
    port.enroll("c", json!({})).await;
    port.call("create_session", json!({ "session_id": "s" })).await;
    port.call("create_session", json!({ "session_id": "other" })).await;
    port.call("follow_sessions", json!({ "channel_id": "c", "follow": ["s"] })).await;
    for (params, code) in [
        (json!({ "acknowledged_sequence": 3 }), ErrorCode::PreconditionFailed),
        (json!({ "acknowledged_sequence": 1, "session_id": "other" }), ErrorCode::PreconditionFailed),
        (json!({ "acknowledged_sequence": 1, "session_id": "nobody" }), ErrorCode::PreconditionFailed),
        (json!({ "acknowledged_sequence": 1, "resume_token": "fcr_wrong" }), ErrorCode::PermissionDenied),
        (json!({}), ErrorCode::InvalidParams),
    ] {
        let params = merged(json!({ "channel_id": "c" }), params);
        assert_eq!(port.call_as(&port.alice, "ack_events", params.clone()).await.unwrap_err().code, code, "{params}");
    }
    let refused = |session: &str| {
        let params = json!({ "channel_id": "c", "acknowledged_sequence": 1, "session_id": session });
        port.call_as(&port.alice, "ack_events", params)
    };
    assert_eq!(
        refused("other").await,
        refused("nobody").await,
        "what is not followed and what is not there look the same"
    );
    let done = port.call("ack_events", json!({ "channel_id": "c", "acknowledged_sequence": 2 })).await;
    assert_eq!((&done["last_acknowledged_sequence"], &done["cursors"]["s"]), (&json!(2), &json!(2)));
}
