//! Agents: an attempt is a turn in a thread of its own, and neither outlives the other.

use factum_model::task::TaskStatus::*;
use factum_model::task::*;
use serde_json::{Value, json};

use super::board::Board;
use crate::session::interrupt_turn;
use crate::session::remove_queued_turn;
use crate::session::tests::world::failure;

fn with_agent(params: Value) -> Board {
    let mut board = Board::new();
    let mut task = json!({ "status": "queued", "agent": "demo" });
    task.as_object_mut().expect("params").extend(params.as_object().cloned().unwrap_or_default());
    board.task("t", task);
    board
}

fn flaky() -> factum_model::value::Failure {
    factum_model::value::Failure { retryable: true, ..failure("flaky") }
}

fn types(board: &Board) -> Vec<&'static str> {
    board.last.iter().map(|event| event.fact.type_name()).collect()
}

/// Somebody else talks to the agent in the task's own thread.
fn submit_beside(board: &mut Board, turn: &str) {
    let thread_id = board.attempt("t").thread_id.expect("a thread");
    board.world.submit_with(json!({ "turn_id": turn, "thread_id": thread_id })).expect("accepted");
}

fn thread(board: &Board) -> &crate::session::Thread {
    board.world.state.thread(&board.attempt("t").thread_id.expect("a thread")).expect("the thread is there")
}

#[test]
fn a_task_of_an_agent_is_a_turn_in_a_thread_of_its_own() {
    let mut board = with_agent(json!({}));
    let attempt = board.attempt("t");
    assert_eq!((board.status("t"), attempt.worker.as_deref()), (Running, Some("agent:demo")));
    assert_eq!(thread(&board).active.as_ref().map(|turn| turn.turn_id.clone()), attempt.turn_id);
    assert_eq!(board.world.state.threads.len(), 2);
    board.crash();
    board.turn_completes("t");
    assert_eq!((board.status("t"), board.attempt("t").status), (WaitingInput, AttemptStatus::Completed));
    assert_eq!(board.attempt("t").completion_summary.as_deref(), Some("hi"));
}

#[test]
fn nobody_else_says_where_a_task_stands_while_its_agent_works() {
    let mut board = with_agent(json!({}));
    for word in ["waiting_input", "waiting_permission", "waiting_resource", "blocked", "preparing", "stale", "unknown"]
    {
        let refusal = board.call("update_task", json!({ "task_id": "t", "status": word })).expect_err("refused");
        assert_eq!(refusal.details["status"], "running", "{word}: {refusal:?}");
    }
    board.ok("update_task", json!({ "task_id": "t", "title": "its data is another matter" }));
    board.crash();
    assert_eq!(board.status("t"), Running);
}

#[test]
fn a_turn_that_fails_is_followed_by_another_in_the_same_thread() {
    let mut board = with_agent(json!({ "retry_policy": { "max_attempts": 2 }, "auto_complete": true }));
    let first = board.attempt("t");
    board.turn_fails("t", flaky());
    let second = board.attempt("t");
    assert_eq!((board.status("t"), second.attempt_count, &second.thread_id), (Running, 2, &first.thread_id));
    assert_ne!(first.turn_id, second.turn_id);
    assert_eq!(thread(&board).active.as_ref().map(|turn| turn.turn_id.clone()), second.turn_id);
    board.turn_completes("t");
    assert_eq!(board.status("t"), Completed);
}

#[test]
fn a_turn_that_takes_too_long_is_stopped_and_the_next_one_really_runs() {
    let mut board = with_agent(json!({ "retry_policy": { "max_attempts": 2, "timeout_ms": 100 } }));
    board.pass(100);
    let second = board.attempt("t");
    assert_eq!((board.status("t"), second.attempt_count), (Running, 2));
    assert_eq!(
        thread(&board).active.as_ref().map(|turn| turn.turn_id.clone()),
        second.turn_id,
        "not in a queue nobody works off"
    );
    board.pass(100);
    assert_eq!((board.status("t"), thread(&board).active.is_none()), (TimedOut, true));
    let first: Attempt = serde_json::from_slice(&board.older("t")[0]).expect("an attempt");
    assert_eq!(first.status, AttemptStatus::TimedOut);
}

