//! Work that a turn gives to a peer: made once while its call runs, and called back by the commit that ends the turn,
//! whatever ends it, however far the peer has got, and whenever the runtime stops.

use factum_model::report::{Report, Runner, TurnReport};
use factum_model::task::*;
use factum_model::value::{Effect, OnBusy};
use factum_model::{ErrorCode, Fact, Refusal};
use serde_json::json;

use super::board::Board;
use super::peers::{news, task, whole};
use crate::session::delegations::{Delegation, Observed, PeerNews, Step, next};
use crate::session::tasks::{GivenAway, give_away, observe_peer, task_of_call};
use crate::session::tests::world::{failure, model_answer, model_requested, open};
use crate::session::{
    ActiveTurn, Effect as ShellEffect, decide_report, effects, interrupt_turn, respond_action, submit_turn,
};

/// How long the agent of a task may take.
const TIMEOUT_MS: i64 = 100;

/// A turn that gave something away: in the main thread, or of an agent that does a task.
struct Given {
    board: Board,
    runner: Runner,
    task: String,
}

fn active<'a>(board: &'a Board, runner: &Runner) -> &'a ActiveTurn {
    board.world.state.thread(&runner.thread_id).and_then(|thread| thread.active.as_deref()).expect("a turn")
}

fn report(board: &mut Board, runner: &Runner, report: Report) {
    board.decide(|state, context| decide_report(state, runner, report, context)).expect("reported");
}

/// Lets the turn ask for a call that gives work away, and begin it.
fn call(board: &mut Board, runner: &Runner) {
    report(board, runner, model_requested());
    let request = active(board, runner).model_request.clone().expect("a request");
    let answer = model_answer(vec![open("delegate_to_peer", Effect::Idempotent)]);
    let completed = Report::ModelCompleted { request_id: request.request_id, step_id: request.step_id, answer };
    report(board, runner, completed);
    let call = active(board, runner).calls[0].clone();
    let running = Report::ToolRunning { tool_call_id: call.tool_call_id, arguments_digest: call.arguments_digest };
    report(board, runner, running);
}

fn give(board: &mut Board, runner: &Runner) -> Result<String, Refusal> {
    let tool_call_id = active(board, runner).calls[0].tool_call_id.clone();
    give_for(board, runner, &tool_call_id)
}

fn give_for(
    board: &mut Board,
    runner: &Runner,
    tool_call_id: &factum_model::id::ToolCallId,
) -> Result<String, Refusal> {
    let work = GivenAway { tool_call_id, peer: "north", message: "count" };
    let rows: Vec<TaskRow> =
        task_of_call(tool_call_id).and_then(|task_id| board.row(task_id.as_str())).into_iter().collect();
    let given = board.decide(|state, context| give_away(state, runner, work, &rows, context));
    given.map(|task_id| task_id.as_str().to_owned())
}

fn in_a_turn() -> Given {
    let mut board = Board::new();
    board.world.submit("t1", OnBusy::Queue);
    let runner = board.world.runner();
    call(&mut board, &runner);
    let task = give(&mut board, &runner).expect("given");
    Given { board, runner, task }
}

fn in_a_task() -> Given {
    let mut board = Board::new();
    let policy = json!({ "max_attempts": 1, "timeout_ms": TIMEOUT_MS });
    board.task("t", json!({ "status": "queued", "agent": "demo", "retry_policy": policy }));
    let attempt = board.attempt("t");
    let (thread_id, turn_id) = (attempt.thread_id.expect("a thread"), attempt.turn_id.expect("a turn"));
    let runner = Runner { thread_id, turn_id, attempt: 1 };
    call(&mut board, &runner);
    let task = give(&mut board, &runner).expect("given");
    Given { board, runner, task }
}

fn see(given: &mut Given, observed: &Observed) {
    let run_id = given.board.attempt(&given.task).run_id;
    given.board.decide(|state, context| observe_peer(state, &run_id, observed, context)).expect("seen");
}

fn delegation(given: &Given) -> Option<&Delegation> {
    given.board.world.state.delegations.all().next()
}

fn interrupt(given: &mut Given) {
    let command = json!({ "session_id": "s1", "turn_id": given.runner.turn_id });
    let command = serde_json::from_value(command).expect("params");
    given.board.decide(|state, context| interrupt_turn(state, &command, context)).expect("interrupted");
}

