//! Where a child agent stands × what is done to it: everything that is written, or how it is refused.

use factum_model::subagent::SubagentState;
use serde_json::json;

use super::super::Setup;
use super::super::world::*;
use super::family::*;

type Act = fn(&mut World) -> Vec<String>;

const STATES: [(&str, Setup); 9] = [
    ("idle", |world| {
        spawn_with(world, json!({ "subagent_id": "a" }));
    }),
    ("running", |world| {
        spawn(world, "a", None);
    }),
    ("waiting_input", |world| {
        spawn(world, "a", None);
        answer(world, "a", vec![question("ask")]);
    }),
    ("waiting_permission", |world| {
        spawn(world, "a", None);
        answer(world, "a", vec![gated("rm")]);
    }),
    ("completed", |world| {
        spawn(world, "a", None);
        finish(world, "a", true);
    }),
    ("failed", |world| {
        spawn(world, "a", None);
        finish(world, "a", false);
    }),
    ("cancelled", |world| {
        spawn(world, "a", None);
        let thread_id = record(world, "a").thread_id;
        world.interrupt(json!({ "thread_id": thread_id }));
    }),
    ("closing", |world| {
        spawn(world, "a", None);
        close(world, "a", Some(1_000));
    }),
    ("closed", |world| {
        spawn(world, "a", None);
        close(world, "a", None);
    }),
];

const BEGINS: &str = "turn.submitted accepted | turn.started #1";
const WAITS: &str = "subagent.input a | turn.submitted queued | queue.changed enqueued";
const CLOSED: &str = "refused precondition_failed: the child agent is closed and takes no more input";
const CLOSING: &str = "refused precondition_failed: the child agent is being closed and takes no more input";
const AT_WORK: &str =
    "refused precondition_failed: the child agent is at work; send_subagent_input says something to it";
const ENDS: &str = "turn.failed cancelled interrupted | subagent.failed a cancelled | subagent.closed a was cancelled";

/// Does one thing in every state and compares the facts, joined.
fn check(act: Act, expected: [(&str, &str); 9]) {
    for ((state, setup), (name, expected)) in STATES.into_iter().zip(expected) {
        assert_eq!(state, name, "the table is in the order of the states");
        let mut world = World::idle();
        setup(&mut world);
        assert_eq!(json!(status(&world, "a")), json!(state), "the state is what it is called");
        assert_eq!(act(&mut world).join(" | "), expected, "{state}");
    }
}

#[test]
fn input() {
    let begins = &format!("subagent.status a running | subagent.input a | {BEGINS}");
    check(
        |world| send(world, "a"),
        [
            ("idle", begins),
            ("running", WAITS),
            ("waiting_input", WAITS),
            ("waiting_permission", WAITS),
            ("completed", begins),
            ("failed", begins),
            ("cancelled", begins),
            ("closing", CLOSING),
            ("closed", CLOSED),
        ],
    );
}

#[test]
fn resuming() {
    let goes_on = &format!("subagent.status a running | {BEGINS}");
    check(
        |world| resume(world, "a", None),
        [
            (
                "idle",
                "refused precondition_failed: the child agent has done nothing yet that could be carried on; give it input",
            ),
            ("running", AT_WORK),
            ("waiting_input", AT_WORK),
            ("waiting_permission", AT_WORK),
            ("completed", goes_on),
            ("failed", goes_on),
            ("cancelled", goes_on),
            ("closing", CLOSING),
            ("closed", CLOSED),
        ],
    );
}

#[test]
fn resuming_with_something_to_say() {
    let goes_on = &format!("subagent.status a running | subagent.input a | {BEGINS}");
    check(
        |world| resume(world, "a", Some(hello())),
        [
            ("idle", goes_on),
            ("running", AT_WORK),
            ("waiting_input", AT_WORK),
            ("waiting_permission", AT_WORK),
            ("completed", goes_on),
            ("failed", goes_on),
            ("cancelled", goes_on),
            ("closing", CLOSING),
            ("closed", CLOSED),
        ],
    );
}

#[test]
fn closing_at_once() {
    let waiting = &format!("action.resolved cancelled by superseded | tool.failed cancelled | {ENDS}");
    check(
        |world| close(world, "a", None),
        [
            ("idle", "subagent.closed a was idle"),
            ("running", ENDS),
            ("waiting_input", waiting),
            ("waiting_permission", waiting),
            ("completed", "subagent.closed a was completed"),
            ("failed", "subagent.closed a was failed"),
            ("cancelled", "subagent.closed a was cancelled"),
            ("closing", ENDS),
            ("closed", ""),
        ],
    );
}