#[test]
fn the_next_attempt_waits_behind_what_others_asked_of_the_thread() {
    let mut board = with_agent(json!({ "retry_policy": { "max_attempts": 2 } }));
    submit_beside(&mut board, "t1");
    board.turn_fails("t", flaky());
    let second = board.attempt("t").turn_id.expect("a turn");
    let queue: Vec<_> = thread(&board).queue.iter().map(|turn| turn.entry.turn_id.clone()).collect();
    assert_eq!(thread(&board).active.as_ref().map(|turn| turn.turn_id.as_str().to_owned()), Some("t1".to_owned()));
    assert_eq!(queue, [second], "it is neither lost nor run beside the other");
    let waits = board.attempt("t");
    assert_eq!((board.status("t"), waits.status, waits.started_at), (Queued, AttemptStatus::Queued, None));
    assert!(board.known("t").status_reason.expect("a reason").contains("busy"));
    board.crash();
    assert_eq!(board.status("t"), Queued, "nobody says otherwise after a restart");
    board.thread_completes("t");
    assert_eq!(types(&board).last(), Some(&"task.started"));
    let begun = board.attempt("t");
    assert_eq!((board.status("t"), begun.status), (Running, AttemptStatus::Running));
    assert_eq!((begun.started_at, board.known("t").status_reason), (Some(board.world.now), None));
}

#[test]
fn the_clock_of_an_attempt_runs_from_when_its_turn_does() {
    let mut board = with_agent(json!({ "retry_policy": { "max_attempts": 2, "timeout_ms": 100 } }));
    submit_beside(&mut board, "t1");
    board.pass(100);
    assert_eq!((board.status("t"), board.attempt("t").attempt_count), (Queued, 2));
    board.pass(10_000);
    assert_eq!(board.status("t"), Queued, "waiting costs nothing of its time");
    board.thread_completes("t");
    board.pass(99);
    assert_eq!(board.status("t"), Running);
    board.pass(1);
    assert_eq!(board.status("t"), TimedOut);
}

#[test]
fn what_is_put_aside_while_its_turn_waits_goes_on_as_what_it_has_become() {
    for starts in [true, false] {
        let mut board = with_agent(json!({ "retry_policy": { "max_attempts": 2 } }));
        submit_beside(&mut board, "t1");
        board.turn_fails("t", flaky());
        board.ok("pause_task", json!({ "task_id": "t", "reason": "lunch" }));
        if starts {
            board.thread_completes("t");
        }
        assert_eq!((board.status("t"), board.known("t").status_reason.as_deref()), (Paused, Some("lunch")));
        board.ok("resume_task", json!({ "task_id": "t" }));
        assert_eq!(board.status("t"), if starts { Running } else { Queued });
    }
}

#[test]
fn cancelling_stops_the_turn_in_the_same_commit() {
    let mut board = with_agent(json!({}));
    board.ok("cancel_task", json!({ "task_id": "t", "reason": "enough" }));
    let facts = ["task.cancel_requested", "task.attempt.failed", "task.cancelled", "turn.failed"];
    assert_eq!(types(&board), facts);
    assert_eq!((board.attempt("t").status, thread(&board).active.is_none()), (AttemptStatus::Cancelled, true));
}

#[test]
fn cancelling_takes_a_turn_that_still_waits_out_of_the_queue() {
    let mut board = with_agent(json!({ "retry_policy": { "max_attempts": 2 } }));
    submit_beside(&mut board, "t1");
    board.turn_fails("t", flaky());
    board.ok("cancel_task", json!({ "task_id": "t" }));
    assert_eq!((board.status("t"), thread(&board).queue.len()), (Cancelled, 0));
}

#[test]
fn a_turn_that_is_interrupted_or_removed_ends_its_attempt() {
    let mut board = with_agent(json!({}));
    let turn_id = board.attempt("t").turn_id;
    let command = serde_json::from_value(json!({ "session_id": "s1", "turn_id": turn_id })).expect("params");
    board.decide(|state, context| interrupt_turn(state, &command, context)).expect("accepted");
    assert_eq!((board.status("t"), board.attempt("t").status), (Cancelled, AttemptStatus::Cancelled));

    for remove in [true, false] {
        let mut board = with_agent(json!({ "retry_policy": { "max_attempts": 2 } }));
        submit_beside(&mut board, "t1");
        board.turn_fails("t", flaky());
        let turn_id = board.attempt("t").turn_id;
        if remove {
            let command =
                serde_json::from_value(json!({ "session_id": "s1", "queued_turn_id": turn_id })).expect("params");
            board.decide(|state, context| remove_queued_turn(state, &command, context)).expect("accepted");
        } else {
            let command = serde_json::from_value(json!({ "session_id": "s1", "turn_id": turn_id })).expect("params");
            board.decide(|state, context| interrupt_turn(state, &command, context)).expect("accepted");
        }
        assert_eq!(board.status("t"), Cancelled, "a turn that never starts does not show as running");
    }
}

