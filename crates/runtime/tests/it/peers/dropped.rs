//! A wait for events that is given up, as a heartbeat that is due does, takes none of them along.

use futures::FutureExt;

use super::*;

#[tokio::test]
async fn a_wait_that_is_given_up_loses_no_event() {
    let mut port = Port::new().await;
    port.enroll("c", json!({})).await;
    let session = port.call("submit_turn", json!({ "input": [{ "type": "text", "text": "hello" }] })).await;
    let session = session["session_id"].as_str().unwrap().to_owned();
    let mut all = port.runtime.subscribe(&port.alice, &session.parse().unwrap(), 0).await.unwrap();
    loop {
        let batch = tokio::time::timeout(PATIENCE, all.next()).await.unwrap().unwrap();
        if batch.iter().any(|event| String::from_utf8_lossy(&event.json).contains("turn.completed")) {
            break;
        }
    }
    // What nobody looks at is not in memory.
    port.restart().await;
    let mut stream = port.stream("c", &[]).await.unwrap();
    read_until(&mut stream, "channel.connected").await;
    port.call("follow_sessions", json!({ "channel_id": "c", "follow": [session] })).await;

    // The new session has to be read before it is followed, and that takes longer than the wait.
    let held = port.handle.hold_reads().await;
    let mut arrived = Vec::new();
    for _ in 0..3 {
        if let Some(batch) = stream.next().now_or_never() {
            let batch = batch.unwrap();
            arrived.extend(batch.events.iter().map(|event| serde_json::from_slice::<Value>(&event.json).unwrap()));
        }
    }
    drop(held);
    let has = |arrived: &[Value], kind: &str| arrived.iter().any(|event| event["type"] == kind);
    while !has(&arrived, "channel.followed") || !has(&arrived, "turn.completed") {
        arrived.extend(read(&mut stream).await.unwrap().into_iter().map(|(_, event)| event));
    }
    let sent = |kind: &str| arrived.iter().filter(|event| event["type"] == kind).count();
    assert_eq!((sent("channel.followed"), sent("turn.completed")), (1, 1), "nothing twice either");
}
