//! What a peer asks after it was answered: asked again where it still waits, and not for an old sight of the question. And what it
//! says of a question to programs.

use factum_model::commands::RespondAction;
use factum_model::events::{ActionType, ResolutionSource};
use factum_model::task::TaskStatus;
use factum_model::{Event, Fact};
use serde_json::json;

use super::board::Board;
use super::peers::{delegation, given, news, open_action, respond, see, task};
use crate::session::delegations::{Observed, PeerNews, PendingAnswer, Step, Terms, next};
use crate::session::respond_action;

fn asks(question: &str, words: Option<&str>) -> Observed {
    task(PeerNews { question: Some(question.to_owned()), message: words.map(str::to_owned), ..news("input-required") })
}

/// A peer that asked `q1` and took the answer.
fn answered() -> Board {
    let mut board = given(json!({}));
    see(&mut board, &asks("q1", Some("which?")));
    let action_id = open_action(&board);
    respond(&mut board, action_id.clone(), "blue");
    see(&mut board, &Observed::Answered { action_id, text: "blue".to_owned() });
    board
}

fn is_asked(board: &Board) -> bool {
    !board.world.state.actions.is_empty()
}

#[test]
fn a_peer_that_still_waits_after_an_answer_is_asked_about_again() {
    let mut board = answered();
    see(&mut board, &asks("q1", Some("which?")));
    assert!(!is_asked(&board), "it has not looked at the answer yet");
    board.pass(9_999);
    see(&mut board, &asks("q1", Some("which?")));
    assert!(!is_asked(&board));
    board.crash();
    board.pass(1);
    see(&mut board, &asks("q1", Some("which?")));
    assert!(is_asked(&board), "it had the time to");
    assert_eq!(board.status("t"), TaskStatus::WaitingInput);
    see(&mut board, &asks("q1", Some("which?")));
    assert_eq!(board.world.state.actions.len(), 1, "once");
    // It was busy without saying so: nobody has to answer.
    see(&mut board, &task(news("working")));
    assert!(!is_asked(&board));
}

#[test]
fn another_question_is_asked_at_once_and_so_is_the_same_one_behind_work() {
    let mut board = answered();
    see(&mut board, &asks("q2", Some("which?")));
    assert!(is_asked(&board), "in the same words, but another");
    let mut board = answered();
    see(&mut board, &task(news("working")));
    see(&mut board, &asks("q1", Some("which?")));
    assert!(is_asked(&board), "it was taken up, and is asked again");
}

/// Servers of some kits take the question out of the status as soon as the answer comes, before their agent has seen it.
#[test]
fn a_peer_that_waits_and_says_nothing_has_not_looked_at_the_answer_yet() {
    let mut board = answered();
    see(&mut board, &asks("2026-01-01T00:00:00Z", None));
    assert!(!is_asked(&board));
    board.pass(10_000);
    see(&mut board, &asks("2026-01-01T00:00:00Z", None));
    assert!(is_asked(&board));
}

#[test]
fn what_a_peer_says_of_its_question_is_said_here_and_its_answer_names_it() {
    let schema = json!({ "type": "object", "required": ["age"] });
    let terms = Terms {
        action_id: Some("act_there".to_owned()),
        tool_name: Some("census".to_owned()),
        decisions: Vec::new(),
        input_schema: Some(schema.clone()),
    };
    let mut board = given(json!({}));
    see(&mut board, &task(PeerNews { question: Some("q1".to_owned()), terms, ..news("input-required") }));
    let asked = board.world.state.actions[0].clone();
    assert_eq!(
        (asked.required.tool_name.as_deref(), asked.required.input_schema.as_ref()),
        (Some("census"), Some(&schema))
    );
    let respond = |payload| RespondAction {
        action_id: asked.action_id.clone(),
        decision: "answer".to_owned(),
        payload: Some(payload),
        idempotency_key: None,
    };
    let unfit = respond(json!({ "name": "Ada" }));
    assert!(board.decide(|state, context| respond_action(state, &unfit, context)).is_err());
    let fit = respond(json!({ "age": 5 }));
    board.decide(|state, context| respond_action(state, &fit, context)).expect("answered");
    let expected = PendingAnswer {
        action_id: asked.action_id,
        decision: "answer".to_owned(),
        text: r#"{"age":5}"#.to_owned(),
        remote_action_id: Some("act_there".to_owned()),
        doubted: false,
    };
    assert_eq!(delegation(&board).map(next), Some(Step::Answer(expected)));
}

