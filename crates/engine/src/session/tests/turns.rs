//! Turns: how they begin, how they are stopped, and what is said of the work they leave open.

use factum_model::report::{Report, TurnReport};
use factum_model::value::{Effect, OnBusy, Status};
use serde_json::{Value, json};

use super::check;
use super::world::{World, failure, gated, id, intent, model_requested, open, question, refused};

#[test]
fn the_first_turn_brings_its_session_along() {
    let mut world = World::new();
    let done = world.submit_with(json!({ "turn_id": "t1" })).expect("accepted");
    assert_eq!((done.output.status, done.output.queue_position, done.output.sequence), (Status::Accepted, None, 4));
    assert_eq!(done.output.thread_id, world.main().thread_id);
    assert_eq!(
        super::story::story(&done.events),
        ["session.created", "thread.started", "turn.submitted t1 accepted", "turn.started t1 #1"]
    );
}

/// The model is asked one sync earlier where the first step is known, from the queue too, and never twice.
#[test]
fn a_turn_that_starts_announces_its_first_request_where_it_is_known() {
    let mut world = World::new();
    world.opening = Some(intent());
    let done = world.submit_with(json!({ "turn_id": "t1" })).expect("accepted");
    let begins = ["turn.submitted t1 accepted", "turn.started t1 #1", "model.requested 1.1"];
    assert_eq!(super::story::story(&done.events)[2..], begins);
    assert_eq!(done.output.sequence, 5, "the last sequence it wrote");
    let twice = world.report(model_requested());
    assert_eq!(twice, ["refused precondition_failed: a model request of this turn is open already"]);
    world.submit("t2", OnBusy::Queue);
    let told = world.interrupt(json!({ "turn_id": "t1" }));
    assert_eq!(told[told.len() - 3..], ["queue.changed started t2 []", "turn.started t2 #1", "model.requested 1.1"]);
    let again = world.recover();
    assert_eq!(again.last().map(String::as_str), Some("turn.started t2 #2"), "{again:?}");
}

#[test]
fn the_title_is_the_first_line_of_the_first_text() {
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    let table: [(Value, Option<String>); 6] = [
        (text("  Fix the build \nplease"), Some("Fix the build".into())),
        (text(&"é".repeat(80)), Some("é".repeat(80))),
        (text(&"é".repeat(81)), Some(format!("{}…", "é".repeat(80)))),
        (text(" "), None),
        (json!([{ "type": "data", "data": 1 }]), None),
        (json!([{ "type": "data", "data": 1 }, { "type": "text", "text": "two" }]), Some("two".into())),
    ];
    for (input, expected) in table {
        let mut world = World::new();
        world.submit_with(json!({ "input": input })).expect("accepted");
        assert_eq!(world.state.shell.expect("a session").title, expected, "{input}");
    }
}

#[test]
fn a_turn_starts_at_once_or_does_what_on_busy_says() {
    let busy = |w: &mut World| w.submit_all(&["t1"]);
    let long = |w: &mut World| w.submit_all(&["t1", "t2"]);
    let starts: &[&str] = &["turn.submitted t9 accepted", "turn.started t9 #1"];
    let stops: &[&str] = &["turn.failed t1 cancelled interrupted", "turn.submitted t9 accepted", "turn.started t9 #1"];
    let busy_refusal: &[&str] = &["refused conflict: the thread is busy and on_busy is \"reject\""];

    check("idle, queue", |_| {}, |w| w.submit("t9", OnBusy::Queue), starts);
    check("idle, reject", |_| {}, |w| w.submit("t9", OnBusy::Reject), starts);
    check("idle, interrupt", |_| {}, |w| w.submit("t9", OnBusy::Interrupt), starts);
    check(
        "busy, queue",
        busy,
        |w| w.submit("t9", OnBusy::Queue),
        &["turn.submitted t9 queued", "queue.changed enqueued t9 [t9]"],
    );
    check(
        "busy, not said",
        busy,
        |w| w.submit_told(json!({ "turn_id": "t9" })),
        &["turn.submitted t9 queued", "queue.changed enqueued t9 [t9]"],
    );
    check("busy, reject", busy, |w| w.submit("t9", OnBusy::Reject), busy_refusal);
    check("busy, interrupt", busy, |w| w.submit("t9", OnBusy::Interrupt), stops);
    check(
        "a queue, queue",
        long,
        |w| w.submit("t9", OnBusy::Queue),
        &["turn.submitted t9 queued", "queue.changed enqueued t9 [t2 t9]"],
    );
    check("a queue, reject", long, |w| w.submit("t9", OnBusy::Reject), busy_refusal);
    check("an interrupting turn goes before the queue", long, |w| w.submit("t9", OnBusy::Interrupt), stops);
}

