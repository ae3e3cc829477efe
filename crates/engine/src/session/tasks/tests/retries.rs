//! Retry policies: how many attempts, after how long, and which failures are final.

use factum_model::task::*;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::finish_attempt::wait_ms;
use super::board::Board;
use crate::session::TimerKind;

fn with_policy(policy: Value) -> Board {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "retry_policy": policy }));
    board
}

fn fail(board: &mut Board, category: &str) {
    board.ok("fail_task", json!({ "task_id": "t", "error": { "category": category } }));
}

#[test]
fn a_policy_gives_as_many_attempts_as_it_says_and_the_last_failure_is_the_task_s() {
    let mut board = with_policy(json!({ "max_attempts": 3 }));
    for count in [1, 2] {
        assert_eq!((board.status("t"), board.attempt("t").attempt_count), (TaskStatus::Running, count));
        fail(&mut board, "bad");
    }
    fail(&mut board, "worse");
    let row = board.known("t");
    assert_eq!((row.status, row.attempt.map(|attempt| attempt.attempt_count)), (TaskStatus::Failed, Some(3)));
    assert_eq!(row.last_error.map(|error| error.category), Some("worse".to_owned()));
    assert_eq!(board.older("t").len(), 2);
}

#[test]
fn without_a_policy_one_failure_is_the_end() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued" }));
    fail(&mut board, "bad");
    assert_eq!(board.status("t"), TaskStatus::Failed);
}

#[test]
fn some_failures_are_final() {
    let mut board = with_policy(json!({ "max_attempts": 5, "non_retryable": ["denied"] }));
    fail(&mut board, "flaky");
    assert_eq!(board.status("t"), TaskStatus::Running);
    fail(&mut board, "denied");
    assert_eq!(board.status("t"), TaskStatus::Failed);

    let mut board = with_policy(json!({ "max_attempts": 5 }));
    board.ok("fail_task", json!({ "task_id": "t", "error": { "category": "bad", "retryable": false } }));
    assert_eq!(board.status("t"), TaskStatus::Failed, "whoever failed says that trying again is no use");
}

#[test]
fn the_next_attempt_waits_for_its_time_across_a_crash() {
    let backoff = json!({ "initial_ms": 100, "factor_percent": 300, "max_ms": 250, "jitter_percent": 0 });
    let mut board = with_policy(json!({ "max_attempts": 4, "backoff": backoff }));
    for (wait, count) in [(100, 2), (250, 3), (250, 4)] {
        fail(&mut board, "bad");
        assert_eq!(board.status("t"), TaskStatus::Retrying);
        let (kind, _, due) = board.timers()[0].clone();
        assert_eq!(kind, TimerKind::TaskRetry);
        board.crash();
        board.pass(wait - 1);
        assert_eq!(board.status("t"), TaskStatus::Retrying);
        board.pass(1);
        assert_eq!((board.status("t"), board.attempt("t").attempt_count), (TaskStatus::Running, count));
        let now = board.world.now.as_millisecond();
        assert_eq!(now - crate::session::tests::world::at(0).as_millisecond(), due);
        assert_eq!(board.timers(), []);
    }
    fail(&mut board, "bad");
    assert_eq!((board.status("t"), board.timers()), (TaskStatus::Failed, Vec::new()));
}

#[test]
fn the_policy_an_attempt_began_with_holds_for_it() {
    let mut board = with_policy(json!({ "max_attempts": 1 }));
    board.ok("update_task", json!({ "task_id": "t", "retry_policy": { "max_attempts": 9 } }));
    fail(&mut board, "bad");
    assert_eq!(board.status("t"), TaskStatus::Failed);
}

#[test]
fn a_retry_that_meets_a_bound_fails_the_task_and_says_so() {
    let mut board = with_policy(json!({ "max_attempts": 9 }));
    board.world.limits.task_attempts_max = 2;
    fail(&mut board, "bad");
    fail(&mut board, "bad");
    let row = board.known("t");
    assert_eq!((row.status, row.attempt.map(|one| one.attempt_count)), (TaskStatus::Failed, Some(2)));
    assert_eq!(row.last_error.map(|error| error.category), Some("limit_exceeded".to_owned()));
    let refusal = board.refused("retry_task", json!({ "task_id": "t", "reason": "again" }));
    assert_eq!(refusal.message, "task_attempts is 3, the limit is 2");
}