/// A review has words of its own; a permission has two, and is given by them alone.
#[test]
fn the_words_of_a_peer_are_the_words_here() {
    let words =
        |words: &[&str]| Terms { decisions: words.iter().map(|word| (*word).to_owned()).collect(), ..Terms::default() };
    let mut board = given(json!({}));
    see(&mut board, &task(PeerNews { terms: words(&["retry", "skip"]), ..news("input-required") }));
    assert_eq!(board.world.state.actions[0].required.decisions, ["retry", "skip"]);
    let mut board = given(json!({}));
    see(&mut board, &task(PeerNews { terms: words(&["sudo"]), ..news("auth-required") }));
    assert_eq!(board.world.state.actions[0].required.decisions, ["allow", "deny"]);
    let command = RespondAction {
        action_id: open_action(&board),
        decision: "allow".to_owned(),
        payload: Some(json!({ "text": "but be careful" })),
        idempotency_key: None,
    };
    board.decide(|state, context| respond_action(state, &command, context)).expect("answered");
    let Some(Step::Answer(answer)) = delegation(&board).map(next) else { panic!("no answer") };
    assert_eq!(answer.text, "allow");
}

/// How far the first question has come when the peer asks another.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Open,
    /// Somebody answered, and the peer has not got it.
    Decided,
    Taken,
}

fn asked_of(state: &str, said: Option<(&str, &str)>) -> Observed {
    let (question, message) = (said.map(|(id, _)| id.to_owned()), said.map(|(_, words)| words.to_owned()));
    task(PeerNews { question, message, ..news(state) })
}

/// A task whose peer asked `first`, as far as `stage`, and then shows `second`.
fn turned(first: &Observed, second: &Observed, stage: Stage) -> Board {
    let mut board = given(json!({}));
    see(&mut board, first);
    let action_id = open_action(&board);
    if stage != Stage::Open {
        let word = if board.status("t") == TaskStatus::WaitingPermission { "allow" } else { "blue" };
        respond(&mut board, action_id.clone(), word);
    }
    if stage == Stage::Taken {
        see(&mut board, &Observed::Answered { action_id, text: "blue".to_owned() });
    }
    see(&mut board, second);
    board
}

fn superseded(board: &Board) -> usize {
    let is = |event: &&Event| matches!(&event.fact, Fact::ActionResolved(fact) if fact.source == ResolutionSource::Superseded);
    board.last.iter().filter(is).count()
}

/// Seed 000: an approval is not an answer. What a peer says to it, and whether it says anything, is its own business.
#[test]
fn a_peer_that_waits_for_something_of_another_kind_is_asked_about_at_once() {
    let input = ("input-required", ActionType::Input, TaskStatus::WaitingInput);
    let authorization = ("auth-required", ActionType::Authorization, TaskStatus::WaitingPermission);
    for ((first, ..), (second, action_type, status)) in [(input, authorization), (authorization, input)] {
        for said in [None, Some(("q", "ok?"))] {
            for stage in [Stage::Open, Stage::Decided, Stage::Taken] {
                let mut board = turned(&asked_of(first, said), &asked_of(second, said), stage);
                let what = format!("{first} to {second}, {said:?}, {stage:?}");
                let asked: Vec<ActionType> =
                    board.world.state.actions.iter().map(|action| action.required.action_type).collect();
                assert_eq!(asked, [action_type], "{what}");
                assert_eq!(superseded(&board), usize::from(stage == Stage::Open), "{what}");
                let row = board.known("t");
                assert_eq!((row.status, row.native_status.as_deref()), (status, Some(second)), "{what}");
                assert_eq!(delegation(&board).map(next), Some(Step::Follow), "nothing of the first is sent: {what}");
                see(&mut board, &asked_of(second, said));
                assert!(board.last.is_empty(), "once: {what}");
                board.crash();
                let action_id = open_action(&board);
                respond(
                    &mut board,
                    action_id.clone(),
                    if status == TaskStatus::WaitingInput { "blue" } else { "allow" },
                );
                let Some(Step::Answer(answer)) = delegation(&board).map(next) else { panic!("no answer: {what}") };
                assert_eq!(answer.action_id, action_id, "{what}");
            }
        }
    }
}

