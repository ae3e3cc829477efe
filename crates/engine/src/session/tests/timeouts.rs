//! Actions nobody decided in time: each policy, and timers that fire early, late and twice.

use factum_model::events::OnTimeout;

use super::check;
use super::world::{World, gated, gated_until, question_until};

const TIMEOUT_MS: u64 = 1_000;

fn approval(world: &mut World, on_timeout: OnTimeout) {
    world.with_calls(vec![gated_until("rm", Some(TIMEOUT_MS), on_timeout), gated("other")]);
    world.submit_all(&["t2"]);
}

fn fire(world: &mut World, after_ms: i64) -> Vec<String> {
    world.later(after_ms);
    let action_id = world.action_id(0);
    world.expire(&action_id)
}

#[test]
fn time_running_out_does_what_was_declared_and_never_allows() {
    let deny: &[&str] = &["action.resolved timeout by timeout", "tool.failed timed_out"];
    let cancel: &[&str] = &[
        "action.resolved timeout by timeout",
        "tool.failed timed_out",
        "action.resolved cancelled by superseded",
        "tool.failed cancelled",
        "turn.failed t1 timed_out timeout",
        "queue.changed started t2 []",
        "turn.started t2 #1",
    ];
    check("deny, to the millisecond", |w| approval(w, OnTimeout::Deny), |w| fire(w, 1_000), deny);
    check("deny, late", |w| approval(w, OnTimeout::Deny), |w| fire(w, 60_000), deny);
    check("deny, early", |w| approval(w, OnTimeout::Deny), |w| fire(w, 999), &[]);
    check("cancel", |w| approval(w, OnTimeout::Cancel), |w| fire(w, 1_000), cancel);
    check("cancel, early", |w| approval(w, OnTimeout::Cancel), |w| fire(w, 999), &[]);
    check("wait", |w| approval(w, OnTimeout::Wait), |w| fire(w, 60_000), &[]);
    check(
        "a question",
        |w| w.with_calls(vec![question_until("ask", Some(TIMEOUT_MS), OnTimeout::Deny)]),
        |w| fire(w, 1_000),
        deny,
    );
    check(
        "no time was set",
        |w| w.with_calls(vec![gated_until("rm", None, OnTimeout::Deny)]),
        |w| fire(w, 60_000),
        &[],
    );
    check(
        "a time beyond the end of time",
        |w| w.with_calls(vec![gated_until("rm", Some(u64::MAX), OnTimeout::Deny)]),
        |w| fire(w, 60_000),
        &[],
    );
}

#[test]
fn a_timer_that_fires_again_or_behind_an_answer_changes_nothing() {
    for on_timeout in [OnTimeout::Deny, OnTimeout::Cancel] {
        let mut world = World::idle();
        approval(&mut world, on_timeout);
        let action_id = world.action_id(0);
        assert!(!fire(&mut world, 1_000).is_empty());
        assert!(world.expire(&action_id).is_empty(), "the second firing of {on_timeout:?}");

        let mut world = World::idle();
        approval(&mut world, on_timeout);
        let action_id = world.action_id(0);
        world.respond(0, "allow");
        world.later(60_000);
        assert!(world.expire(&action_id).is_empty(), "{on_timeout:?} behind an answer");
    }
}

#[test]
fn an_answer_before_the_timer_fires_still_counts() {
    let mut world = World::idle();
    approval(&mut world, OnTimeout::Deny);
    world.later(60_000);
    assert_eq!(world.respond(0, "allow"), ["action.resolved allow by response"]);
}
