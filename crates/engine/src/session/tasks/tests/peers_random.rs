//! A peer that does anything, at random, with crashes at any point: what must hold whatever happens.

use factum_model::Fact;
use factum_model::commands::RespondAction;
use factum_model::peer::PeerRecovery;
use factum_model::task::*;
use proptest::prelude::*;
use serde_json::json;

use super::board::Board;
use super::peers::{delegation, given, news, see, task, whole};
use crate::session::delegations::{Observed, PeerNews, Step, next};
use crate::session::respond_action;

#[derive(Clone, Debug)]
enum Happening {
    Seen(&'static str, u8),
    Whole(&'static str),
    Down,
    Locked,
    Missing,
    Refused,
    Untraceable,
    Answer,
    Sent,
    Declined,
    Doubted,
    Said,
    Other,
    Cancel,
    Retry,
    Pause,
    Resume,
    Pass,
    Crash,
    Snapshot,
}

fn happening() -> impl Strategy<Value = Happening> {
    let open = prop_oneof![Just("submitted"), Just("working"), Just("input-required"), Just("auth-required")];
    let ended = prop_oneof![Just("completed"), Just("failed"), Just("canceled")];
    prop_oneof![
        8 => (open, 0..3u8).prop_map(|(state, question)| Happening::Seen(state, question)),
        1 => ended.clone().prop_map(|state| Happening::Seen(state, 0)),
        1 => ended.prop_map(Happening::Whole),
        2 => Just(Happening::Down),
        1 => Just(Happening::Locked),
        1 => Just(Happening::Missing),
        1 => Just(Happening::Refused),
        1 => Just(Happening::Untraceable),
        4 => Just(Happening::Answer),
        4 => Just(Happening::Sent),
        1 => Just(Happening::Declined),
        1 => Just(Happening::Doubted),
        1 => Just(Happening::Said),
        1 => Just(Happening::Other),
        1 => Just(Happening::Cancel),
        2 => Just(Happening::Retry),
        1 => Just(Happening::Pause),
        1 => Just(Happening::Resume),
        1 => Just(Happening::Pass),
        4 => Just(Happening::Crash),
        1 => Just(Happening::Snapshot),
    ]
}

fn unavailable(recovery: PeerRecovery) -> Observed {
    Observed::Unavailable { recovery, problem: "away".to_owned(), connected: true }
}

fn happen(board: &mut Board, happening: &Happening) {
    match happening {
        Happening::Seen(state, question) => {
            let question = Some(format!("q{question}"));
            see(board, &task(PeerNews { question, message: Some("?".to_owned()), ..news(state) }));
        }
        Happening::Whole(state) => see(board, &whole(state)),
        Happening::Down => see(board, &unavailable(PeerRecovery::NetworkUnavailable)),
        Happening::Locked => see(board, &unavailable(PeerRecovery::AuthUnavailable)),
        Happening::Missing => see(board, &Observed::Missing { problem: "gone".to_owned() }),
        Happening::Refused => see(board, &Observed::Refused { problem: "no".to_owned() }),
        Happening::Untraceable => see(board, &Observed::Untraceable { problem: "where?".to_owned() }),
        Happening::Declined => see(board, &Observed::Declined { problem: "no".to_owned() }),
        Happening::Doubted => see(board, &Observed::Doubted),
        Happening::Said => see(board, &Observed::Said { text: "well".to_owned() }),
        Happening::Other => {
            // Where nothing is known yet, there is no other.
            let current = board.world.state.delegations.get(&board.attempt("t").run_id);
            if current.is_some_and(|one| one.peer_task.remote_task_id.is_some()) {
                see(board, &task(PeerNews { remote_task_id: "other".to_owned(), whole: true, ..news("completed") }));
            }
        }
        Happening::Answer => {
            let Some(action) = board.world.state.actions.first().cloned() else { return };
            let command = json!({ "action_id": action.action_id, "decision": "allow" });
            let command: RespondAction = serde_json::from_value(command).expect("params");
            board.decide(|state, context| respond_action(state, &command, context)).expect("answered");
        }
        Happening::Sent => {
            let Some(Step::Answer(answer)) = delegation(board).map(next) else { return };
            see(board, &Observed::Answered { action_id: answer.action_id, text: answer.text });
        }
        Happening::Cancel => drop(board.call("cancel_task", json!({ "task_id": "t" }))),
        Happening::Retry => drop(board.call("retry_task", json!({ "task_id": "t", "reason": "again" }))),
        Happening::Pause => drop(board.call("pause_task", json!({ "task_id": "t" }))),
        Happening::Resume => drop(board.call("resume_task", json!({ "task_id": "t" }))),
        Happening::Pass => board.pass(40_000),
        Happening::Crash => board.crash(),
        Happening::Snapshot => board.snapshot(),
    }
}

/// The peer's own word, or nothing, fails a task; and only both sides complete it.
fn check(board: &Board, happening: &Happening) {
    let said = matches!(
        happening,
        Happening::Whole(_) | Happening::Refused | Happening::Pass | Happening::Cancel | Happening::Seen(..)
    );
    for event in &board.last {
        match &event.fact {
            Fact::TaskFailed(_) => assert!(said, "{happening:?} failed the task"),
            Fact::TaskAttemptCompleted(_) => {
                assert!(matches!(happening, Happening::Whole("completed")), "{happening:?} completed the run");
            }
            // One that was put aside while the peer completed it completes when it goes on.
            Fact::TaskCompleted(_) => {
                let done = matches!(happening, Happening::Whole("completed") | Happening::Resume);
                assert!(done, "{happening:?} completed the task");
            }
            _ => {}
        }
    }
    let state = &board.world.state;
    let open = board.attempt("t");
    for delegation in state.delegations.all() {
        let current = delegation.run_id == open.run_id && open.is_open();
        assert_eq!(current, !delegation.over, "a delegation is of the run at work, or only has to be ended");
        assert!(!(delegation.over && delegation.action.is_some()), "nobody is asked for a run that is over");
        if let Some(action_id) = &delegation.action {
            assert!(state.action(action_id).is_some(), "what is asked is open");
        }
    }
    let asked = state.delegations.all().filter(|delegation| delegation.action.is_some()).count();
    assert_eq!(asked, state.actions.len(), "every open question is some peer's");
    if open.is_open() {
        assert!(state.delegations.get(&open.run_id).is_some(), "a run at a peer is seen to");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn whatever_a_peer_does_and_whenever_we_crash(happenings in prop::collection::vec(happening(), 1..40)) {
        let mut board = given(json!({ "retry_policy": { "max_attempts": 3 } }));
        let mut messages = std::collections::BTreeSet::new();
        for happening in &happenings {
            board.last.clear();
            happen(&mut board, happening);
            board.carry_on();
            check(&board, happening);
            messages.extend(board.world.state.delegations.all().map(|one| (one.run_id.clone(), one.message_id.clone())));
        }
        let runs: std::collections::BTreeSet<_> = messages.iter().map(|(run, _)| run).collect();
        prop_assert_eq!(runs.len(), messages.len(), "one message for each run, however often we crash");
        board.crash_without_a_snapshot();
        prop_assert!(!matches!(board.status("t"), TaskStatus::Unknown));
    }
}
