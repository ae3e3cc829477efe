//! Nothing is visible before it is durable, and nothing false is acknowledged.

use std::time::Duration;

use factum_model::ErrorCode;
use factum_model::commands::{GetThreadRead, InterruptTurn, ReadEvents, RespondAction};
use factum_model::value::Status;
use futures::FutureExt;

use crate::world::{World, turn};

#[tokio::test]
async fn an_answer_waits_for_the_disk() {
    let world = World::new().await;
    world.store.pause();
    let mut answer = Box::pin(world.submit("hello"));
    assert!(answer.as_mut().now_or_never().is_none(), "acknowledged before it was durable");
    world.store.resume();
    answer.await.unwrap();
}

#[tokio::test]
async fn readers_and_subscribers_see_only_what_is_durable() {
    let world = World::new().await;
    let mut first = turn("hello");
    first.agent = Some("waiting".to_owned());
    let session_id = world.runtime.call(&world.caller, first.clone()).await.unwrap().session_id;
    world.until(&session_id, Status::Running).await;
    let page = || ReadEvents { session_id: session_id.clone(), after: None, before: None, limit: None };
    // The turn asks its model once; wait for that, so that nothing else is on its way.
    let mut subscription = world.runtime.subscribe(&world.caller, &session_id, 4).await.unwrap();
    subscription.next().await.unwrap();
    let before = world.runtime.call(&world.caller, page()).await.unwrap().next_after;

    world.store.pause();
    let interrupt = InterruptTurn {
        session_id: session_id.clone(),
        thread_id: None,
        turn_id: None,
        reason: None,
        idempotency_key: None,
    };
    let mut interrupted = Box::pin(world.runtime.call(&world.caller, interrupt));
    assert!(interrupted.as_mut().now_or_never().is_none());
    // Decided in memory, not yet durable: the read model waits, the page and the subscription do not show it.
    let read = GetThreadRead { session_id: session_id.clone(), thread_id: None, as_of: None };
    let mut read = Box::pin(world.runtime.call(&world.caller, read));
    assert!(read.as_mut().now_or_never().is_none(), "a read model was shown before it was durable");
    assert_eq!(world.runtime.call(&world.caller, page()).await.unwrap().next_after, before);
    assert!(subscription.next().now_or_never().is_none(), "an event was published before it was durable");

    world.store.resume();
    interrupted.await.unwrap();
    assert_eq!(read.await.unwrap().status, Status::Cancelled);
    let events = subscription.next().await.unwrap();
    assert_eq!(events[0].sequence, before + 1);
}

#[tokio::test]
async fn a_failed_sync_ends_writes_and_not_reads() {
    let world = World::new().await;
    let session_id = world.submit("hello").await.unwrap().session_id;
    world.until(&session_id, Status::Completed).await;
    world.store.fail_next_sync();
    let refused = world.submit("again").await.unwrap_err();
    assert_eq!((refused.code, refused.retryable), (ErrorCode::Unavailable, false));
    let refused = world.submit("and again").await.unwrap_err();
    assert_eq!(refused.details["cause"], "store_poisoned");
    assert_eq!(world.thread(&session_id).await.status, Status::Completed);
    assert!(world.runtime.store_poisoned().is_some());
}

#[tokio::test]
async fn a_caller_that_goes_away_has_still_committed() {
    let world = World::new().await;
    world.store.pause();
    let mut command = turn("hello");
    command.idempotency_key = Some("once".to_owned());
    let mut answer = Box::pin(world.runtime.call(&world.caller, command.clone()));
    assert!(answer.as_mut().now_or_never().is_none());
    drop(answer);
    world.store.resume();
    let repeated = tokio::time::timeout(Duration::from_secs(10), world.runtime.call(&world.caller, command)).await;
    let session_id = repeated.unwrap().unwrap().session_id;
    let thread = world.until(&session_id, Status::Completed).await;
    assert_eq!(thread.diagnostics.turns_submitted, 1);
}

/// First answer wins, and whoever comes second hears which it was, however close behind.
#[tokio::test]
async fn a_refusal_waits_for_what_it_is_about() {
    let world = World::new().await;
    let session_id = world.submit("approve: deploy").await.unwrap().session_id;
    let action_id = world.until(&session_id, Status::WaitingPermission).await.pending_actions[0].action_id.clone();
    let respond = |decision: &str| RespondAction {
        action_id: action_id.clone(),
        decision: decision.to_owned(),
        payload: None,
        idempotency_key: None,
    };
    world.store.pause();
    let mut first = Box::pin(world.runtime.call(&world.caller, respond("deny")));
    assert!(first.as_mut().now_or_never().is_none());
    let mut second = Box::pin(world.runtime.call(&world.caller, respond("allow")));
    assert!(second.as_mut().now_or_never().is_none(), "refused because of something that was not durable");
    world.store.resume();
    first.await.unwrap();
    let refusal = second.await.unwrap_err();
    assert_eq!((refusal.code, &refusal.details["decision"]), (ErrorCode::Conflict, &serde_json::json!("deny")));
}
