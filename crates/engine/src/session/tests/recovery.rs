//! After a crash: each thing that may be open, and what the rules make of it.

use factum_model::value::{Effect, OnBusy};
use serde_json::json;

use super::world::{World, gated, id, open, question};
use super::{Setup, check};

fn running(world: &mut World, effect: Effect) {
    world.with_calls(vec![open("tool", effect)]);
    world.run_tool("tool");
}

#[test]
fn each_open_thing_is_repaired_by_its_rule() {
    let again: &[&str] = &["run.status recovering", "tool.progress interrupted", "turn.started t1 #2"];
    let asked: &[&str] =
        &["run.status recovering", "tool.progress lost", "action.required review", "turn.started t1 #2"];
    let only: &[&str] = &["run.status recovering", "turn.started t1 #2"];
    let table: [(&str, Setup, &[&str]); 13] = [
        ("nothing was open", |_| {}, &[]),
        (
            "a turn that is over",
            |w| {
                w.submit_all(&["t1"]);
                w.complete();
            },
            &[],
        ),
        ("a turn that just began", |w| w.submit_all(&["t1"]), only),
        (
            "a model request",
            |w| {
                w.submit_all(&["t1"]);
                w.ask_model();
            },
            &["run.status recovering", "model.failed interrupted again", "turn.started t1 #2"],
        ),
        ("a call that did not begin", |w| w.with_calls(vec![open("send", Effect::Once)]), only),
        ("a pure call", |w| running(w, Effect::Pure), again),
        ("an idempotent call", |w| running(w, Effect::Idempotent), again),
        ("a call with one effect", |w| running(w, Effect::Once), asked),
        ("a call with an unknown effect", |w| running(w, Effect::Unknown), asked),
        ("a permission", |w| w.with_calls(vec![gated("rm")]), &[]),
        ("a question", |w| w.with_calls(vec![question("ask")]), &[]),
        (
            "a review",
            |w| {
                running(w, Effect::Once);
                w.recover();
            },
            &[],
        ),
        (
            "a permission beside a call that runs",
            |w| {
                w.with_calls(vec![gated("rm"), open("read", Effect::Pure)]);
                w.run_tool("read");
            },
            again,
        ),
    ];
    for (name, setup, expected) in table {
        check(name, setup, World::recover, expected);
    }
}

#[test]
fn a_request_that_was_cut_off_is_asked_again_and_a_safe_call_runs_again() {
    let mut world = World::idle();
    world.submit("t1", OnBusy::Queue);
    world.ask_model();
    world.recover();
    assert_eq!(world.ask_model(), ["model.requested 1.2"]);
    world.answer(vec![open("read", Effect::Idempotent)]);
    world.run_tool("read");
    world.recover();
    assert_eq!(world.run_tool("read"), ["tool.progress running #2"]);
    assert_eq!(world.active().attempt, 3);
    assert!(world.main().incidents.is_empty(), "a restart is nobody's mistake");
}

#[test]
fn an_open_action_is_as_open_behind_a_restart_as_before() {
    let mut world = World::idle();
    world.with_calls(vec![gated("rm")]);
    world.recover();
    world.state = world.replayed();
    assert_eq!(world.run_tool("rm"), ["refused precondition_failed: the tool call is not in that state"]);
    assert_eq!(world.respond(0, "allow"), ["action.resolved allow by response"]);
    assert_eq!(world.run_tool("rm"), ["tool.progress running #1"]);
}

/// No commit leaves a thread so; a log that was repaired by hand may.
fn waiting_behind_nothing() -> World {
    let mut world = World::idle();
    world.submit_all(&["t1", "t2", "t3"]);
    world.state.threads[0].active = None;
    world.watch.restore_from_snapshot(&world.state);
    world
}

#[test]
fn turns_that_wait_behind_nothing_are_started() {
    let started = ["queue.changed started t2 [t3]", "turn.started t2 #1"];
    assert_eq!(waiting_behind_nothing().recover(), started);

    let mut world = waiting_behind_nothing();
    let thread_id = world.main().thread_id.clone();
    assert_eq!(world.resume(json!({ "thread_id": thread_id })), started);
    assert_eq!(world.resume(json!({ "thread_id": thread_id })), Vec::<String>::new(), "it is busy now");

    let mut world = waiting_behind_nothing();
    let queued = ["turn.submitted t4 queued", "queue.changed enqueued t4 [t2 t3 t4]"];
    assert_eq!(world.submit("t4", OnBusy::Queue), queued, "nobody overtakes");
}

#[test]
fn resuming_says_what_a_thread_does() {
    let mut world = World::idle();
    let main = world.main().thread_id.clone();
    assert_eq!(world.resume(json!({ "thread_id": "nowhere" })), ["refused not_found: not found"]);
    world.submit("t1", OnBusy::Queue);
    let command = serde_json::from_value(json!({ "session_id": "s1", "thread_id": main })).expect("params");
    let output =
        world.decide(|state, context| crate::session::resume_thread(state, &command, context)).expect("told").output;
    assert_eq!((output.resumed, output.active_turn_id, output.sequence), (false, Some(id("t1")), 4));
}
