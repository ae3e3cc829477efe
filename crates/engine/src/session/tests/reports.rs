//! Reports of running turns: what is recorded, and what a runner is refused.

use factum_model::Event;
use factum_model::report::{Chunk, Ends, ModelAnswer, Report, TurnReport};
use factum_model::value::{Effect, OnBusy};
use serde_json::{Value, json};

use super::check;
use super::world::*;

fn tools(world: &mut World) {
    world.with_calls(vec![gated("rm"), open("read", Effect::Pure)]);
}

fn stream(world: &mut World) -> Vec<String> {
    let open = world.request();
    let chunks = vec![
        Chunk::Reasoning { text: "hm".into(), index: 0 },
        Chunk::Text { text: "h".into(), index: 0 },
        Chunk::Text { text: "i".into(), index: 1 },
        Chunk::ReasoningSummary { text: "thought".into() },
    ];
    world.report(Report::ModelStreamed { request_id: open.request_id, step_id: open.step_id, chunks })
}

fn fail_model(world: &mut World) -> Vec<String> {
    let open = world.request();
    let (error, will_retry) = (failure("overloaded"), true);
    world.report(Report::ModelFailed { request_id: open.request_id, step_id: open.step_id, error, will_retry })
}

#[test]
fn a_turn_asks_streams_fails_asks_again_and_answers() {
    let mut world = World::idle();
    world.submit("t1", OnBusy::Queue);
    assert_eq!(world.ask_model(), ["model.requested 1.1"]);
    assert_eq!(stream(&mut world), ["reasoning.delta", "model.delta", "model.delta", "reasoning.summary"]);
    assert_eq!(fail_model(&mut world), ["model.failed overloaded again"]);
    assert_eq!(world.ask_model(), ["model.requested 1.2"]);
    let told = world.answer(vec![gated("rm"), open("read", Effect::Pure), question("ask")]);
    assert_eq!(
        told,
        [
            "model.completed",
            "tool.started rm",
            "tool.args",
            "action.required tool_permission",
            "tool.started read",
            "tool.args",
            "tool.started ask",
            "tool.args",
            "action.required input",
        ]
    );
    assert_eq!(world.ask_model(), ["model.requested 2.1"], "the tries of each round are counted for themselves");
}

/// The open request's whole answer, with its last words, which ends the turn if it can.
fn answer_and_end(world: &mut World, calls: Vec<factum_model::report::ToolDraft>) -> Vec<String> {
    let open = world.request();
    let chunks = vec![Chunk::Text { text: "hi".into(), index: 0 }];
    let ends = Some(Ends { preview: Some("hi".into()) });
    let answer = ModelAnswer { chunks, ends, ..model_answer(calls) };
    world.report(Report::ModelCompleted { request_id: open.request_id, step_id: open.step_id, answer })
}

#[test]
fn an_answer_that_ends_its_turn_leaves_what_three_reports_leave() {
    let begun = || {
        let mut world = World::idle();
        world.submit_all(&["t1", "t2"]);
        world.ask_model();
        world
    };
    let (mut at_once, mut one_by_one) = (begun(), begun());
    let told = answer_and_end(&mut at_once, Vec::new());
    let open = one_by_one.request();
    let chunks = vec![Chunk::Text { text: "hi".into(), index: 0 }];
    let mut expected =
        one_by_one.report(Report::ModelStreamed { request_id: open.request_id, step_id: open.step_id, chunks });
    expected.extend(one_by_one.answer(Vec::new()));
    expected.extend(one_by_one.complete());
    assert_eq!(told, expected);
    let fact = |json: &Vec<u8>| Event::decode(json).expect("a fact").fact;
    let facts = |world: &World| world.log.iter().flatten().map(fact).collect::<Vec<_>>();
    assert_eq!(facts(&at_once), facts(&one_by_one), "with the same usage, steps and preview");
    assert_eq!(at_once.main().last_outcome, one_by_one.main().last_outcome);
    assert_eq!(at_once.active().turn_id, one_by_one.active().turn_id, "the next one runs");
}

#[test]
fn an_answer_ends_no_turn_that_has_something_to_do() {
    for calls in [vec![gated("rm")], vec![open("read", Effect::Pure)], vec![question("ask")]] {
        let mut world = World::idle();
        world.submit("t1", OnBusy::Queue);
        world.ask_model();
        let told = answer_and_end(&mut world, calls);
        assert!(!told.iter().any(|fact| fact.starts_with("turn.")), "{told:?}");
        assert_eq!(world.active().calls.len(), 1);
        // Nor does a later answer while it is open.
        world.ask_model();
        let told = answer_and_end(&mut world, Vec::new());
        assert_eq!(told, ["model.delta", "model.completed"]);
    }
}

#[test]
fn artifacts_are_recorded_with_the_answer_that_made_them() {
    let mut world = World::idle();
    world.submit("t1", OnBusy::Queue);
    world.ask_model();
    let open = world.request();
    let content = serde_json::from_value(json!({
        "ref": "blob:sha256:00", "media_type": "text/plain", "size": 2, "digest": "sha256:00"
    }));
    let artifacts =
        vec![factum_model::report::ArtifactDraft { name: Some("a.txt".into()), content: content.expect("a ref") }];
    let answer = ModelAnswer { artifacts, ..model_answer(Vec::new()) };
    let told = world.report(Report::ModelCompleted { request_id: open.request_id, step_id: open.step_id, answer });
    assert_eq!(told, ["model.completed", "artifact.changed"]);
    assert_eq!(world.active().steps, 2);
}