/// Another turn takes the thread.
fn push_aside(given: &mut Given) {
    let input = json!([{ "type": "text", "text": "hello" }]);
    let command = json!({ "turn_id": "t2", "on_busy": OnBusy::Interrupt, "input": input });
    let command = serde_json::from_value(command).expect("params");
    let session_id = "s1".parse().expect("an id");
    given.board.decide(|state, context| submit_turn(state, &session_id, "demo", &command, context)).expect("accepted");
}

type Begin = fn() -> Given;
type End = fn(&mut Given);

/// Every way in which a turn may end under a call.
const ENDS: [(&str, Begin, End); 6] = [
    ("interrupted", in_a_turn, interrupt),
    ("another turn goes first", in_a_turn, push_aside),
    ("failed", in_a_turn, |given| {
        let outcome = TurnReport::Failed { error: failure("broken") };
        report(&mut given.board, &given.runner.clone(), Report::TurnFinished { outcome });
    }),
    ("the task of the turn is cancelled", in_a_task, |given| {
        drop(given.board.ok("cancel_task", json!({ "task_id": "t" })));
    }),
    ("the task of the turn takes too long", in_a_task, |given| given.board.pass(TIMEOUT_MS)),
    ("the turn of the task is interrupted", in_a_task, interrupt),
];

/// The task whose agent gave work away waits for what the peer asks, and goes on with the answer.
#[test]
fn what_the_peer_asks_is_asked_of_the_task_of_the_turn() {
    for (state, waits) in
        [("input-required", TaskStatus::WaitingInput), ("auth-required", TaskStatus::WaitingPermission)]
    {
        let mut given = in_a_task();
        assert!(given.board.edge_row(&given.task, Relationship::SourceTask, "t").is_some(), "it says what it is for");
        let asks = PeerNews { message: Some("which?".to_owned()), question: Some("q".to_owned()), ..news(state) };
        see(&mut given, &task(asks));
        assert_eq!((given.board.status(&given.task), given.board.status("t")), (waits, waits));
        let action_id = given.board.world.state.actions[0].action_id.clone();
        let command = json!({ "action_id": action_id, "decision": "allow", "payload": { "text": "blue" } });
        let command = serde_json::from_value(command).expect("params");
        given.board.decide(|state, context| respond_action(state, &command, context)).expect("answered");
        assert_eq!(given.board.status("t"), TaskStatus::Running);
        // It changes its mind: nobody has to answer any more.
        let again = PeerNews { message: Some("and?".to_owned()), question: Some("r".to_owned()), ..news(state) };
        see(&mut given, &Observed::Answered { action_id, text: "blue".to_owned() });
        see(&mut given, &task(again));
        assert_eq!(given.board.status("t"), waits);
        see(&mut given, &task(news("working")));
        assert_eq!(given.board.status("t"), TaskStatus::Running);
    }
}

#[test]
fn the_commit_that_ends_a_turn_calls_back_what_it_gave_away() {
    let asked = || task(PeerNews { message: Some("?".to_owned()), ..news("input-required") });
    let away = || Observed::Unavailable {
        recovery: factum_model::peer::PeerRecovery::NetworkUnavailable,
        problem: "down".to_owned(),
        connected: true,
    };
    // How far the peer has got, and what has to be done about it next.
    let stages: [(&str, Vec<Observed>, Step); 4] = [
        ("not told yet", vec![], Step::Give),
        ("away before it was told", vec![away()], Step::Give),
        ("at work", vec![task(news("working"))], Step::Cancel),
        ("asking", vec![asked()], Step::Cancel),
    ];
    for (how, begin, end) in ENDS {
        for (stage, seen, step) in &stages {
            let mut given = begin();
            for observed in seen {
                see(&mut given, observed);
            }
            given.board.last.clear();
            let before = given.board.world.log.len();
            end(&mut given);
            assert_eq!(given.board.world.log.len(), before + 1, "{how}, {stage}: one commit");
            assert_eq!(given.board.status(&given.task), TaskStatus::Cancelling, "{how}, {stage}");
            given.board.crash();
            let after = delegation(&given).expect("still to be told");
            assert_eq!((after.cancel, next(after)), (true, step.clone()), "{how}, {stage}");
            let woken = ShellEffect::Delegate { run_id: after.run_id.clone(), fresh: false };
            assert!(given.board.last.iter().filter_map(effects).any(|effect| effect == woken), "{how}, {stage}");
            see(&mut given, &whole("canceled"));
            assert_eq!(given.board.status(&given.task), TaskStatus::Cancelled, "{how}, {stage}");
            assert_eq!(delegation(&given), None, "{how}, {stage}");
        }
    }
}

