//! What readers see: the status of a thread in each phase, and models that are the same bytes however they are made.

use factum_model::read::{SessionSnapshot, StepKind};
use factum_model::report::{Report, TurnReport};
use factum_model::value::{Effect, Status};
use factum_model::{Event, Fact};
use serde_json::{Value, json};

use super::Setup;
use super::world::*;
use crate::session::{Effect as Outside, *};

#[test]
fn a_thread_says_what_it_is_doing() {
    let fail = |w: &mut World| {
        w.submit_all(&["t1"]);
        w.report(Report::TurnFinished { outcome: TurnReport::Failed { error: failure("model_error") } });
    };
    let table: [(&str, Setup, Status); 14] = [
        ("nothing yet", |_| {}, Status::Idle),
        ("a turn", |w| w.submit_all(&["t1"]), Status::Running),
        (
            "a model request",
            |w| {
                w.submit_all(&["t1"]);
                w.ask_model();
            },
            Status::Running,
        ),
        ("a call that may run", |w| w.with_calls(vec![open("read", Effect::Pure)]), Status::Running),
        ("a permission", |w| w.with_calls(vec![gated("rm")]), Status::WaitingPermission),
        ("a question", |w| w.with_calls(vec![question("ask")]), Status::WaitingInput),
        ("both", |w| w.with_calls(vec![question("ask"), gated("rm")]), Status::WaitingPermission),
        (
            "a question beside a call that may run",
            |w| {
                w.with_calls(vec![question("ask"), open("read", Effect::Pure)]);
            },
            Status::Running,
        ),
        (
            "an answer",
            |w| {
                w.with_calls(vec![question("ask")]);
                w.respond(0, "blue");
            },
            Status::Running,
        ),
        (
            "a review",
            |w| {
                w.with_calls(vec![open("send", Effect::Once)]);
                w.run_tool("send");
                w.recover();
            },
            Status::WaitingInput,
        ),
        (
            "completed",
            |w| {
                w.submit_all(&["t1"]);
                w.complete();
            },
            Status::Completed,
        ),
        ("failed", fail, Status::Failed),
        (
            "cancelled",
            |w| {
                w.submit_all(&["t1"]);
                w.interrupt(json!({}));
            },
            Status::Cancelled,
        ),
        (
            "timed out",
            |w| {
                w.with_calls(vec![gated_until("rm", Some(1), factum_model::events::OnTimeout::Cancel)]);
                w.later(1);
                let action_id = w.action_id(0);
                w.expire(&action_id);
            },
            Status::TimedOut,
        ),
    ];
    for (name, setup, expected) in table {
        let mut world = World::idle();
        setup(&mut world);
        let model = thread_read_model(&world.state, None).expect("a thread");
        let queue = queue_snapshot(&world.state, None).expect("a queue");
        let summary = session_snapshot(&world.state, Vec::new(), None).expect("a session").threads.remove(0);
        assert_eq!([model.status, queue.status, summary.status], [expected; 3], "{name}");
    }
}

#[test]
fn a_thread_shows_its_turn_its_calls_its_actions_and_its_queue() {
    let mut world = World::idle();
    world.with_calls(vec![gated("rm"), open("read", Effect::Pure), question("ask")]);
    world.run_tool("read");
    world.submit_all(&["t2"]);
    let model = json!(thread_read_model(&world.state, None).expect("a thread"));
    let action = |nth| json!(world.action_id(nth));
    let step = json!(world.active().current_step_id);
    let call = |name, status, action: Value| {
        let mut call = json!({ "tool_call_id": world.call(name).tool_call_id, "tool_name": name, "status": status });
        if !action.is_null() {
            call["action_id"] = action;
        }
        call
    };
    assert_eq!(
        model["active_turn"],
        json!({
            "turn_id": "t1", "status": "running", "agent": "demo", "source": CALLER, "attempt": 1,
            "submitted_at": at(0), "started_at": at(0), "current_step_id": step, "steps": 4, "model_round": 1,
            "usage": { "input_tokens": 3, "output_tokens": 5 },
            "tool_calls": [
                call("rm", "waiting_permission", action(0)),
                call("read", "running", Value::Null),
                call("ask", "waiting_input", action(1)),
            ],
        })
    );
    assert_eq!(
        model["queued_turns"],
        json!([{ "turn_id": "t2", "source": CALLER, "policy": "queue", "enqueued_at": at(0) }])
    );
    assert_eq!(
        model["pending_actions"][0],
        json!({
            "action_id": action(0), "action_type": "tool_permission", "prompt": "May it run?",
            "decisions": ["allow", "deny"], "thread_id": world.main().thread_id, "turn_id": "t1",
            "tool_call_id": world.call("rm").tool_call_id, "tool_name": "rm",
            "arguments_digest": world.call("rm").arguments_digest, "required_at": at(0), "on_timeout": "wait",
            "sequence": world.state.actions[0].sequence,
        })
    );
    assert_eq!(model["pending_actions"].as_array().map(Vec::len), Some(2));
    assert_eq!(model["as_of_sequence"], json!(world.state.sequence));
    let refused = thread_read_model(&world.state, Some(&id("nowhere"))).err();
    assert_eq!(refused, Some(factum_model::Refusal::not_found()));
}

