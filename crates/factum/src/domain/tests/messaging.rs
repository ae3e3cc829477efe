//! The same for messaging channels.

use serde_json::Value;

use super::*;

/// The commits of a channel in which everything happens that can happen, and of a direct one.
async fn commits() -> Vec<StoredCommit> {
    let dir = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let blobs = Blobs::open(dir.path()).unwrap();
    let runtime =
        Runtime::start(store.clone(), blobs, Options::new(Agents::demo(), Secret::new([1; 32]))).await.unwrap();
    let caller = Caller::new("agent://local", "dev", Scopes::admin());
    let call = async |name: &str, params: Value| {
        let result = runtime.call_by_name(&caller, name, &params.to_string()).await.unwrap();
        serde_json::from_str::<Value>(result.get()).unwrap()
    };
    let parts = json!([{ "type": "text", "text": "hello" }]);
    let first = json!({ "name": "all", "visibility": "public", "idempotencyKey": "a", "members": [{ "principalId": "agent://x" }] });
    let id = call("channels/create", first).await["channel"]["id"].clone();
    call("channels/publish", json!({ "channelId": id, "parts": parts })).await;
    call("channels/publish", json!({ "channelId": id, "parts": parts, "idempotencyKey": "k" })).await;
    call("channels/publish", json!({ "channelId": id, "parts": parts, "idempotencyKey": "k" })).await;
    call("channels/addMember", json!({ "channelId": id, "principalId": "agent://y" })).await;
    call("channels/addMember", json!({ "channelId": id, "principalId": "agent://y", "role": "moderator" })).await;
    call("channels/markRead", json!({ "channelId": id, "sequence": 1, "idempotencyKey": "r" })).await;
    call("channels/publish", json!({ "channelId": id, "parts": parts })).await;
    let version = call("channels/get", json!({ "channelId": id })).await["channel"]["version"].clone();
    let patch = json!({ "set": { "a": 1 } });
    call("channels/update", json!({ "channelId": id, "expectedVersion": version, "metadataPatch": patch })).await;
    call("channels/removeMember", json!({ "channelId": id, "principalId": "agent://x" })).await;
    call("channels/publish", json!({ "peer": "agent://x", "parts": parts })).await;
    call("channels/delete", json!({ "channelId": id, "idempotencyKey": "d" })).await;
    store.feed(0, ReadLimit::records(10_000)).await.unwrap()
}

/// Changes a record as JSON.
fn change_record(commit: &mut StoredCommit, at: usize, change: impl FnOnce(&mut Value)) {
    let mut record: Value = serde_json::from_slice(&commit.records[at]).unwrap();
    change(&mut record);
    commit.records[at] = Bytes::from(record.to_string());
}

#[tokio::test]
async fn channels_are_sound_and_what_is_changed_is_found() {
    let commits = commits().await;
    let report = check(&commits);
    assert_eq!(report.findings, vec![]);
    assert_eq!((report.sessions, report.channels), (0, 2));
    assert_eq!((report.not_folded_commits, report.unknown_stream_commits), (0, 0));
    assert_eq!(report.folded_commits, commits.len() as u64);

    // The commits of the first channel, in which everything but the direct message happened.
    let of_channel = |kind: &str, nth: usize| {
        let mut found = commits.iter().enumerate().filter(|(_, commit)| {
            let last: Value = serde_json::from_slice(commit.records.last().unwrap()).unwrap();
            commit.stream.starts_with("messaging/dev/chan_") && last["type"] == kind
        });
        found.nth(nth).unwrap().0
    };
    let created = of_channel("messaging.channel.created", 0);
    let keyed = of_channel("messaging.message.published", 1);
    let added = of_channel("messaging.member.added", 0);
    let deleted = of_channel("messaging.channel.deleted", 0);
    for with_rows in [created, keyed, added, deleted] {
        let drop_row = |commit: &mut StoredCommit| drop(commit.index.pop().unwrap());
        check_changed(&commits, with_rows, drop_row, "is not the one its events make");
    }
    check_changed(&commits, keyed, |commit| commit.partition = "dev".into(), "partition dev");
    let rename = |commit: &mut StoredCommit| commit.stream = "messaging/dev/chan_x".into();
    check_changed(&commits, keyed, rename, "the event is about chan_");
    let elsewhere =
        |commit: &mut StoredCommit| change_record(commit, 1, |event| event["payload"]["account_ref"] = json!("other"));
    check_changed(&commits, created, elsewhere, "of the account other");
    let skip = |commit: &mut StoredCommit| change_record(commit, 0, |event| event["payload"]["sequence"] = json!(3));
    check_changed(&commits, keyed, skip, "message 3 stands where message 2 belongs");
    let early = |commit: &mut StoredCommit| {
        change_record(commit, 0, |event| event["timestamp"] = json!("2001-01-01T00:00:00Z"))
    };
    check_changed(&commits, added, early, "older than the one before it");
    let foreign = |commit: &mut StoredCommit| {
        change_record(commit, 0, |event| {
            event["type"] = json!("messaging.read");
            event["payload"] = json!({ "channel_id": "chan_other", "principal": "agent://x", "sequence": 1 });
        });
    };
    check_changed(&commits, added, foreign, "the event is about chan_other");
}

#[tokio::test]
async fn a_channel_that_goes_on_after_its_end_is_found() {
    let mut commits = commits().await;
    let deleted = commits.iter().rposition(|commit| commit.stream.starts_with("messaging/dev/chan_")).unwrap();
    let mut late = commits[deleted].clone();
    late.first_sequence += late.records.len() as u64;
    late.position = commits.last().unwrap().position + 1;
    for at in 0..late.records.len() {
        change_record(&mut late, at, |event| event["sequence"] = json!(event["sequence"].as_u64().unwrap() + 2));
    }
    commits.push(late);
    let findings = check(&commits).findings;
    assert!(findings.iter().any(|finding| finding.what.contains("deleted before")), "{findings:?}");
}