#[test]
fn a_rejected_turn_is_told_the_policy_and_the_turn_in_its_way() {
    let mut world = World::idle();
    world.submit("t1", OnBusy::Queue);
    let refusal = world.submit_with(json!({ "on_busy": "reject" })).err().expect("refused");
    assert_eq!(Value::Object(refusal.details), json!({ "policy": "reject", "active_turn_id": "t1" }));
}

#[test]
fn a_turn_names_what_exists() {
    let conflict: &[&str] = &["refused conflict: a turn with this id exists already"];
    let not_found: &[&str] = &["refused not_found: not found"];
    let two = |w: &mut World| w.submit_all(&["t1", "t2"]);
    check("active id", two, |w| w.submit("t1", OnBusy::Interrupt), conflict);
    check("queued id", two, |w| w.submit("t2", OnBusy::Queue), conflict);
    check(
        "no input",
        |_| {},
        |w| w.submit_told(json!({ "input": [] })),
        &["refused invalid_params: input needs at least one part, such as {\"type\":\"text\",\"text\":\"hello\"}"],
    );
    let mut world = World::new();
    assert_eq!(world.interrupt(json!({})), not_found, "nothing of a session that does not exist");
    assert_eq!(world.recover(), not_found);
    let twice = World::idle().create(json!({})).err().expect("refused");
    assert_eq!(refused(&twice), ["refused conflict: a session with this id exists already"]);
}

/// A missing session or thread is created, under the id that names it.
#[test]
fn a_turn_brings_along_what_it_names() {
    let turn = ["turn.submitted t1 accepted", "turn.started t1 #1"];
    let mut world = World::new();
    let told = world.submit_told(json!({ "turn_id": "t1", "thread_id": "first" }));
    assert_eq!(told[..2], ["session.created", "thread.started"]);
    assert_eq!(told[2..], turn);
    let told = world.submit_told(json!({ "turn_id": "t2", "thread_id": "second" }));
    assert_eq!(told, ["thread.started", "turn.submitted t2 accepted", "turn.started t2 #1"]);
    let threads: Vec<&str> = world.state.threads.iter().map(|thread| thread.thread_id.as_str()).collect();
    assert_eq!(threads, ["first", "second"]);
    let told = world.submit_told(json!({ "turn_id": "t3", "thread_id": "second" }));
    assert_eq!(told[0], "turn.submitted t3 queued", "it is there by now");
    world.limits.threads_max = 2;
    let told = world.submit_told(json!({ "turn_id": "t4", "thread_id": "third" }));
    assert_eq!(told, ["refused limit_exceeded: threads is 3, the limit is 2"]);
}

#[test]
fn threads_are_busy_each_for_itself() {
    let mut world = World::idle();
    world.start_side_thread();
    world.submit("t1", OnBusy::Queue);
    let told = world.submit_told(json!({ "turn_id": "t2", "thread_id": "side" }));
    assert_eq!(told, ["turn.submitted t2 accepted", "turn.started t2 #1"]);
    let told = world.submit_told(json!({ "turn_id": "t1", "thread_id": "side" }));
    assert_eq!(told, ["refused conflict: a turn with this id exists already"], "ids are unique in the session");
    assert_eq!(world.interrupt(json!({ "turn_id": "t2" })), ["turn.failed t2 cancelled interrupted"]);
    assert_eq!(world.active().turn_id, id("t1"));
}

