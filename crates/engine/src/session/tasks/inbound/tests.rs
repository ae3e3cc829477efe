//! A peer's task: begun, asked about, answered, decided, ended; found by its rows; and the same again from the log.

mod large;
mod random;

use factum_model::commands::CancelTask;
use factum_model::id::{ActionId, ChannelId, SessionId, TaskId};
use factum_model::peer::{DeliveryMechanism, PeerRecovery, Side};
use factum_model::permission::Verdict as Permission;
use factum_model::task::{Propagation, TaskStatus};
use factum_model::value::{Metadata, Part};
use factum_model::{ErrorCode, Event, Fact, Refusal};
use serde_json::{Map, Value, json};

use super::*;
use crate::context::Through;
use crate::session::tasks::cancel_task;
use crate::session::tests::world::{ACCOUNT, CALLER, Done, World, gated, id, question};

fn channel() -> ChannelId {
    id("chan_a2a_1")
}

fn session() -> SessionId {
    id("s1")
}

fn note(message_id: &str) -> Map<String, Value> {
    json!({ "message_id": message_id }).as_object().cloned().unwrap_or_default()
}

fn text(text: &str) -> Vec<Part> {
    vec![Part::Text { text: text.to_owned() }]
}

fn begin(world: &mut World, remote: &str, input: Vec<Part>) -> Result<Done<Received>, Refusal> {
    let (channel_id, metadata) = (channel(), Metadata::new());
    let incoming = Incoming {
        channel_id: &channel_id,
        native_protocol: "a2a",
        remote_task_id: remote,
        remote_context_id: "ctx",
        delivery: DeliveryMechanism::Polling,
        agent: "demo",
        input,
        message: note("m1"),
        metadata: &metadata,
        push: None,
    };
    world.decide(|state, context| begin_inbound(state, &session(), incoming, context))
}

fn say(world: &mut World, task_id: &TaskId, input: &[Part]) -> Result<Done<Received>, Refusal> {
    let message = note("m2");
    world.decide(|state, context| continue_inbound(state, task_id, input, &message, context))
}

fn row(world: &World, remote: &str) -> InboundRow {
    let row = world.index.get(&keys::task(ACCOUNT, "a2a", CALLER, remote)).expect("a row");
    serde_json::from_slice(row).expect("a row")
}

fn types(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.fact.type_name()).collect()
}

/// Answers the open request with these calls.
fn model_asks(world: &mut World, calls: Vec<factum_model::report::ToolDraft>) {
    world.ask_model();
    world.answer(calls);
}

#[test]
fn one_commit_links_makes_and_starts_it() {
    let mut world = World::new();
    let done = begin(&mut world, "r1", text("hello\nthere")).expect("begun");
    let expected = [
        "session.created",
        "thread.started",
        "channel.peer_task.linked",
        "task.created",
        "turn.submitted",
        "turn.started",
        "task.attempt.started",
        "task.dependency.updated",
        "task.started",
    ];
    assert_eq!(types(&done.events), expected);
    assert_eq!((done.output.first_sequence, done.output.sequence), (3, 9));
    let row = row(&world, "r1");
    assert_eq!((&row.task_id, row.status, row.first_sequence), (&done.output.task_id, TaskStatus::Running, 3));
    let context = world.index.get(&keys::context(ACCOUNT, "a2a", CALLER, "ctx")).expect("a row of the context");
    assert_eq!(serde_json::from_slice::<InboundContext>(context).expect("a row").session_id, session());
    let submitted = done.events.iter().find(|event| matches!(event.fact, Fact::TurnSubmitted(_))).expect("a turn");
    assert_eq!(submitted.refs[PEER_MESSAGE]["message_id"], "m1");
}

#[test]
fn a_second_task_of_the_context_has_a_thread_of_its_own() {
    let mut world = World::new();
    begin(&mut world, "r1", text("one")).expect("begun");
    let done = begin(&mut world, "r2", text("two")).expect("begun");
    assert!(types(&done.events).contains(&"thread.started"));
    assert_eq!(world.state.threads.len(), 2);
    assert!(world.state.threads.iter().all(|thread| thread.active.is_some()), "neither waits for the other");
}