#[test]
fn a_tool_runs_once_and_only_when_it_may() {
    let wrong = |w: &mut World| {
        let tool_call_id = w.call("read").tool_call_id;
        w.report(Report::ToolRunning { tool_call_id, arguments_digest: "sha256:other".into() })
    };
    let unknown = |w: &mut World| {
        w.report(Report::ToolRunning { tool_call_id: id("call_none"), arguments_digest: String::new() })
    };
    let progress = |w: &mut World| {
        let tool_call_id = w.call("read").tool_call_id;
        w.report(Report::ToolProgressed { tool_call_id, message: None, percent: Some(50) })
    };
    let fail = |w: &mut World| {
        let tool_call_id = w.call("read").tool_call_id;
        let outcome = factum_model::report::ToolReport::Failed { error: failure("exit"), duration_ms: 1 };
        w.report(Report::ToolFinished { tool_call_id, outcome })
    };
    let read = |w: &mut World| {
        tools(w);
        w.run_tool("read");
    };
    let state: &[&str] = &["refused precondition_failed: the tool call is not in that state"];
    check("open", tools, |w| w.run_tool("read"), &["tool.progress running #1"]);
    check("before it is approved", tools, |w| w.run_tool("rm"), state);
    check(
        "other arguments",
        tools,
        wrong,
        &["refused precondition_failed: the arguments are not the ones that were decided on"],
    );
    check("an unknown call", tools, unknown, &["refused precondition_failed: this tool call is over"]);
    check("while it runs", read, |w| w.run_tool("read"), state);
    check("progress", read, progress, &["tool.progress streaming"]);
    check("progress before it runs", tools, progress, state);
    check("an end before it runs", tools, |w| w.end_tool("read"), state);
    check("an end", read, |w| w.end_tool("read"), &["tool.result done"]);
    check("a failure", read, fail, &["tool.failed failed"]);
}

#[test]
fn a_refused_tool_is_told_both_states() {
    let mut world = World::idle();
    tools(&mut world);
    let call = world.call("rm");
    let report = Report::ToolRunning { tool_call_id: call.tool_call_id, arguments_digest: call.arguments_digest };
    let runner = world.runner();
    let refusal = world.decide(|state, context| crate::session::decide_report(state, &runner, report, context));
    let details = refusal.err().expect("refused").details;
    assert_eq!(Value::Object(details), json!({ "state": "waiting", "expected": "ready" }));
}

#[test]
fn a_model_request_is_open_once_and_answered_once() {
    let asked = |w: &mut World| {
        w.submit_all(&["t1"]);
        w.ask_model();
    };
    let not_open: &[&str] = &["refused precondition_failed: this model request is not open"];
    check(
        "a second one",
        asked,
        World::ask_model,
        &["refused precondition_failed: a model request of this turn is open already"],
    );
    let again = |w: &mut World| {
        let open = w.request();
        w.answer(Vec::new());
        let answer = model_answer(Vec::new());
        w.report(Report::ModelCompleted { request_id: open.request_id, step_id: open.step_id, answer })
    };
    check("a second answer", asked, again, not_open);
    let other_step = |w: &mut World| {
        let answer = model_answer(Vec::new());
        let request_id = w.request().request_id;
        w.report(Report::ModelCompleted { request_id, step_id: id("step_other"), answer })
    };
    check("the step of another request", asked, other_step, not_open);
    check(
        "a stream behind the answer",
        asked,
        |w| {
            let open = w.request();
            w.answer(Vec::new());
            w.report(Report::ModelStreamed { request_id: open.request_id, step_id: open.step_id, chunks: Vec::new() })
        },
        not_open,
    );
}

#[test]
fn an_older_run_of_a_turn_can_change_nothing() {
    let mut world = World::idle();
    world.submit_all(&["t1", "t2"]);
    let old = world.runner();
    world.recover();
    let over = ["refused precondition_failed: this run of the turn is over"];
    assert_eq!(world.report_as(&old, model_requested()), over, "an older attempt");
    let finished = || Report::TurnFinished { outcome: completed() };
    assert_eq!(world.report_as(&old, finished()), over);
    let current = world.runner();
    world.complete();
    assert_eq!(world.report_as(&current, finished()), over, "a turn that is over");
    let elsewhere = factum_model::report::Runner { thread_id: id("nowhere"), ..current };
    assert_eq!(world.report_as(&elsewhere, finished()), ["refused not_found: not found"]);
}

#[test]
fn a_turn_is_complete_only_when_nothing_is_open() {
    let open_work: &[&str] = &["refused precondition_failed: the turn still has open work"];
    let failed = |w: &mut World| {
        w.report(Report::TurnFinished { outcome: TurnReport::Failed { error: failure("model_error") } })
    };
    check(
        "a model request",
        |w| {
            w.submit_all(&["t1"]);
            w.ask_model();
        },
        World::complete,
        open_work,
    );
    check("a call that waits", |w| w.with_calls(vec![gated("rm")]), World::complete, open_work);
    check("a call that may run", |w| w.with_calls(vec![open("read", Effect::Pure)]), World::complete, open_work);
    check(
        "failing closes what is open",
        |w| w.with_calls(vec![gated("rm")]),
        failed,
        &["action.resolved cancelled by superseded", "tool.failed cancelled", "turn.failed t1 failed model_error"],
    );
}