#[test]
fn interrupting_stops_what_is_named_or_says_that_nothing_ran() {
    let two = |w: &mut World| w.submit_all(&["t1", "t2", "t3"]);
    let next: &[&str] =
        &["turn.failed t1 cancelled interrupted", "queue.changed started t2 [t3]", "turn.started t2 #1"];
    check("the active one", two, |w| w.interrupt(json!({})), next);
    check("the active one by name", two, |w| w.interrupt(json!({ "turn_id": "t1" })), next);
    check(
        "a queued one",
        two,
        |w| w.interrupt(json!({ "turn_id": "t2" })),
        &["queue.changed removed t2 [t3]", "turn.failed t2 cancelled removed_from_queue"],
    );
    check("an unknown one", two, |w| w.interrupt(json!({ "turn_id": "t9" })), &[]);
    check("nothing", |_| {}, |w| w.interrupt(json!({})), &[]);
    check(
        "an unknown thread",
        two,
        |w| w.interrupt(json!({ "thread_id": "nowhere" })),
        &["refused not_found: not found"],
    );
}

#[test]
fn the_end_of_a_turn_starts_the_next_in_the_same_commit() {
    let two = |w: &mut World| w.submit_all(&["t1", "t2"]);
    let next = ["queue.changed started t2 []", "turn.started t2 #1"];
    check("completed", two, World::complete, &["turn.completed t1 end_turn", next[0], next[1]]);
    let fail = |w: &mut World| {
        w.report(Report::TurnFinished { outcome: TurnReport::Failed { error: failure("model_error") } })
    };
    check("failed", two, fail, &["turn.failed t1 failed model_error", next[0], next[1]]);
    check("completed, nothing queued", |w| w.submit_all(&["t1"]), World::complete, &["turn.completed t1 end_turn"]);
}

#[test]
fn an_interrupt_says_honestly_what_became_of_open_work() {
    let stop = |w: &mut World| w.interrupt(json!({}));
    let ended = "turn.failed t1 cancelled interrupted";
    check(
        "a model request",
        |w| {
            w.submit_all(&["t1"]);
            w.ask_model();
        },
        stop,
        &["model.failed interrupted over", ended],
    );
    check(
        "a call that waits",
        |w| w.with_calls(vec![gated("rm")]),
        stop,
        &["action.resolved cancelled by superseded", "tool.failed cancelled", ended],
    );
    check(
        "a question",
        |w| w.with_calls(vec![question("ask")]),
        stop,
        &["action.resolved cancelled by superseded", "tool.failed cancelled", ended],
    );
    check(
        "a call that did not begin",
        |w| w.with_calls(vec![open("send", Effect::Once)]),
        stop,
        &["tool.failed cancelled", ended],
    );
    check(
        "a call that was allowed and did not begin",
        |w| {
            w.with_calls(vec![gated("rm")]);
            w.respond(0, "allow");
        },
        stop,
        &["tool.failed cancelled", ended],
    );
}

#[test]
fn a_call_that_may_have_taken_effect_is_lost_and_never_cancelled() {
    let lost: &[&str] = &["tool.failed lost", "turn.failed t1 cancelled interrupted"];
    let cancelled: &[&str] = &["tool.failed cancelled", "turn.failed t1 cancelled interrupted"];
    let stop = |w: &mut World| w.interrupt(json!({}));
    check("pure", |w| running(w, Effect::Pure), stop, cancelled);
    check("idempotent", |w| running(w, Effect::Idempotent), stop, lost);
    check("once", |w| running(w, Effect::Once), stop, lost);
    check("unknown", |w| running(w, Effect::Unknown), stop, lost);
    check(
        "lost in a restart, under review",
        |w| {
            running(w, Effect::Once);
            w.recover();
        },
        stop,
        &["action.resolved cancelled by superseded", "tool.failed lost", "turn.failed t1 cancelled interrupted"],
    );
    check(
        "lost in a restart, to be retried",
        |w| {
            running(w, Effect::Once);
            w.recover();
            w.respond(0, "retry");
        },
        stop,
        lost,
    );
}

fn running(world: &mut World, effect: Effect) {
    world.with_calls(vec![open("tool", effect)]);
    world.run_tool("tool");
}