/// What is not text reaches the agent as it was sent; what is, is not kept twice.
#[test]
fn the_agent_gets_the_parts_that_were_sent() {
    let mut world = World::new();
    let parts = vec![Part::Text { text: "look".to_owned() }, Part::Data { data: json!({ "a": 1 }) }];
    for (id, sent) in [("r1", parts), ("empty", text("")), ("blank", text("  "))] {
        let done = begin(&mut world, id, sent.clone()).expect("begun");
        let input = done.events.iter().find_map(|event| match &event.fact {
            Fact::TurnSubmitted(fact) => Some(fact.input.clone()),
            _ => None,
        });
        assert_eq!(input, Some(sent), "nothing is made up");
    }
    let plain = begin(&mut world, "r2", text("plain")).expect("begun");
    let kept = plain.events.iter().find_map(|event| match &event.fact {
        Fact::TaskCreated(fact) => Some((fact.objective.clone(), fact.input_sequence)),
        _ => None,
    });
    assert_eq!(kept, Some(("plain".to_owned(), None)));
    assert_eq!(begin(&mut world, "r3", Vec::new()).err().map(|refusal| refusal.code), Some(ErrorCode::InvalidParams));
}

#[test]
fn a_question_waits_and_any_answer_answers_it() {
    const EXPECTED: [&str; 4] = ["action.resolved", "tool.result", "task.resumed", "channel.peer_task.updated"];
    let answers = [
        (text("blue"), "blue"),
        (text(""), ""),
        (vec![Part::Data { data: json!({ "answer": "blue" }) }], "blue"),
        (vec![Part::Data { data: json!({ "colour": 1 }) }], r#"{"colour":1}"#),
    ];
    for (answer, told) in answers {
        let mut world = World::new();
        let task_id = begin(&mut world, "r1", text("hello")).expect("begun").output.task_id;
        model_asks(&mut world, vec![question("which")]);
        assert_eq!(row(&world, "r1").status, TaskStatus::WaitingInput);
        let done = say(&mut world, &task_id, &answer).expect("taken");
        assert_eq!(types(&done.events), EXPECTED, "{answer:?}");
        assert_eq!(done.events[0].refs[PEER_MESSAGE]["message_id"], "m2");
        let Fact::ToolResult(result) = &done.events[1].fact else { panic!("no result") };
        assert_eq!(result.preview.as_deref(), Some(told));
        assert_eq!(row(&world, "r1").status, TaskStatus::Running);
    }
}

/// Promise 4: what is not clearly allowed is not allowed.
#[test]
fn only_a_clear_word_decides_a_permission() {
    let data = |decision: &str| vec![Part::Data { data: json!({ "decision": decision }) }];
    let table = [
        (text("allow"), Some(true)),
        (text(" Approve "), Some(true)),
        (data("allow"), Some(true)),
        (text("deny"), Some(false)),
        (data("deny"), Some(false)),
        (text("please do allow it"), None),
        (text("allow?"), None),
        (data("maybe"), None),
        (vec![Part::Data { data: json!({ "approved": true }) }], None),
        (vec![Part::File { name: None, media_type: None, uri: Some("allow".to_owned()), bytes: None }], None),
    ];
    for (answer, allowed) in table {
        let mut world = World::new();
        let task_id = begin(&mut world, "r1", text("hello")).expect("begun").output.task_id;
        model_asks(&mut world, vec![gated("delete")]);
        assert_eq!(row(&world, "r1").status, TaskStatus::WaitingPermission);
        let outcome = say(&mut world, &task_id, &answer);
        let Some(allowed) = allowed else {
            let refusal = outcome.err().expect("a refusal");
            assert_eq!(refusal.code, ErrorCode::InvalidParams, "{answer:?}");
            assert_eq!(world.state.actions.len(), 1, "still open");
            continue;
        };
        let events = outcome.expect("taken").events;
        let resolved = events.iter().find_map(|event| match &event.fact {
            Fact::ActionResolved(fact) => Some(fact.allowed),
            _ => None,
        });
        assert_eq!(resolved, Some(allowed), "{answer:?}");
        assert!(types(&events).contains(&"channel.permission_returned"));
    }
}

/// The actions that a commit decided, and whether they were allowed.
fn resolved(events: &[Event]) -> Vec<(ActionId, bool)> {
    let taken = |event: &Event| match &event.fact {
        Fact::ActionResolved(fact) => event.scope.action_id.clone().map(|action_id| (action_id, fact.allowed)),
        _ => None,
    };
    events.iter().filter_map(taken).collect()
}

/// What a client is shown is the oldest, so what names nothing is for that, whichever kind of answer it is.
#[test]
fn an_answer_that_names_none_is_for_the_oldest() {
    for answer in [text("blue"), text("allow"), vec![Part::Data { data: json!({ "decision": "allow" }) }]] {
        let mut world = World::new();
        let task_id = begin(&mut world, "r1", text("hello")).expect("begun").output.task_id;
        model_asks(&mut world, vec![question("which"), gated("delete")]);
        assert_eq!(row(&world, "r1").status, TaskStatus::WaitingInput, "as it is shown");
        let oldest = world.action_id(0);
        let done = say(&mut world, &task_id, &answer).expect("taken");
        assert_eq!(resolved(&done.events), [(oldest, true)]);
        assert_eq!(row(&world, "r1").status, TaskStatus::WaitingPermission);
    }
}

/// A word goes to what is shown, one thing after the other, and an answer to what was decided is never moved to what is open.
#[test]
fn a_word_is_for_what_is_shown_and_a_name_for_what_it_names() {
    let data = |data: Value| vec![Part::Data { data }];
    let mut world = World::new();
    let task_id = begin(&mut world, "r1", text("hello")).expect("begun").output.task_id;
    model_asks(&mut world, vec![gated("delete"), gated("read"), gated("list")]);
    let [first, second, third] = [0, 1, 2].map(|at| world.action_id(at));
    // The second one, named.
    let done = say(&mut world, &task_id, &data(json!({ "decision": "allow", "action_id": second }))).expect("taken");
    assert_eq!(resolved(&done.events), [(second.clone(), true)]);
    for late in [data(json!({ "decision": "allow", "action_id": second })), text(&format!("allow {second}"))] {
        let refusal = say(&mut world, &task_id, &late).err().expect("a refusal");
        assert_eq!((refusal.code, &refusal.details["cause"]), (ErrorCode::Conflict, &json!("decided_already")));
    }
    let done = say(&mut world, &task_id, &text("allow")).expect("taken");
    assert_eq!(resolved(&done.events), [(first, true)]);
    // People can type an id.
    let done = say(&mut world, &task_id, &text(&format!(" Allow  {third} "))).expect("taken");
    assert_eq!(resolved(&done.events), [(third, true)]);
    assert_eq!(row(&world, "r1").status, TaskStatus::Running);
}

/// Somebody here decided, another thing is shown, and then the word comes that the client had for the first one.
#[test]
fn a_late_word_does_not_allow_what_its_sender_may_never_have_seen() {
    let mut world = World::new();
    let task_id = begin(&mut world, "r1", text("hello")).expect("begun").output.task_id;
    model_asks(&mut world, vec![gated("read"), gated("delete")]);
    let (first, second) = (world.action_id(0), world.action_id(1));
    world.respond(0, "deny");
    for word in [text("allow"), vec![Part::Data { data: json!({ "decision": "allow" }) }]] {
        let refusal = say(&mut world, &task_id, &word).err().expect("a refusal");
        assert_eq!((refusal.code, &refusal.details["cause"]), (ErrorCode::InvalidParams, &json!("action_not_named")));
        assert_eq!(refusal.details["action_id"], json!(second));
        assert!(refusal.message.contains(&format!("allow {second}")), "{}", refusal.message);
    }
    let late = say(&mut world, &task_id, &text(&format!("allow {first}"))).err().expect("a refusal");
    assert_eq!(late.details["cause"], json!("decided_already"));
    let done = say(&mut world, &task_id, &text("no")).expect("nothing happens by that");
    assert_eq!(resolved(&done.events), [(second, false)]);
    // It has spoken since, so what it says is about what it was shown since.
    model_asks(&mut world, vec![gated("list")]);
    let third = world.action_id(0);
    let done = say(&mut world, &task_id, &text("allow")).expect("taken");
    assert_eq!(resolved(&done.events), [(third, true)]);
    assert_eq!(world.replayed(), world.state);
}

/// An answer in words can say what it is for, too: beside them.
#[test]
fn a_message_may_name_the_action_in_its_annotations() {
    let mut world = World::new();
    let task_id = begin(&mut world, "r1", text("hello")).expect("begun").output.task_id;
    model_asks(&mut world, vec![question("which"), gated("delete")]);
    let for_action = |world: &mut World, at: usize, word: &str| {
        let mut message = note("m2");
        message.insert("metadata".to_owned(), json!({ "action_id": world.action_id(at) }));
        world.decide(|state, context| continue_inbound(state, &task_id, &text(word), &message, context))
    };
    let named = world.action_id(1);
    let done = for_action(&mut world, 1, "allow").expect("taken");
    assert_eq!(resolved(&done.events), [(named.clone(), true)]);
    assert_eq!(row(&world, "r1").status, TaskStatus::WaitingInput);
    let mut message = note("m3");
    message.insert("metadata".to_owned(), json!({ "action_id": named }));
    let late = world.decide(|state, context| continue_inbound(state, &task_id, &text("blue"), &message, context));
    assert_eq!(late.err().map(|refusal| refusal.code), Some(ErrorCode::Conflict), "it was for something else");
    for_action(&mut world, 0, "blue").expect("taken");
    assert_eq!(row(&world, "r1").status, TaskStatus::Running);
}

/// Whoever says no too late must not be told that it was taken.
#[test]
fn a_decision_that_nothing_waits_for_is_refused() {
    let mut world = World::new();
    let task_id = begin(&mut world, "r1", text("hello")).expect("begun").output.task_id;
    model_asks(&mut world, vec![gated("delete")]);
    let named = json!({ "decision": "deny", "action_id": world.action_id(0) });
    say(&mut world, &task_id, &text("allow")).expect("taken");
    let data = |data| vec![Part::Data { data }];
    for late in [text("deny"), text(" No "), data(named), data(json!({ "decision": "allow" }))] {
        let refusal = say(&mut world, &task_id, &late).err().expect("a refusal");
        assert_eq!(
            (refusal.code, &refusal.details["cause"]),
            (ErrorCode::Conflict, &json!("decided_already")),
            "{late:?}"
        );
    }
    say(&mut world, &task_id, &text("no hurry")).expect("a message like any other");
}

#[test]
fn what_is_decided_here_is_told_to_the_channel_too() {
    let mut world = World::new();
    begin(&mut world, "r1", text("hello")).expect("begun");
    model_asks(&mut world, vec![gated("delete")]);
    let command = factum_model::commands::RespondAction {
        action_id: world.action_id(0),
        decision: "deny".to_owned(),
        payload: None,
        idempotency_key: None,
    };
    let done =
        world.decide(|state, context| crate::session::respond_action(state, &command, context)).expect("decided");
    let returned = done.events.iter().find_map(|event| match &event.fact {
        Fact::ChannelPermissionReturned(fact) => {
            Some((fact.decision, fact.decided_on, event.scope.channel_id.is_some()))
        }
        _ => None,
    });
    assert_eq!(returned, Some((Permission::Deny, Side::Local, true)));
}

/// An attempt that came through a channel asks that channel alone, whoever has the task over there.
#[test]
fn what_a_channel_alone_decides_no_message_does() {
    let mut world = World::new();
    world.through = Some(Through { channel_id: id("ops"), decides: true });
    let task_id = begin(&mut world, "r1", text("hello")).expect("begun").output.task_id;
    model_asks(&mut world, vec![gated("delete")]);
    world.through = None;
    let action_id = world.action_id(0);
    for word in ["allow", "deny", &format!("allow {action_id}")] {
        let refusal = say(&mut world, &task_id, &text(word)).err().expect("a refusal");
        let expected = (ErrorCode::PermissionDenied, &json!("channel_scoped"), &json!(action_id));
        assert_eq!((refusal.code, &refusal.details["cause"], &refusal.details["action_id"]), expected, "{word}");
    }
    world.through = Some(Through { channel_id: id("ops"), decides: true });
    let done = say(&mut world, &task_id, &text("allow")).expect("it comes through the channel");
    assert_eq!(resolved(&done.events), [(action_id, true)]);
}

/// What the peer's channel was told of its tasks: our status, the peer's own word for it, what is known of it.
fn told(world: &World) -> Vec<(TaskStatus, String, PeerRecovery)> {
    let events = world.log.iter().flatten().map(|bytes| Event::decode(bytes).expect("events decode"));
    let told = |event: Event| match event.fact {
        Fact::ChannelPeerTaskUpdated(fact) => {
            assert_eq!((event.scope.channel_id, event.scope.run_id), (Some(channel()), None));
            let task = fact.peer_task;
            assert_eq!((task.remote_task_id.as_deref(), task.remote_context_id.as_deref()), (Some("r1"), Some("ctx")));
            Some((task.remote_status, task.native_status.unwrap_or_default(), task.recovery))
        }
        _ => None,
    };
    events.filter_map(told).collect()
}

/// Seed 000: `channel.peer_task.updated`, normalised and with the peer's own word.
#[test]
fn the_channel_hears_when_a_task_waits_goes_on_and_ends() {
    let mut world = World::new();
    let task_id = begin(&mut world, "r1", text("hello")).expect("begun").output.task_id;
    model_asks(&mut world, vec![question("which")]);
    say(&mut world, &task_id, &text("blue")).expect("taken");
    model_asks(&mut world, vec![gated("delete")]);
    say(&mut world, &task_id, &text("deny")).expect("taken");
    model_asks(&mut world, Vec::new());
    world.complete();
    let expected = [
        (TaskStatus::WaitingInput, "TASK_STATE_INPUT_REQUIRED", PeerRecovery::WaitingInput),
        (TaskStatus::Running, "TASK_STATE_WORKING", PeerRecovery::Running),
        (TaskStatus::WaitingPermission, "TASK_STATE_AUTH_REQUIRED", PeerRecovery::WaitingAuthorization),
        (TaskStatus::Running, "TASK_STATE_WORKING", PeerRecovery::Running),
        (TaskStatus::Completed, "TASK_STATE_COMPLETED", PeerRecovery::Reconciled),
    ];
    assert_eq!(told(&world), expected.map(|(status, word, known)| (status, word.to_owned(), known)));
}

/// The facts of the task say all there is to say: a message costs no more for having come over a channel.
#[test]
fn a_task_that_is_simply_done_tells_its_channel_nothing() {
    let mut world = World::new();
    let done = begin(&mut world, "r1", text("hello")).expect("begun");
    model_asks(&mut world, Vec::new());
    world.complete();
    assert_eq!((row(&world, "r1").status, told(&world)), (TaskStatus::Completed, Vec::new()));
    let linked = done.events.iter().find_map(|event| match &event.fact {
        Fact::ChannelPeerTaskLinked(fact) => fact.peer_task.native_status.clone(),
        _ => None,
    });
    assert_eq!(linked.as_deref(), Some("TASK_STATE_SUBMITTED"));
}

#[test]
fn the_channel_hears_of_an_end_that_is_no_completion() {
    let mut world = World::new();
    let task_id = begin(&mut world, "r1", text("hello")).expect("begun").output.task_id;
    let cancel = CancelTask { task_id, reason: None, propagation: Propagation::None, idempotency_key: None };
    world.decide(|state, context| cancel_task(state, &[], &cancel, context)).expect("cancelled");
    let expected = (TaskStatus::Cancelled, "TASK_STATE_CANCELED".to_owned(), PeerRecovery::Reconciled);
    assert_eq!(told(&world), [expected]);
}

/// Seed 004: where a peer wants to be told may be said before the task is sent.
#[test]
fn what_was_said_ahead_is_the_tasks_from_its_first_commit() {
    let mut world = World::new();
    let (channel_id, task_id, message) = (channel(), id("task_ahead"), note("m1"));
    let config = crate::session::push::PushConfig {
        config_id: "r1".to_owned(),
        native_protocol: "a2a".to_owned(),
        url: "https://example.com".to_owned(),
        scheme: None,
        sealed_secrets: None,
    };
    let incoming = Incoming {
        channel_id: &channel_id,
        native_protocol: "a2a",
        remote_task_id: "r1",
        remote_context_id: "ctx",
        delivery: DeliveryMechanism::Polling,
        agent: "demo",
        input: text("hello"),
        message,
        metadata: &Metadata::new(),
        push: Some((&task_id, std::slice::from_ref(&config))),
    };
    let done = world.decide(|state, context| begin_inbound(state, &session(), incoming, context)).expect("begun");
    assert_eq!((&done.output.task_id, &row(&world, "r1").task_id), (&task_id, &task_id));
    let kept = world.index.get(&crate::session::push::keys::config(ACCOUNT, &task_id, "r1")).expect("a row");
    assert_eq!(serde_json::from_slice::<crate::session::push::PushConfig>(kept).expect("a row"), config);
}

#[test]
fn what_is_said_while_it_works_is_kept() {
    let mut world = World::new();
    let task_id = begin(&mut world, "r1", text("hello")).expect("begun").output.task_id;
    let done = say(&mut world, &task_id, &text("and hurry")).expect("taken");
    assert_eq!(types(&done.events), ["channel.message"]);
    assert_eq!(done.events[0].scope.channel_id, Some(channel()));
}

/// What the last turn was asked.
fn asked(world: &World) -> Vec<Part> {
    let events = world.log.iter().flatten().map(|bytes| Event::decode(bytes).expect("events decode"));
    let mut asked = events.filter_map(|event| match event.fact {
        Fact::TurnSubmitted(fact) => Some(fact.input.clone()),
        _ => None,
    });
    asked.next_back().expect("a turn")
}

#[test]
fn what_is_said_while_it_works_is_answered_before_the_task_completes() {
    let mut world = World::new();
    let task_id = begin(&mut world, "r1", text("hello")).expect("begun").output.task_id;
    say(&mut world, &task_id, &text("and hurry")).expect("taken");
    say(&mut world, &task_id, &text("please")).expect("taken");
    // A crash forgets none of it, and carries on the turn that is open.
    world.recover();
    assert_eq!(asked(&world), text("hello"));
    model_asks(&mut world, Vec::new());
    world.complete();
    assert_eq!(row(&world, "r1").status, TaskStatus::Running, "it has not heard everything");
    let both: Vec<Part> = text("and hurry").into_iter().chain(text("please")).collect();
    assert_eq!(asked(&world), both);
    assert_eq!(world.state.threads.len(), 1, "it goes on in the same conversation");
    let attempt = world.state.tasks.get(&task_id).and_then(|task| task.row.attempt.clone()).expect("an attempt");
    assert_eq!((attempt.attempt_count, attempt.cause), (3, factum_model::task::AttemptCause::Rerun));
    model_asks(&mut world, Vec::new());
    world.complete();
    assert_eq!(row(&world, "r1").status, TaskStatus::Completed);
    assert_eq!(world.replayed(), world.state);
}

/// Nobody is left to hear it.
#[test]
fn a_task_that_ends_otherwise_is_not_begun_again_for_what_was_said() {
    let mut world = World::new();
    let task_id = begin(&mut world, "r1", text("hello")).expect("begun").output.task_id;
    say(&mut world, &task_id, &text("and hurry")).expect("taken");
    let command = CancelTask { task_id, reason: None, propagation: Propagation::None, idempotency_key: None };
    world.decide(|state, context| cancel_task(state, &[], &command, context)).expect("cancelled");
    assert_eq!(row(&world, "r1").status, TaskStatus::Cancelled);
    assert!(world.state.threads.iter().all(|thread| thread.active.is_none() && thread.queue.is_empty()));
}

#[test]
fn more_than_one_turn_takes_is_refused_while_it_works() {
    let mut world = World::new();
    let task_id = begin(&mut world, "r1", text("hello")).expect("begun").output.task_id;
    let max = world.limits.input_parts_max;
    for _ in 0..max {
        say(&mut world, &task_id, &text("more")).expect("taken");
    }
    let refusal = say(&mut world, &task_id, &text("more")).err().expect("a refusal");
    assert_eq!(refusal.code, ErrorCode::LimitExceeded);
}

#[test]
fn what_is_over_takes_nothing_more_and_is_still_found() {
    let mut world = World::new();
    let task_id = begin(&mut world, "r1", text("hello")).expect("begun").output.task_id;
    model_asks(&mut world, Vec::new());
    world.complete();
    assert_eq!(row(&world, "r1").status, TaskStatus::Completed);
    assert!(world.state.inbound.is_empty(), "nothing is kept of it in memory");
    let refusal = say(&mut world, &task_id, &text("more")).err().expect("a refusal");
    assert_eq!(
        (refusal.code, refusal.details.get("cause")),
        (ErrorCode::PreconditionFailed, Some(&json!("task_over")))
    );
}