#[test]
fn closing_with_time_to_settle() {
    check(
        |world| close(world, "a", Some(2_000)),
        [
            ("idle", "subagent.closed a was idle"),
            ("running", "subagent.status a closing"),
            ("waiting_input", "subagent.status a closing"),
            ("waiting_permission", "subagent.status a closing"),
            ("completed", "subagent.closed a was completed"),
            ("failed", "subagent.closed a was failed"),
            ("cancelled", "subagent.closed a was cancelled"),
            ("closing", ""),
            ("closed", ""),
        ],
    );
}

#[test]
fn spawning_below() {
    let spawns = &format!("thread.started | subagent.spawned b running | {BEGINS}");
    check(
        |world| spawn(world, "b", Some("a")),
        [
            ("idle", spawns),
            ("running", spawns),
            ("waiting_input", spawns),
            ("waiting_permission", spawns),
            ("completed", spawns),
            ("failed", spawns),
            ("cancelled", spawns),
            ("closing", CLOSING),
            ("closed", CLOSED),
        ],
    );
}

#[test]
fn a_turn_for_its_thread() {
    check(
        |world| submit_to(world, "a"),
        [
            ("idle", BEGINS),
            ("running", "turn.submitted queued | queue.changed enqueued"),
            ("waiting_input", "turn.submitted queued | queue.changed enqueued"),
            ("waiting_permission", "turn.submitted queued | queue.changed enqueued"),
            ("completed", BEGINS),
            ("failed", BEGINS),
            ("cancelled", BEGINS),
            ("closing", CLOSING),
            ("closed", CLOSED),
        ],
    );
}

#[test]
fn the_end_of_its_turn() {
    let completes = "turn.completed end_turn | subagent.completed a completed";
    let open = "refused precondition_failed: the turn still has open work";
    check(
        |world| finish(world, "a", true),
        [
            ("idle", "nothing runs"),
            ("running", completes),
            ("waiting_input", open),
            ("waiting_permission", open),
            ("completed", "nothing runs"),
            ("failed", "nothing runs"),
            ("cancelled", "nothing runs"),
            ("closing", &format!("{completes} | subagent.closed a was completed")),
            ("closed", "nothing runs"),
        ],
    );
}

#[test]
fn it_rests_only_when_nothing_waits_in_its_queue() {
    let mut world = World::idle();
    spawn(&mut world, "a", None);
    send(&mut world, "a");
    assert_eq!(
        finish(&mut world, "a", false),
        ["turn.failed failed model_error", "queue.changed started", "turn.started #1"]
    );
    assert_eq!(status(&world, "a"), SubagentState::Running);
    assert_eq!(finish(&mut world, "a", true), ["turn.completed end_turn", "subagent.completed a completed"]);
    let record = record(&world, "a");
    assert_eq!((record.status, record.last_error, record.ended_at), (SubagentState::Completed, None, Some(at(0))));
}

#[test]
fn a_turn_submitted_to_its_thread_makes_it_run_again() {
    let mut world = World::idle();
    spawn(&mut world, "a", None);
    finish(&mut world, "a", false);
    assert_eq!(record(&world, "a").last_error.map(|error| error.category).as_deref(), Some("model_error"));
    submit_to(&mut world, "a");
    let running = record(&world, "a");
    assert_eq!((running.status, running.ended_at), (SubagentState::Running, None));
}

#[test]
fn the_last_thing_it_said_can_be_found() {
    let mut world = World::idle();
    spawn(&mut world, "a", None);
    answer(&mut world, "a", Vec::new());
    let said = last_commit(&world);
    let said = said.iter().find(|event| event.fact.type_name() == "model.completed").expect("an answer");
    assert_eq!(record(&world, "a").last_message_ref, Some(format!("event:{}", said.event_id)));
}

/// A parent that follows the session sees when somebody has to answer its child.
#[test]
fn a_child_says_when_it_begins_and_ends_to_wait() {
    let mut world = World::idle();
    spawn(&mut world, "a", None);
    let asked = answer(&mut world, "a", vec![question("ask"), gated("rm")]);
    let said = |told: &[String]| -> Vec<String> {
        told.iter().filter(|line| line.starts_with("subagent.")).cloned().collect()
    };
    assert_eq!(said(&asked), ["subagent.status a waiting_permission"]);
    // The question is still open when the permission is given, and nothing is when it is answered.
    let gate = world.state.actions.iter().position(|action| action.required.tool_name.as_deref() == Some("rm"));
    let gate = gate.expect("a permission is open");
    let given = world.respond(gate, "allow");
    assert_eq!(said(&given), ["subagent.status a waiting_input"]);
    let answered = world.respond_with(0, json!({ "decision": "answer", "payload": { "text": "blue" } }));
    assert_eq!(said(&answered), ["subagent.status a running"]);
    assert_eq!(record(&world, "a").status, SubagentState::Running);
    assert_eq!(world.replayed(), world.state);
}