#[test]
fn an_agent_at_work_is_not_talked_over() {
    let mut board = with_agent(json!({}));
    for (command, params) in
        [("fail_task", json!({ "error": { "category": "x" } })), ("retry_task", json!({ "reason": "x" }))]
    {
        let mut params = params;
        params["task_id"] = json!("t");
        assert_eq!(board.refused(command, params).details["status"], json!("running"), "{command}");
    }
    let refusal = board.refused("complete_task", json!({ "task_id": "t" }));
    assert_eq!(refusal.details["missing"][0]["kind"], json!("run"));
}

#[test]
fn whoever_wants_a_retry_of_what_an_agent_does_is_told_what_leads_to_one() {
    let mut board = with_agent(json!({}));
    let advice = board.refused("retry_task", json!({ "task_id": "t", "reason": "x" })).message;
    assert!(!advice.contains("interrupt_turn"), "that ends the task as cancelled: {advice}");
    assert!(advice.contains("when its turn has failed") && advice.contains("create another task"), "{advice}");
    board.turn_fails("t", failure("broken"));
    assert_eq!(board.status("t"), Failed);
    board.ok("retry_task", json!({ "task_id": "t", "reason": "x" }));
    assert_eq!((board.status("t"), board.attempt("t").attempt_count), (Running, 2));
    board.ok("cancel_task", json!({ "task_id": "t" }));
    assert_eq!(board.status("t"), Cancelled);
    board.task("another", json!({ "status": "queued", "agent": "demo" }));
}

#[test]
fn a_whole_graph_of_agents_is_stopped() {
    let mut board = Board::new();
    board.task("p", json!({}));
    let names: Vec<String> = (0..30).map(|n| format!("a{n:02}")).collect();
    names
        .iter()
        .for_each(|name| board.task(name, json!({ "parent_task_id": "p", "status": "queued", "agent": "demo" })));
    board.ok("cancel_task", json!({ "task_id": "p", "propagation": "descendants" }));
    board.carry_on();
    assert!(names.iter().all(|name| board.status(name) == Cancelled));
    assert_eq!(board.status("p"), Cancelled);
    assert!(board.world.state.threads.iter().all(|thread| thread.active.is_none()));
}

#[test]
fn without_room_for_a_thread_an_unblocked_task_waits_and_says_so() {
    let mut board = Board::new();
    board.world.limits.threads_max = 1;
    board.task("a", json!({ "status": "queued" }));
    board.task("t", json!({ "agent": "demo", "blocked_by": ["a"] }));
    board.ok("complete_task", json!({ "task_id": "a" }));
    let row = board.known("t");
    assert_eq!((row.status, row.status_reason.as_deref()), (WaitingResource, Some("threads is 2, the limit is 1")));
    board.world.limits.threads_max = 2;
    board.ok("start_task", json!({ "task_id": "t" }));
    assert_eq!(board.status("t"), Running);
}

/// Seed 000: artifacts are refs and graph edges, so what an agent makes for a task is found from the task.
#[test]
fn what_its_agent_keeps_belongs_to_the_task() {
    let acceptance = json!({ "required_artifacts": ["report.txt"] });
    let mut board = with_agent(json!({ "auto_complete": true, "acceptance": acceptance }));
    board.turn_keeps("t", "report.txt");
    let task = board.world.state.tasks.get(&crate::session::tests::world::id("t")).expect("a task");
    let artifact_id = board.last.iter().find_map(|event| event.scope.artifact_id.clone()).expect("an artifact");
    assert_eq!(task.row.artifacts, [artifact_id.as_str()], "one entry for one artifact");
    let kinds: Vec<(Relationship, EdgeStatus)> = board
        .last
        .iter()
        .filter_map(|event| match &event.fact {
            factum_model::Fact::TaskDependencyUpdated(fact) => Some((fact.edge.relationship, fact.edge.status)),
            _ => None,
        })
        .collect();
    assert_eq!(kinds, [(Relationship::ProducedArtifact, EdgeStatus::Active)]);
    board.crash();
    board.turn_completes("t");
    assert_eq!(board.status("t"), Completed, "what it requires is asked for by name");
}

/// A graph may have more tasks than a session may have threads, as long as not all of them are at work at once.
#[test]
fn a_task_that_ended_makes_room_for_the_thread_of_another() {
    let mut board = Board::new();
    board.world.limits.threads_max = 2;
    for name in ["a", "b", "c", "d"] {
        board.task(name, json!({ "status": "queued", "agent": "demo" }));
        board.turn_completes(name);
        let waits = board.refused("create_task", json!({ "status": "queued", "agent": "demo" }));
        assert_eq!(waits.message, "threads is 3, the limit is 2", "its task is open, and may be tried again there");
        board.ok("complete_task", json!({ "task_id": name }));
    }
    assert_eq!(board.world.state.threads.len(), 3, "the main one, and two that rest");
}
