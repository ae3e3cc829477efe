//! Bounds: each is met by its name, at its value plus one.

use factum_model::report::Report;
use factum_model::value::{Effect, OnBusy};
use serde_json::json;

use super::world::*;

/// Does something at the bound and one beyond it.
fn check(name: &str, fits: Vec<String>, beyond: Vec<String>, expected: &str) {
    assert!(!fits[0].starts_with("refused"), "{name}: {fits:?}");
    assert_eq!(beyond, [format!("refused limit_exceeded: {expected}")], "{name}");
}

#[test]
fn turns_that_wait() {
    let mut world = World::idle();
    world.limits.queue_turns_max = 2;
    world.submit_all(&["t1", "t2"]);
    let (fits, beyond) = (world.submit("t3", OnBusy::Queue), world.submit("t4", OnBusy::Queue));
    check("queue", fits, beyond, "queue_turns is 3, the limit is 2");
    assert_eq!(world.submit("t4", OnBusy::Interrupt).len(), 3, "an interrupting turn does not wait");
}

#[test]
fn what_a_caller_brings_along() {
    let mut world = World::idle();
    world.limits.input_parts_max = 2;
    world.limits.metadata_bytes_max = 20;
    world.limits.title_chars_max = 3;
    let mut submit = |field: &str, value| world.submit_told(json!({ field: value }));
    check(
        "parts",
        submit("input", json!(texts(2))),
        submit("input", json!(texts(3))),
        "input_parts is 3, the limit is 2",
    );
    check(
        "metadata",
        submit("metadata", json!(metadata(9))),
        submit("metadata", json!(metadata(10))),
        "metadata_bytes is 21, the limit is 20",
    );
    check(
        "options",
        submit("options", json!(metadata(9))),
        submit("options", json!(metadata(10))),
        "options_bytes is 21, the limit is 20",
    );
    let mut update = |params| world.update(params);
    check(
        "title",
        update(json!({ "title": "äöü" })),
        update(json!({ "title": "äöüß" })),
        "title_chars is 4, the limit is 3",
    );
    check(
        "metadata of a session",
        update(json!({ "metadata": metadata(9) })),
        update(json!({ "metadata": metadata(10) })),
        "metadata_bytes is 21, the limit is 20",
    );
}

#[test]
fn what_a_session_is_created_with() {
    let table = [
        (json!({ "title": "äöüß" }), "title_chars is 4, the limit is 3"),
        (json!({ "metadata": metadata(10) }), "metadata_bytes is 21, the limit is 20"),
    ];
    for (params, expected) in table {
        let mut world = World::new();
        world.limits.title_chars_max = 3;
        world.limits.metadata_bytes_max = 20;
        let refusal = world.create(params).err().expect("refused");
        assert_eq!(refusal.message, expected);
        assert_eq!(
            refusal.details["limit"]["max"].as_u64(),
            Some(if refusal.message.starts_with('t') { 3 } else { 20 })
        );
    }
}

#[test]
fn calls_of_one_answer_and_actions_open_at_once() {
    let mut world = World::idle();
    world.limits.tool_calls_max = 3;
    world.limits.open_actions_max = 3;
    world.submit("t1", OnBusy::Queue);
    world.ask_model();
    let four = vec![open("read", Effect::Pure); 4];
    let beyond = world.answer(four);
    check(
        "calls",
        world.answer(vec![gated("a"), gated("b"), open("c", Effect::Pure)]),
        beyond,
        "tool_calls is 4, the limit is 3",
    );
    world.ask_model();
    let beyond = world.answer(vec![gated("d"), question("e")]);
    check("actions", world.answer(vec![gated("d")]), beyond, "open_actions is 4, the limit is 3");
}

#[test]
fn model_requests_of_one_turn_with_the_tries_that_failed() {
    let mut world = World::idle();
    world.limits.model_rounds_max = 3;
    world.submit("t1", OnBusy::Queue);
    world.ask_model();
    world.answer(Vec::new());
    world.ask_model();
    let open = world.request();
    let error = failure("overloaded");
    world.report(Report::ModelFailed { request_id: open.request_id, step_id: open.step_id, error, will_retry: true });
    let fits = world.ask_model();
    world.recover();
    check("rounds", fits, world.ask_model(), "model_rounds is 4, the limit is 3");
}

#[test]
fn the_state_keeps_short_what_the_log_keeps_whole() {
    let mut world = World::idle();
    for _ in 0..100 {
        world.submit("t1", OnBusy::Queue);
        let long = "x".repeat(100_000);
        let error = factum_model::value::Failure { message: long.clone(), ..failure("model_error") };
        world.report(Report::TurnFinished { outcome: factum_model::report::TurnReport::Failed { error } });
        world.submit("t1", OnBusy::Queue);
        let outcome =
            factum_model::report::TurnReport::Completed { stop_reason: "end_turn".into(), preview: Some(long) };
        world.report(Report::TurnFinished { outcome });
    }
    let bytes = serde_json::to_vec(&world.state).expect("a state serializes").len();
    assert!(bytes < 64_000, "{bytes} bytes of state");
}