#[test]
fn a_session_shows_its_shell_its_threads_and_its_sums() {
    let mut world = World::idle();
    world.update(json!({ "title": "Colours", "metadata": { "team": "red" } }));
    world.later(1);
    world.with_calls(vec![question("ask")]);
    world.respond(0, "blue");
    world.ask_model();
    world.answer(vec![gated("rm")]);
    world.submit_all(&["t2"]);
    world.later(1);
    world.report(Report::Status { phase: factum_model::events::Phase::Working, title: "Busy".into(), detail: None });
    let snapshot = session_snapshot(&world.state, Vec::new(), Some(9)).expect("a session");
    assert_eq!(
        json!(snapshot),
        json!({
            "schema_version": "factum-1", "runtime_id": "rt_test", "session_id": "s1", "title": "Colours",
            "agent": "demo", "created_by": CALLER, "created_at": at(0), "updated_at": at(2),
            "metadata": { "team": "red" },
            "threads": [{
                "thread_id": world.main().thread_id, "status": "waiting_permission", "agent": "demo",
                "active_turn_id": "t1", "queued_turns": 1, "pending_actions": 1,
            }],
            "recent_steps": [], "history_before": 9, "turn_count": 2,
            "usage": { "input_tokens": 6, "output_tokens": 10 }, "as_of_sequence": world.state.sequence,
        })
    );
    let thread = thread_read_model(&world.state, None).expect("a thread");
    assert_eq!(thread.updated_at, at(2));
    assert_eq!(
        json!(thread.diagnostics),
        json!({
            "turns_submitted": 2, "turns_completed": 0, "turns_failed": 0, "turns_cancelled": 0, "incidents_total": 0,
            "model_requests": 2, "tool_calls": 2, "usage": { "input_tokens": 6, "output_tokens": 10 },
        })
    );
}

#[test]
fn an_outcome_and_its_incident_are_kept() {
    let mut world = World::idle();
    world.submit_all(&["t1"]);
    world.report(Report::TurnFinished { outcome: TurnReport::Failed { error: failure("model_error") } });
    let model = json!(thread_read_model(&world.state, None).expect("a thread"));
    assert_eq!(
        model["last_outcome"],
        json!({
            "turn_id": "t1", "status": "failed", "ended_at": at(0), "sequence": 5,
            "error": { "category": "model_error", "message": "model_error happened", "retryable": false },
        })
    );
    assert_eq!(
        model["incidents"],
        json!([{
            "sequence": 5, "at": at(0), "kind": "model_error", "message": "model_error happened", "turn_id": "t1"
        }])
    );
}

#[test]
fn a_step_says_how_it_stands_and_never_more() {
    let mut world = World::idle();
    world.with_calls(vec![gated_until("a", Some(1), factum_model::events::OnTimeout::Deny), question("b"), gated("c")]);
    world.later(1);
    let timed_out = world.action_id(0);
    world.expire(&timed_out);
    world.respond(1, "allow");
    world.run_tool("c");
    world.interrupt(json!({}));
    let steps: Vec<String> = events(&world)
        .iter()
        .filter_map(step_view)
        .map(|step| format!("{} {}", step.event_type, json!(step.status).as_str().unwrap_or_default()))
        .collect();
    assert_eq!(
        steps,
        [
            "turn.submitted accepted",
            "model.completed completed",
            "tool.started accepted",
            "action.required waiting_permission",
            "tool.started accepted",
            "action.required waiting_input",
            "tool.started accepted",
            "action.required waiting_permission",
            "action.resolved timed_out",
            "tool.failed timed_out",
            "action.resolved completed",
            "action.resolved cancelled",
            "tool.failed cancelled",
            "tool.failed lost",
            "turn.failed cancelled",
        ]
    );
}