/// What somebody decided of one question is not the answer to the next.
#[test]
fn a_question_that_takes_the_place_of_another_is_asked_in_its_own_words() {
    for state in ["input-required", "auth-required"] {
        for stage in [Stage::Open, Stage::Decided] {
            let (read, wipe) = (asked_of(state, Some(("q1", "read it?"))), asked_of(state, Some(("q2", "wipe it?"))));
            let board = turned(&read, &wipe, stage);
            let prompts: Vec<&str> =
                board.world.state.actions.iter().map(|action| action.required.prompt.as_str()).collect();
            assert_eq!(prompts, ["wipe it?"], "{state}, {stage:?}");
            assert_eq!(delegation(&board).map(next), Some(Step::Follow), "{state}, {stage:?}");
            // A status that only lost its words is the question that stands.
            let board = turned(&read, &asked_of(state, None), stage);
            assert!(superseded(&board) == 0, "{state}, {stage:?}");
            assert_eq!(board.world.state.actions.len(), usize::from(stage == Stage::Open), "{state}, {stage:?}");
        }
    }
}

#[test]
fn a_time_that_moves_is_no_other_question_before_there_is_an_answer() {
    let (first, later) = ("2026-01-01T00:00:00+00:00", "2026-01-01T00:00:05+00:00");
    let mut board = given(json!({}));
    see(&mut board, &asks(first, Some("which?")));
    let action_id = open_action(&board);
    see(&mut board, &asks(later, Some("which?")));
    assert_eq!((open_action(&board), superseded(&board)), (action_id.clone(), 0));
    respond(&mut board, action_id.clone(), "blue");
    see(&mut board, &Observed::Answered { action_id, text: "blue".to_owned() });
    see(&mut board, &asks(later, Some("which?")));
    assert!(is_asked(&board), "behind an answer it tells them apart");
}

#[test]
fn a_question_that_was_withdrawn_and_comes_back_is_asked_again() {
    let mut board = given(json!({}));
    see(&mut board, &asks("q1", Some("which?")));
    see(&mut board, &task(news("working")));
    assert!(!is_asked(&board));
    see(&mut board, &asks("q1", Some("which?")));
    assert!(is_asked(&board));
}

/// Whether the peer got the answer is not known: it is asked for again, and whoever answers knows that.
#[test]
fn an_answer_that_may_have_arrived_is_asked_for_again_in_so_many_words() {
    for state in ["input-required", "auth-required"] {
        let pay = asked_of(state, Some(("q1", "pay?")));
        let mut board = given(json!({}));
        see(&mut board, &pay);
        let first = open_action(&board);
        respond(&mut board, first.clone(), "allow");
        see(&mut board, &Observed::Doubted);
        assert_eq!(delegation(&board).map(next), Some(Step::Follow), "{state}: it is not sent by itself");
        board.crash();
        see(&mut board, &pay);
        let prompt = board.world.state.actions[0].required.prompt.clone();
        assert!(prompt.starts_with("pay?\n\nThis was answered before"), "{state}: {prompt}");
        let second = open_action(&board);
        assert_ne!(first, second);
        see(&mut board, &pay);
        assert!(board.last.is_empty(), "{state}: once");
        respond(&mut board, second.clone(), "allow");
        let Some(Step::Answer(answer)) = delegation(&board).map(next) else { panic!("{state}: no answer") };
        assert_eq!((answer.action_id, answer.doubted), (second.clone(), false));
        see(&mut board, &Observed::Answered { action_id: second, text: "allow".to_owned() });
        see(&mut board, &task(news("working")));
        see(&mut board, &asked_of(state, Some(("q2", "ship?"))));
        assert_eq!(board.world.state.actions[0].required.prompt, "ship?", "{state}: of that nothing is doubted");
    }
}

