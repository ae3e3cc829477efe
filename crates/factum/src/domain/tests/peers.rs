//! The same for remote channels.

use serde_json::Value;

use super::*;

async fn commits() -> Vec<StoredCommit> {
    let dir = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let blobs = Blobs::open(dir.path()).unwrap();
    let runtime =
        Runtime::start(store.clone(), blobs, Options::new(Agents::demo(), Secret::new([1; 32]))).await.unwrap();
    let caller = Caller::new("agent://local", "dev", Scopes::admin());
    let enroll = async |params: Value| {
        runtime.call_by_name(&caller, "enroll_channel", &params.to_string()).await.unwrap();
    };
    enroll(json!({ "channel_id": "w", "peer_role": "worker", "idempotency_key": "k" })).await;
    enroll(json!({ "channel_id": "w", "peer_role": "worker", "queues": ["other"] })).await;
    enroll(json!({ "channel_id": "c", "peer_role": "client", "capabilities": ["permissions"] })).await;
    let through = caller.coming_through("c".parse().unwrap());
    let call = async |caller: &Caller, method: &str, params: Value| {
        let answer = runtime.call_by_name(caller, method, &params.to_string()).await;
        answer.unwrap_or_else(|error| panic!("{method}: {error:?}"));
    };
    call(&through, "create_session", json!({ "session_id": "s" })).await;
    call(&caller, "ack_events", json!({ "channel_id": "c", "acknowledged_sequence": 1 })).await;
    call(&caller, "reconnect_channel", json!({ "channel_id": "c", "last_acknowledged_sequence": 9 })).await;
    call(&caller, "follow_sessions", json!({ "channel_id": "c", "unfollow": ["s"] })).await;
    call(&caller, "close_channel", json!({ "channel_id": "c" })).await;
    store.feed(0, ReadLimit::records(10_000)).await.unwrap()
}

#[tokio::test]
async fn remote_channels_are_sound_and_what_is_changed_is_found() {
    let commits = commits().await;
    let report = check(&commits);
    assert_eq!(report.findings, vec![]);
    assert_eq!((report.peers, report.not_folded_commits, report.unknown_stream_commits), (2, 0, 0));
    assert_eq!(report.folded_commits, commits.len() as u64);

    let first = commits.iter().position(|commit| &*commit.stream == "peer/dev/w").unwrap();
    check_changed(&commits, first, |commit| drop(commit.index.pop()), "is not the one its events make");
    check_changed(&commits, first, |commit| commit.partition = "dev".into(), "partition dev");
    check_changed(&commits, first, |commit| commit.stream = "peer/dev/x".into(), "the event is about w");
    check_changed(&commits, first, |commit| commit.stream = "peer/other/w".into(), "another account");
}
