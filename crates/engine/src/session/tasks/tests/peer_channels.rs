//! Every fact of a channel that a delegation writes says which channel it is, by the peer's name; nothing else does, because
//! the channel of a question is the one that decides it.

use std::collections::BTreeSet;

use factum_model::peer::PeerRecovery;
use factum_model::task::TaskStatus;
use factum_model::{Event, Fact};
use serde_json::json;

use super::board::Board;
use super::peers::{given, news, open_action, respond, see, task, whole};
use crate::peers::channel_of_peer;
use crate::session::delegations::{Observed, PeerNews};

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
    see(&mut board, &Observed::Replied { text: "ten".to_owned() });
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