#[test]
fn a_time_that_comes_late_for_a_retry_changes_nothing() {
    let mut board = with_policy(json!({ "max_attempts": 3, "backoff": { "jitter_percent": 0 } }));
    fail(&mut board, "bad");
    let timer = board.timer_rows().remove(0);
    board.ok("pause_task", json!({ "task_id": "t" }));
    assert_eq!(board.timers(), [], "what was put aside does not begin by itself");
    board.later(5_000);
    board.fire(&timer);
    assert_eq!((board.last.len(), board.status("t")), (0, TaskStatus::Paused));
    board.ok("resume_task", json!({ "task_id": "t" }));
    assert_eq!(board.status("t"), TaskStatus::Retrying);
    board.fire_due();
    assert_eq!((board.status("t"), board.attempt("t").attempt_count), (TaskStatus::Running, 2));
    board.fire(&timer);
    assert_eq!(board.last.len(), 0, "it has begun");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// Powers instead of steps: the same number said another way.
    #[test]
    fn a_wait_grows_to_its_bound_and_jitter_only_shortens_it(
        initial_ms in 0u64..100_000,
        max_ms in 0u64..10_000_000,
        factor in 1u32..10,
        jitter_percent in 0u32..=100,
        attempts in 1u32..12,
        random in any::<u64>(),
    ) {
        let backoff = Backoff { initial_ms, max_ms, factor_percent: factor * 100, jitter_percent };
        let full = (initial_ms * u64::from(factor).pow(attempts - 1)).min(max_ms);
        let wait = wait_ms(&backoff, attempts, random);
        prop_assert!(wait <= full && wait >= full - full * u64::from(jitter_percent) / 100, "{wait} of {full}");
        prop_assert_eq!(wait_ms(&Backoff { jitter_percent: 0, ..backoff }, attempts, random), full);
    }

    /// However extreme, a wait is a number and within its bound.
    #[test]
    fn a_wait_never_overflows(initial_ms in any::<u64>(), max_ms in any::<u64>(), attempts in 1u32..1_000) {
        let backoff = Backoff { initial_ms, max_ms, factor_percent: u32::MAX, jitter_percent: 20 };
        prop_assert!(wait_ms(&backoff, attempts, u64::MAX) <= max_ms);
    }
}

/// A timer has the word until the next attempt begins.
#[test]
fn a_retry_that_is_due_later_is_not_talked_away() {
    let mut board = Board::new();
    let retry_policy = json!({ "max_attempts": 2, "backoff": { "initial_ms": 50 } });
    board.task("t", json!({ "status": "queued", "retry_policy": retry_policy }));
    board.ok("fail_task", json!({ "task_id": "t", "error": { "category": "bad" } }));
    for word in ["waiting_resource", "blocked", "waiting_input", "running"] {
        let refusal = board.call("update_task", json!({ "task_id": "t", "status": word })).expect_err("refused");
        assert_eq!(refusal.details["status"], "retrying", "{word}: {refusal:?}");
    }
    board.pass(100);
    assert_eq!((board.status("t"), board.attempt("t").attempt_count), (TaskStatus::Running, 2));
}

/// Each attempt says for itself how far it is; what a restart carries on goes on from there.
#[test]
fn a_new_attempt_has_come_to_nothing_yet() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "retry_policy": { "max_attempts": 2 } }));
    board.ok("append_task_progress", json!({ "task_id": "t", "percent": 90, "delivery_state": "queued" }));
    board.ok("fail_task", json!({ "task_id": "t", "error": { "category": "bad" } }));
    assert_eq!(board.known("t").progress, None);
    board.ok("append_task_progress", json!({ "task_id": "t", "percent": 10, "delivery_state": "queued" }));
    board.ok("complete_task", json!({ "task_id": "t", "delivery_state": "delivered" }));
    let row = board.known("t");
    let said = row.progress.and_then(|progress| progress.delivery_state);
    assert_eq!((row.delivery_state, said), (DeliveryState::Delivered, Some(DeliveryState::Delivered)));
}

#[test]
fn nobody_is_named_where_a_queue_or_an_agent_does_it() {
    let mut board = Board::new();
    board.task("queue", json!({ "status": "queued", "queue": "q" }));
    board.task("agent", json!({ "status": "queued", "agent": "demo" }));
    board.turn_fails("agent", crate::session::tests::world::failure("bad"));
    for name in ["queue", "agent"] {
        let params = json!({ "task_id": name, "reason": "again", "worker": "agent://zed" });
        assert_eq!(board.refused("retry_task", params).code, factum_model::ErrorCode::InvalidParams, "{name}");
    }
}
