//! A real runtime writes, and the check reads; then bytes are changed on the way.

mod messaging;
mod peers;

use std::sync::Arc;

use bytes::Bytes;
use factum_agent::Agents;
use factum_model::registry::Scopes;
use factum_runtime::{Caller, Options, Runtime, Secret};
use factum_store::{Blobs, MemoryStore, ReadLimit, Store};
use serde_json::json;

use super::*;

/// The commits of a session with a question, an answer, keys and repeats.
async fn commits() -> Vec<StoredCommit> {
    let dir = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let blobs = Blobs::open(dir.path()).unwrap();
    let runtime =
        Runtime::start(store.clone(), blobs, Options::new(Agents::demo(), Secret::new([1; 32]))).await.unwrap();
    let caller = Caller::new("agent://local", "dev", Scopes::admin());
    let call = async |name: &str, params: serde_json::Value| {
        let result = runtime.call_by_name(&caller, name, &params.to_string()).await.unwrap();
        serde_json::from_str::<serde_json::Value>(result.get()).unwrap()
    };
    let input = json!([{ "type": "text", "text": "approve: it" }]);
    let turn = call("submit_turn", json!({ "input": input, "idempotency_key": "a" })).await;
    let session: factum_model::id::SessionId = turn["session_id"].as_str().unwrap().parse().unwrap();
    let mut events = runtime.subscribe(&caller, &session, 0).await.unwrap();
    let mut wait_for = async |kind: &str| loop {
        for published in events.next().await.unwrap() {
            let event = Event::decode(&published.json).unwrap();
            if event.fact.type_name() == kind {
                return event;
            }
        }
    };
    let action = wait_for("action.required").await;
    call("respond_action", json!({ "action_id": action.scope.action_id, "decision": "allow" })).await;
    wait_for("turn.completed").await;
    let key = call("create_api_key", json!({ "principal": "agent://x", "idempotency_key": "k" })).await;
    call("revoke_api_key", json!({ "key_id": key["key_id"] })).await;
    call("revoke_api_key", json!({ "key_id": key["key_id"], "idempotency_key": "again" })).await;
    store.feed(0, ReadLimit::records(10_000)).await.unwrap()
}

fn check(commits: &[StoredCommit]) -> Report {
    let mut domain = Domain::default();
    commits.iter().for_each(|commit| domain.commit(commit));
    domain.finish()
}

/// Changes one commit and expects exactly one kind of finding.
fn check_changed(commits: &[StoredCommit], index: usize, change: impl FnOnce(&mut StoredCommit), expected: &str) {
    let mut changed = commits.to_vec();
    change(&mut changed[index]);
    let findings = check(&changed).findings;
    assert!(findings.iter().any(|finding| finding.what.contains(expected)), "{expected}: {findings:?}");
}

#[tokio::test]
async fn what_a_runtime_writes_is_sound_and_what_is_changed_is_found() {
    let commits = commits().await;
    let report = check(&commits);
    assert_eq!(report.findings, vec![]);
    assert_eq!(
        (report.sessions, report.channels, report.not_folded_commits, report.unknown_stream_commits),
        (1, 0, 0, 0)
    );
    assert_eq!(report.folded_commits, commits.len() as u64);

    let session =
        commits.iter().position(|commit| commit.stream.starts_with("session/") && !commit.index.is_empty()).unwrap();
    check_changed(&commits, session, |commit| drop(commit.index.pop()), "is not the one its events make");
    check_changed(&commits, session, |commit| commit.records[0] = Bytes::from_static(b"{}"), "is not an event");
    check_changed(&commits, session, |commit| commit.partition = "other".into(), "partition other");
    check_changed(&commits, session, |commit| commit.stream = "session/dev/sess_x".into(), "the event is about sess_");
    let keys = commits.iter().rposition(|commit| &*commit.stream == RUNTIME_STREAM && commit.index.len() > 1).unwrap();
    check_changed(&commits, keys, |commit| drop(commit.index.pop()), "is not the one its events make");
    let swap = |commit: &mut StoredCommit| commit.records.swap(0, 1);
    let two = commits.iter().position(|commit| commit.records.len() > 1).unwrap();
    check_changed(&commits, two, swap, "says that it is number");
}
