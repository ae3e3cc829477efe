//! Every fact of a channel that a delegation writes says which channel it is, by the peer's name; nothing else does, because
//! the channel of a question is the one that decides it.

use std::collections::BTreeSet;

use factum_model::peer::PeerRecovery;
use factum_model::task::TaskStatus;
use factum_model::{ErrorCode, Event, Fact};
use serde_json::json;

use super::board::Board;
use super::peers::{given, news, open_action, respond, see, task, whole};
use crate::Through;
use crate::peers::channel_of_peer;
use crate::session::delegations::{Observed, PeerNews};
use crate::session::{CHANNEL_SCOPED, open_questions, respond_action};

/// Looks at the last commit, and gives the facts of channels in it.
fn checked(board: &Board) -> Vec<&'static str> {
    let channel = channel_of_peer("a2a", "north");
    assert!(channel.is_some());
    let of_channel = |event: &&Event| event.fact.type_name().starts_with("channel.");
    for event in &board.last {
        let expected = if of_channel(&event) { channel.clone() } else { None };
        assert_eq!(event.scope.channel_id, expected, "{}", event.fact.type_name());
    }
    board.last.iter().filter(of_channel).map(|event| event.fact.type_name()).collect()
}

#[test]
fn facts_of_a_channel_name_it_and_others_do_not() {
    let mut seen: BTreeSet<&'static str> = BTreeSet::new();
    let away = Observed::Unavailable {
        recovery: PeerRecovery::NetworkUnavailable,
        problem: "down".to_owned(),
        connected: true,
    };
    let declined = Observed::Declined { problem: "no".to_owned() };

    let mut board = given(json!({}));
    seen.extend(checked(&board));
    for observed in [task(news("working")), away, task(news("auth-required"))] {
        see(&mut board, &observed);
        seen.extend(checked(&board));
    }
    let action_id = open_action(&board);
    respond(&mut board, action_id.clone(), "allow");
    seen.extend(checked(&board));
    board.crash();
    seen.extend(checked(&board));
    see(&mut board, &Observed::Answered { action_id, text: "yes".to_owned() });
    seen.extend(checked(&board));
    see(&mut board, &whole("completed"));
    seen.extend(checked(&board));
    assert_eq!(board.status("t"), TaskStatus::Completed);
    let expected = [
        "channel.disconnected",
        "channel.message",
        "channel.peer_task.linked",
        "channel.peer_task.updated",
        "channel.permission_forwarded",
        "channel.permission_returned",
        "channel.resumed",
    ];
    assert_eq!(seen, BTreeSet::from(expected));

    let mut board = given(json!({}));
    see(&mut board, &task(PeerNews { question: Some("q".to_owned()), ..news("input-required") }));
    let action_id = open_action(&board);
    respond(&mut board, action_id, "answer");
    see(&mut board, &declined);
    assert_eq!(checked(&board), ["channel.message"], "an answer that is not taken");

    let mut board = given(json!({}));
    see(&mut board, &Observed::Replied { text: "ten".to_owned(), artifacts: Vec::new() });
    assert_eq!(checked(&board), ["channel.message", "channel.peer_task.updated"]);
}

/// What a peer asks is answered by people here, as before.
#[test]
fn a_question_of_a_peer_is_bound_to_no_channel() {
    let mut board = given(json!({}));
    see(&mut board, &task(news("auth-required")));
    let required = board.last.iter().find(|event| matches!(event.fact, Fact::ActionRequired(_)));
    assert_eq!(required.expect("a question").scope.channel_id, None);
    assert_eq!(board.world.state.actions[0].decided_through, None);
}

/// Seed 000: what a peer asks in a channel's own work is that channel's to decide, as with anything else that the work asks for.
#[test]
fn an_authorization_in_a_task_that_a_channel_started_is_the_channel_s_to_decide() {
    let mine = Through { channel_id: "v1".parse().expect("an id"), decides: true };
    for decides in [true, false] {
        let mut board = Board::new();
        board.world.through = Some(Through { decides, ..mine.clone() });
        board.task("t", json!({ "peer": "north", "auto_complete": true }));
        board.ok("start_task", json!({ "task_id": "t" }));
        board.world.through = None;
        board.crash_without_a_snapshot();
        see(&mut board, &task(news("input-required")));
        assert_eq!(board.world.state.actions[0].decided_through, None, "anybody answers a question");
        see(&mut board, &task(news("auth-required")));
        let bound = decides.then(|| mine.channel_id.clone());
        assert_eq!(board.world.state.actions[0].decided_through, bound);
        let command = factum_model::commands::RespondAction {
            action_id: open_action(&board),
            decision: "allow".to_owned(),
            payload: None,
            idempotency_key: None,
        };
        let elsewhere = board.decide(|state, context| respond_action(state, &command, context));
        let refused = elsewhere.err().map(|refusal| (refusal.code, refusal.details["cause"].clone()));
        assert_eq!(refused, decides.then(|| (ErrorCode::PermissionDenied, json!(CHANNEL_SCOPED))));
        if decides {
            board.world.through = Some(mine.clone());
            board.decide(|state, context| respond_action(state, &command, context)).expect("through the channel");
        }
    }
}

/// Every place that says who asks, and for what, says the same.
#[test]
fn a_channel_is_told_of_the_peer_and_its_task() {
    let mut board = given(json!({}));
    let tool = crate::session::delegations::Terms { tool_name: Some("open".to_owned()), ..Default::default() };
    see(&mut board, &task(PeerNews { terms: tool, message: Some("May I?".to_owned()), ..news("auth-required") }));
    let forwarded = board.last.iter().find_map(|event| match &event.fact {
        Fact::ChannelPermissionForwarded(fact) => Some(fact),
        _ => None,
    });
    let forwarded = forwarded.expect("forwarded");
    let (question, _) = open_questions(&board.world.state).remove(0);
    assert_eq!((&question.requesting_peer, &question.subject), (&forwarded.requesting_peer, &forwarded.subject));
    assert_eq!(question.requesting_peer, "peer:north");
    let run_id = board.attempt("t").run_id;
    let (_, bridged) = crate::peers::given_to_peer(&board.world.state, &run_id).expect("a run");
    assert_eq!(bridged.expect("a question").subject, forwarded.subject);
}