/// One that is doubted is not asked for where the peer goes on after all.
#[test]
fn a_doubt_is_over_when_the_peer_goes_on() {
    let mut board = given(json!({}));
    see(&mut board, &asks("q1", Some("which?")));
    let action_id = open_action(&board);
    respond(&mut board, action_id, "blue");
    see(&mut board, &Observed::Doubted);
    see(&mut board, &task(news("working")));
    see(&mut board, &asks("q2", Some("ready?")));
    assert_eq!(board.world.state.actions[0].required.prompt, "ready?");
}

#[test]
fn only_an_answer_that_a_restart_cut_off_is_doubted() {
    let doubted = |board: &Board| {
        let Some(Step::Answer(answer)) = delegation(board).map(next) else { panic!("no answer") };
        answer.doubted
    };
    let mut board = given(json!({}));
    see(&mut board, &asks("q1", Some("which?")));
    board.crash();
    see(&mut board, &asks("q1", Some("which?")));
    let action_id = open_action(&board);
    respond(&mut board, action_id, "blue");
    assert!(!doubted(&board), "nobody can have sent it");
    board.crash();
    assert!(doubted(&board));
    board.crash_without_a_snapshot();
    assert!(doubted(&board), "the log says so");
}

/// Words to a task that the peer has are news of it, and no more.
#[test]
fn what_a_peer_says_to_an_answer_ends_nothing() {
    let mut board = answered();
    see(&mut board, &Observed::Said { text: "thanks, going on".to_owned() });
    let said = board.last.iter().find(|event| event.fact.type_name() == "channel.message").expect("words");
    assert_eq!((board.last.len(), said.scope.run_id.as_ref()), (1, Some(&board.attempt("t").run_id)));
    assert!(delegation(&board).is_some());
    see(&mut board, &task(news("working")));
    assert_eq!(board.status("t"), TaskStatus::Running);
}

/// What a peer that may have got an answer shows, and whether that says that it has it.
#[test]
fn a_peer_has_the_answer_when_it_asks_something_else() {
    use factum_model::peer::PeerRecovery::{WaitingAuthorization, WaitingInput};
    let (first, later) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z");
    let table = [
        ("q1", WaitingInput, Some("q1"), false),
        ("q1", WaitingInput, Some("q2"), true),
        ("q1", WaitingInput, None, false),
        ("q1", WaitingAuthorization, None, true),
        // A time may move by itself.
        (first, WaitingInput, Some(later), false),
        ("", WaitingInput, Some("q1"), false),
    ];
    for (asked, recovery, shown, has_it) in table {
        let mut board = given(json!({}));
        see(&mut board, &asks(asked, Some("which?")));
        let action_id = open_action(&board);
        respond(&mut board, action_id, "blue");
        let delegation = delegation(&board).expect("a delegation");
        assert_eq!(delegation.asks_another(recovery, shown), has_it, "{asked:?}, then {recovery:?} {shown:?}");
    }
}

/// What a peer asks stands in several facts of one commit, which has a bound.
#[test]
fn of_a_question_as_much_is_taken_over_as_of_every_word_of_a_peer() {
    let long = "x".repeat(1 << 20);
    for state in ["input-required", "auth-required"] {
        let mut board = given(json!({}));
        see(&mut board, &asked_of(state, Some(("q1", &long))));
        assert_eq!(board.world.state.actions[0].required.prompt.chars().count(), 2_001, "{state}: and an ellipsis");
        let bytes: usize = board.last.iter().map(|event| event.encode().expect("JSON").len()).sum();
        assert!(bytes < 32 << 10, "{state}: {bytes}");
    }
}