#[test]
fn whoever_tells_the_peer_is_woken() {
    let mut given = in_a_turn();
    see(&mut given, &task(news("working")));
    interrupt(&mut given);
    let facts: Vec<&Fact> = given.board.last.iter().map(|event| &event.fact).collect();
    assert!(facts.iter().any(|fact| matches!(fact, Fact::TaskCancelRequested(_))), "{facts:?}");
    assert!(given.board.last.iter().filter_map(effects).any(|effect| effect == ShellEffect::WakeDelegates));
}

#[test]
fn what_is_over_or_lost_is_left_alone() {
    let lost = Observed::Untraceable { problem: "no answer".to_owned() };
    let table = [
        (whole("completed"), TaskStatus::Completed),
        (whole("failed"), TaskStatus::Failed),
        (whole("canceled"), TaskStatus::Cancelled),
        (lost, TaskStatus::Lost),
    ];
    for (how, begin, end) in ENDS {
        for (observed, status) in &table {
            let mut given = begin();
            see(&mut given, observed);
            end(&mut given);
            assert_eq!(given.board.status(&given.task), *status, "{how}");
        }
    }
}

#[test]
fn a_call_gives_its_work_away_once() {
    let mut given = in_a_turn();
    for _ in 0..2 {
        let sequence = given.board.world.state.sequence;
        let again = give(&mut given.board, &given.runner.clone()).expect("found");
        assert_eq!((again, given.board.world.state.sequence), (given.task.clone(), sequence), "nothing new");
        given.board.crash();
        let refusal = give(&mut given.board, &given.runner.clone()).expect_err("an older run of the turn");
        assert_eq!(refusal.code, ErrorCode::PreconditionFailed);
        given.runner = given.board.world.runner();
        let call = active(&given.board, &given.runner).calls[0].clone();
        let running = Report::ToolRunning { tool_call_id: call.tool_call_id, arguments_digest: call.arguments_digest };
        report(&mut given.board, &given.runner.clone(), running);
    }
    assert_eq!(given.board.world.state.delegations.all().count(), 1);
}

#[test]
fn a_turn_that_is_over_gives_nothing_away() {
    for (how, begin, end) in ENDS {
        let mut given = begin();
        let tool_call_id = active(&given.board, &given.runner).calls[0].tool_call_id.clone();
        end(&mut given);
        let sequence = given.board.world.state.sequence;
        give_for(&mut given.board, &given.runner.clone(), &tool_call_id).expect_err(how);
        assert_eq!(given.board.world.state.sequence, sequence, "{how}");
    }
    // The same where the end was quicker than the call.
    let mut board = Board::new();
    board.world.submit("t1", OnBusy::Queue);
    let runner = board.world.runner();
    call(&mut board, &runner);
    let tool_call_id = active(&board, &runner).calls[0].tool_call_id.clone();
    board.world.interrupt(json!({}));
    give_for(&mut board, &runner, &tool_call_id).expect_err("too late");
    assert!(board.world.state.delegations.is_empty());
}

/// The time to settle is over before the peer can be told: that it has to be told outlasts the run.
#[test]
fn a_peer_that_may_have_the_task_is_told_however_long_that_takes() {
    let mut given = in_a_turn();
    interrupt(&mut given);
    given.board.pass(60_000);
    assert_eq!(given.board.status(&given.task), TaskStatus::Cancelled);
    given.board.crash();
    let waiting = delegation(&given).expect("still to be told").clone();
    assert_eq!((waiting.over, next(&waiting)), (true, Step::Give));
    let ways: [(&str, Vec<Observed>); 4] = [
        ("it has it", vec![task(news("working")), whole("canceled")]),
        ("it was not sent", vec![Observed::NotSent]),
        ("it does not take it", vec![Observed::Refused { problem: "no".to_owned() }]),
        ("nobody can say", vec![Observed::Untraceable { problem: "where?".to_owned() }]),
    ];
    for (way, seen) in ways {
        let mut given = in_a_turn();
        interrupt(&mut given);
        given.board.pass(60_000);
        for observed in &seen {
            assert!(delegation(&given).is_some(), "{way}");
            see(&mut given, observed);
        }
        assert_eq!(delegation(&given), None, "{way}: nobody is left to see to it");
        assert_eq!(given.board.status(&given.task), TaskStatus::Cancelled, "{way}");
    }
}