#[test]
fn the_text_of_a_step_is_cut_between_characters() {
    let mut world = World::idle();
    let text = "é".repeat(2_001);
    world.submit_with(json!({ "input": [{ "type": "text", "text": text }] })).expect("accepted");
    let step = events(&world).iter().find_map(step_view).expect("a step");
    assert_eq!((step.kind, step.text), (StepKind::Input, Some(format!("{}…", "é".repeat(2_000)))));
}

/// What is too large for its event is not left out: its beginning is shown, and where the rest is.
#[test]
fn a_step_with_a_large_text_says_where_it_is() {
    let text = json!({
        "ref": "blob:sha256:00", "media_type": "text/plain", "size": 20_000,
        "preview": "It begins", "preview_dropped": 19_991, "redacted": false,
    });
    for (kind, payload) in [
        ("model.completed", json!({ "stop_reason": "end_turn", "text_ref": text, "tool_calls": 0 })),
        ("tool.result", json!({ "preview": "It begins", "result_ref": text })),
    ] {
        let event = json!({
            "type": kind, "event_id": "evt_1", "timestamp": "2026-01-02T03:04:05Z", "sequence": 1,
            "schema_version": "factum-1", "runtime_id": "rt_1", "session_id": "s", "payload": payload,
        });
        let event = Event::decode(event.to_string().as_bytes()).expect("an event");
        let step = step_view(&event).expect("a step");
        assert_eq!(step.text.as_deref(), Some("It begins"), "{kind}");
        assert_eq!(json!(step.text_ref), text, "{kind}");
    }
}

fn events(world: &World) -> Vec<Event> {
    world.log.iter().flatten().map(|bytes| Event::decode(bytes).expect("events decode")).collect()
}

/// Promise 3: replaying the log gives the same read models, byte for byte.
pub(super) fn models_as_bytes(state: &SessionState, events: &[Event]) -> Vec<u8> {
    let steps = events.iter().filter_map(step_view).collect();
    let snapshot: SessionSnapshot = session_snapshot(state, steps, None).expect("a session");
    let threads = state.threads.iter().map(|thread| {
        let thread_id = Some(&thread.thread_id);
        let model = thread_read_model(state, thread_id).expect("a thread");
        (model, queue_snapshot(state, thread_id).expect("a queue"))
    });
    serde_json::to_vec(&(snapshot, threads.collect::<Vec<_>>())).expect("read models serialize")
}

#[test]
fn replaying_gives_the_same_bytes() {
    let mut world = World::idle();
    let awkward = json!({ "z": 1, "a": [0.1, 1e300, -0.0, 2.718281828459045e-7], "m": { "b": null, "a": "é\u{0}" } });
    world.update(json!({ "metadata": awkward }));
    world.with_calls(vec![gated("rm"), question("ask")]);
    world.submit_all(&["t2", "t3"]);
    world.respond(0, "deny");
    let live = models_as_bytes(&world.state, &events(&world));
    let replayed = || models_as_bytes(&world.replayed(), &events(&world));
    assert_eq!((live, replayed()), (replayed(), replayed()));
}

#[test]
fn effects_follow_from_facts() {
    let mut world = World::idle();
    world.with_calls(vec![gated("a"), gated("b")]);
    world.submit_all(&["t2"]);
    world.respond(0, "allow");
    world.interrupt(json!({}));
    let thread_id = world.main().thread_id.clone();
    let run = |turn| Outside::RunTurn { thread_id: thread_id.clone(), turn_id: id(turn) };
    let told: Vec<_> = events(&world).iter().filter_map(effects).collect();
    assert_eq!(told, [run("t1"), run("t1"), Outside::StopTurn { turn_id: id("t1") }, run("t2"),]);
    let superseded = events(&world).iter().filter(|event| matches!(event.fact, Fact::ActionResolved(_))).count();
    assert_eq!(superseded, 2, "the one that was superseded runs nothing");
}
