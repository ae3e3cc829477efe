//! Tasks that an agent elsewhere does: what is recorded before it is told, what each thing seen there means, and that
//! nothing but the peer's own word fails one.

use factum_model::commands::RespondAction;
use factum_model::events::{ActionType, ResolutionSource};
use factum_model::id::ActionId;
use factum_model::peer::{DeliveryMechanism, Direction, PeerRecovery, Side};
use factum_model::permission::Verdict;
use factum_model::task::*;
use factum_model::value::OutputRef;
use factum_model::{Event, Fact};
use serde_json::{Value, json};

use super::board::Board;
use crate::session::delegations::{Delegation, Observed, PeerArtifact, PeerNews, Step, Terms, next};
use crate::session::{Effect, effects, respond_action, tasks};

pub(super) fn given(params: Value) -> Board {
    let mut board = Board::new();
    let mut task = json!({ "peer": "north", "auto_complete": true });
    task.as_object_mut().expect("params").extend(params.as_object().cloned().unwrap_or_default());
    board.task("t", task);
    board.ok("start_task", json!({ "task_id": "t" }));
    board
}

pub(super) fn see(board: &mut Board, observed: &Observed) {
    let run_id = board.attempt("t").run_id;
    board.decide(|state, context| tasks::observe_peer(state, &run_id, observed, context)).expect("seen");
}

pub(in crate::session::tasks) fn news(state: &str) -> PeerNews {
    let (status, recovery) = match state {
        "submitted" => (TaskStatus::Queued, PeerRecovery::Idle),
        "working" => (TaskStatus::Running, PeerRecovery::Running),
        "input-required" => (TaskStatus::WaitingInput, PeerRecovery::WaitingInput),
        "auth-required" => (TaskStatus::WaitingPermission, PeerRecovery::WaitingAuthorization),
        "completed" => (TaskStatus::Completed, PeerRecovery::CompletedUnreconciled),
        "failed" => (TaskStatus::Failed, PeerRecovery::CompletedUnreconciled),
        "canceled" => (TaskStatus::Cancelled, PeerRecovery::CompletedUnreconciled),
        other => panic!("{other}"),
    };
    PeerNews {
        remote_task_id: "r1".to_owned(),
        remote_context_id: Some("c1".to_owned()),
        status,
        native_status: state.to_owned(),
        recovery,
        delivery: DeliveryMechanism::Streaming,
        agent_card_ref: None,
        message: None,
        question: None,
        terms: Terms::default(),
        artifacts: Vec::new(),
        whole: false,
    }
}

pub(in crate::session::tasks) fn task(news: PeerNews) -> Observed {
    Observed::Task(Box::new(news))
}

pub(super) fn whole(state: &str) -> Observed {
    task(PeerNews { whole: true, ..news(state) })
}

fn artifact(remote_id: &str, name: &str, digest: &str) -> PeerArtifact {
    let content = OutputRef {
        r#ref: format!("blob:{digest}"),
        owner: None,
        media_type: "text/plain".to_owned(),
        encoding: None,
        size: Some(1),
        digest: Some(digest.to_owned()),
        preview: None,
        preview_dropped: 0,
        redacted: false,
        expires_at: None,
    };
    PeerArtifact { remote_id: remote_id.to_owned(), name: Some(name.to_owned()), content: Some(content) }
}

pub(super) fn delegation(board: &Board) -> Option<&Delegation> {
    board.world.state.delegations.all().next()
}

fn known(board: &Board) -> &Delegation {
    delegation(board).expect("a delegation")
}

fn types(board: &Board) -> Vec<&'static str> {
    board.last.iter().map(|event| event.fact.type_name()).collect()
}

fn facts<'a>(board: &'a Board, name: &'a str) -> impl Iterator<Item = &'a Event> {
    board.last.iter().filter(move |event| event.fact.type_name() == name)
}

pub(super) fn open_action(board: &Board) -> ActionId {
    board.world.state.actions.first().expect("an action").action_id.clone()
}

pub(super) fn respond(board: &mut Board, action_id: ActionId, decision: &str) {
    let command = RespondAction { action_id, decision: decision.to_owned(), payload: None, ..respond_default() };
    board.decide(|state, context| respond_action(state, &command, context)).expect("answered");
}

fn respond_default() -> RespondAction {
    serde_json::from_value(json!({ "action_id": "a", "decision": "d" })).expect("params")
}

#[test]
fn the_intent_and_the_message_s_id_are_recorded_before_anything_is_sent() {
    for params in [json!({}), json!({ "peer": null, "assignee": "peer:north" })] {
        let board = given(params);
        let delegation = known(&board);
        assert_eq!(delegation.peer, "north");
        assert!(delegation.message_id.starts_with("msg_"), "{}", delegation.message_id);
        assert_eq!(delegation.peer_task.remote_task_id, None);
        assert_eq!(board.attempt("t").worker.as_deref(), Some("peer:north"));
        assert_eq!(board.status("t"), TaskStatus::Running);
        let linked = facts(&board, "channel.peer_task.linked").next().expect("a link");
        let Fact::ChannelPeerTaskLinked(fact) = &linked.fact else { panic!() };
        assert_eq!((fact.direction, linked.scope.run_id.as_ref()), (Direction::Outbound, Some(&delegation.run_id)));
        let expected = Effect::Delegate { run_id: delegation.run_id.clone(), fresh: true };
        assert_eq!(effects(linked), Some(expected));
        assert_eq!(next(delegation), Step::Give);
    }
    let mut board = Board::new();
    board.task("t", json!({}));
    board.ok("start_task", json!({ "task_id": "t", "worker": "peer:north" }));
    assert_eq!(known(&board).peer, "north", "a worker may be a peer too");
}

#[test]
fn a_peer_is_named_alone_and_jobs_are_not_given_to_peers() {
    let mut board = Board::new();
    for params in [json!({ "queue": "q" }), json!({ "agent": "demo" }), json!({ "peer": "no spaces" })] {
        let mut task = json!({ "task_id": "t", "peer": "north" });
        task.as_object_mut().expect("params").extend(params.as_object().cloned().expect("params"));
        board.refused("create_task", task);
    }
}

/// Seed 000: six states after a gap, none of which is failed.
#[test]
fn every_state_of_a_peer_s_task_is_told_apart_and_none_fails_ours() {
    let unavailable = |recovery| Observed::Unavailable { recovery, problem: "down".to_owned(), connected: true };
    let table = [
        (task(news("working")), PeerRecovery::Running, TaskStatus::Running),
        (task(news("submitted")), PeerRecovery::Idle, TaskStatus::Running),
        (task(news("input-required")), PeerRecovery::WaitingInput, TaskStatus::WaitingInput),
        (task(news("auth-required")), PeerRecovery::WaitingAuthorization, TaskStatus::WaitingPermission),
        (task(news("completed")), PeerRecovery::CompletedUnreconciled, TaskStatus::Running),
        (unavailable(PeerRecovery::NetworkUnavailable), PeerRecovery::NetworkUnavailable, TaskStatus::Running),
        (unavailable(PeerRecovery::AuthUnavailable), PeerRecovery::AuthUnavailable, TaskStatus::Running),
    ];
    for (observed, recovery, status) in table {
        let mut board = given(json!({}));
        see(&mut board, &observed);
        assert_eq!((known(&board).peer_task.recovery, board.status("t")), (recovery, status), "{observed:?}");
        see(&mut board, &observed);
        assert!(board.last.is_empty(), "seen twice is told once: {observed:?}");
        board.crash();
        let after = known(&board).peer_task.recovery;
        let expected = if recovery == PeerRecovery::CompletedUnreconciled { recovery } else { PeerRecovery::Unknown };
        assert_eq!((after, board.status("t")), (expected, status), "after a restart: {observed:?}");
        let run_id = known(&board).run_id.clone();
        let woken: Vec<Effect> = board.last.iter().filter_map(effects).collect();
        assert!(woken.contains(&Effect::Delegate { run_id, fresh: false }), "{observed:?}");
    }
    let mut board = given(json!({}));
    see(&mut board, &task(news("working")));
    see(&mut board, &Observed::Missing { problem: "no such task".to_owned() });
    assert_eq!((board.status("t"), delegation(&board)), (TaskStatus::Lost, None));
    let updated = facts(&board, "channel.peer_task.updated").next().expect("an update");
    let Fact::ChannelPeerTaskUpdated(fact) = &updated.fact else { panic!() };
    assert_eq!(fact.peer_task.recovery, PeerRecovery::Missing);
}

#[test]
fn a_task_completes_once_the_peer_is_done_and_what_it_made_is_here() {
    let mut board = given(json!({ "acceptance": { "required_artifacts": ["report"] } }));
    see(&mut board, &task(news("working")));
    see(&mut board, &task(news("completed")));
    assert_eq!(board.status("t"), TaskStatus::Running, "the peer is done, we are not");
    assert_eq!(next(known(&board)), Step::Reconcile);
    let artifacts = vec![artifact("a1", "report", "sha256:1"), artifact("a2", "report", "sha256:2")];
    let message = Some("all done".to_owned());
    see(&mut board, &task(PeerNews { whole: true, artifacts, message, ..news("completed") }));
    assert_eq!((board.status("t"), delegation(&board)), (TaskStatus::Completed, None));
    let row = board.known("t");
    assert_eq!(row.native_status.as_deref(), Some("completed"));
    assert_eq!(row.artifacts.len(), 2, "{:?}", row.artifacts);
    for name in &row.artifacts {
        assert!(board.edge_row("t", Relationship::ProducedArtifact, name).is_some(), "{name}");
    }
    let observed: Vec<&Event> = facts(&board, "artifact.changed").collect();
    assert_eq!(observed.len(), 2);
    assert_eq!(observed[0].refs["remote_artifact_id"], json!("a1"));
    assert_eq!(board.attempt("t").output_refs, ["blob:sha256:1", "blob:sha256:2"]);
    let recoveries: Vec<PeerRecovery> = board
        .last
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::ChannelPeerTaskUpdated(fact) => Some(fact.peer_task.recovery),
            _ => None,
        })
        .collect();
    assert_eq!(recoveries.last(), Some(&PeerRecovery::Reconciled));
}

#[test]
fn an_artifact_that_is_seen_again_is_taken_in_once_and_a_new_version_of_it_counts_on() {
    let mut board = given(json!({}));
    let seen = |digest: &str| task(PeerNews { artifacts: vec![artifact("a1", "report", digest)], ..news("working") });
    see(&mut board, &seen("sha256:1"));
    see(&mut board, &seen("sha256:1"));
    assert!(board.last.is_empty(), "{:?}", types(&board));
    see(&mut board, &seen("sha256:2"));
    let Fact::ArtifactChanged(fact) = &facts(&board, "artifact.changed").next().expect("a change").fact else {
        panic!()
    };
    assert_eq!((fact.version, fact.name.as_deref()), (2, Some("report")));
    assert_eq!(facts(&board, "task.dependency.updated").count(), 0, "the edge is there already");
}

#[test]
fn what_the_peer_s_end_is_our_run_s_end_is() {
    let table = [
        ("completed", TaskStatus::Completed, AttemptStatus::Completed),
        ("failed", TaskStatus::Failed, AttemptStatus::Failed),
        ("canceled", TaskStatus::Cancelled, AttemptStatus::Cancelled),
    ];
    for (state, status, attempt) in table {
        let mut board = given(json!({}));
        see(&mut board, &whole(state));
        assert_eq!((board.status("t"), board.attempt("t").status), (status, attempt), "{state}");
        assert_eq!(delegation(&board), None);
    }
    let mut board = given(json!({}));
    see(&mut board, &Observed::Replied { text: "42".to_owned(), artifacts: Vec::new() });
    assert_eq!(board.status("t"), TaskStatus::Completed);
    assert_eq!(board.attempt("t").completion_summary.as_deref(), Some("42"));
    let mut board = given(json!({}));
    see(&mut board, &Observed::Refused { problem: "not my trade".to_owned() });
    assert_eq!((board.status("t"), delegation(&board)), (TaskStatus::Failed, None));
}

/// Nobody can ask for a message again: what its words do not say is the run's output, and the task's artifact.
#[test]
fn what_a_message_holds_besides_its_words_is_kept() {
    let preview = |text: &str| {
        let mut artifact = artifact("message:m/0", "numbers", "sha256:1");
        artifact.content.as_mut().expect("content").preview = Some(text.to_owned());
        artifact
    };
    let long = "x".repeat(5_000);
    for (text, summary) in
        [("see the numbers", "see the numbers"), ("", "[42]"), (&long, &format!("{}…", &long[..2_000]))]
    {
        let mut board = given(json!({}));
        see(&mut board, &Observed::Replied { text: text.to_owned(), artifacts: vec![preview("[42]")] });
        let attempt = board.attempt("t");
        assert_eq!((board.status("t"), attempt.completion_summary.as_deref()), (TaskStatus::Completed, Some(summary)));
        assert_eq!(attempt.output_refs, ["blob:sha256:1"]);
        assert_eq!(facts(&board, "artifact.changed").count(), 1);
        assert_eq!(facts(&board, "task.dependency.updated").count(), 1);
        let said = facts(&board, "channel.message").next().expect("a message");
        let said = serde_json::to_value(said).expect("an event");
        let parts = said["payload"]["parts"].as_array().expect("parts");
        assert_eq!(parts.last(), Some(&json!({ "type": "ref", "ref": "blob:sha256:1" })), "{parts:?}");
    }
}

#[test]
fn whether_a_send_arrived_is_not_guessed() {
    let mut board = given(json!({ "retry_policy": { "max_attempts": 5 } }));
    see(&mut board, &Observed::Untraceable { problem: "no answer".to_owned() });
    assert_eq!((board.status("t"), delegation(&board)), (TaskStatus::Lost, None), "a person is asked");
    board.ok("retry_task", json!({ "task_id": "t", "reason": "it is not there" }));
    assert_eq!(board.attempt("t").attempt_count, 2);
    assert_eq!(next(known(&board)), Step::Give, "another run, another message");
}

#[test]
fn a_question_of_the_peer_is_asked_here_once_and_its_answer_waits_until_the_peer_has_it() {
    let mut board = given(json!({}));
    let question = || PeerNews {
        message: Some("which colour?".to_owned()),
        question: Some("q1".to_owned()),
        ..news("input-required")
    };
    see(&mut board, &task(question()));
    let action = board.world.state.actions[0].clone();
    assert_eq!((action.required.action_type, action.required.prompt.as_str()), (ActionType::Input, "which colour?"));
    assert_eq!(board.status("t"), TaskStatus::WaitingInput);
    assert_eq!(next(known(&board)), Step::Follow, "the peer may change its mind meanwhile");
    respond(&mut board, action.action_id.clone(), "blue");
    assert_eq!(effects(board.last.last().expect("a fact")), Some(Effect::WakeDelegates));
    board.crash();
    let Step::Answer(answer) = next(known(&board)) else { panic!("{:?}", next(known(&board))) };
    assert_eq!((answer.text.as_str(), &answer.action_id), ("blue", &action.action_id));
    see(&mut board, &task(question()));
    assert_eq!(board.world.state.actions.len(), 0, "it was asked and answered");
    see(&mut board, &Observed::Answered { action_id: action.action_id, text: "blue".to_owned() });
    assert_eq!(next(known(&board)), Step::Follow);
    see(&mut board, &task(question()));
    assert_eq!(board.world.state.actions.len(), 0, "an old sight of the same question");
    see(&mut board, &task(news("working")));
    assert_eq!(board.status("t"), TaskStatus::Running);
    see(&mut board, &task(PeerNews { question: Some("q2".to_owned()), ..question() }));
    assert_eq!(board.world.state.actions.len(), 1, "another question");
    see(&mut board, &whole("completed"));
    assert_eq!((board.world.state.actions.len(), board.status("t")), (0, TaskStatus::Completed));
}

/// What a peer does is complete when the peer says so and everything is here, not before.
#[test]
fn nobody_completes_what_a_peer_is_at() {
    for state in ["working", "input-required", "auth-required"] {
        let mut board = given(json!({}));
        let question = (state != "working").then(|| "q1".to_owned());
        see(&mut board, &task(PeerNews { question, ..news(state) }));
        let run_id = board.attempt("t").run_id;
        for params in [json!({ "task_id": "t" }), json!({ "task_id": "t", "run_id": run_id })] {
            let refusal = board.call("complete_task", params).expect_err("refused");
            let missing = refusal.details["missing"].as_array().cloned().unwrap_or_default();
            let kinds: Vec<&str> = missing.iter().filter_map(|missing| missing["kind"].as_str()).collect();
            let expected: &[&str] = if state == "working" { &["run"] } else { &["action", "run"] };
            assert_eq!(kinds, expected, "{state}");
        }
        let refusal = board.call("update_task", json!({ "task_id": "t", "status": "stale" })).expect_err("refused");
        assert!(refusal.message.contains("its peer says"), "{refusal:?}");
    }
}

/// Seed 000: what is asked across a channel comes back across it, also where nobody decides any more.
#[test]
fn a_permission_that_is_not_asked_any_more_comes_back_undecided() {
    for (at_the_peer, side) in [(true, Side::Remote), (false, Side::Local)] {
        let mut board = given(json!({}));
        see(&mut board, &task(PeerNews { question: Some("q1".to_owned()), ..news("auth-required") }));
        if at_the_peer {
            see(&mut board, &task(news("working")));
        } else {
            board.ok("cancel_task", json!({ "task_id": "t" }));
            board.pass(i64::try_from(board.world.limits.task_cancel_grace_ms).expect("a short time"));
        }
        let returned = board.last.iter().find_map(|event| match &event.fact {
            Fact::ChannelPermissionReturned(fact) => Some((fact.decision, fact.decided_on, fact.source)),
            _ => None,
        });
        assert_eq!(returned, Some((Verdict::Unavailable, side, ResolutionSource::Superseded)));
    }
}

#[test]
fn an_answer_that_the_peer_does_not_take_is_asked_for_again() {
    let mut board = given(json!({}));
    let question = PeerNews { question: Some("q1".to_owned()), ..news("input-required") };
    see(&mut board, &task(question.clone()));
    let first = open_action(&board);
    respond(&mut board, first.clone(), "blue");
    see(&mut board, &Observed::Declined { problem: "that is no colour".to_owned() });
    assert!(types(&board).contains(&"runtime.warning"));
    assert_eq!(next(known(&board)), Step::Follow, "it is not offered again by itself");
    see(&mut board, &task(question));
    assert_ne!(open_action(&board), first);
}

/// The run is over here, and the peer does not stop: it is not said to be done with until it is.
#[test]
fn a_peer_that_does_not_stop_is_not_reconciled_until_it_ends() {
    let mut board = given(json!({}));
    see(&mut board, &task(news("working")));
    board.ok("fail_task", json!({ "task_id": "t", "error": { "category": "x", "message": "enough" } }));
    let run_id = known(&board).run_id.clone();
    let observe = |board: &mut Board, observed: &Observed| {
        board.decide(|state, context| tasks::observe_peer(state, &run_id, observed, context)).expect("seen");
    };
    observe(&mut board, &Observed::Declined { problem: "no".to_owned() });
    assert_eq!(types(&board), ["runtime.warning"]);
    assert_eq!((known(&board).peer_task.recovery, next(known(&board))), (PeerRecovery::Running, Step::Cancel));
    board.crash();
    observe(&mut board, &whole("completed"));
    assert_eq!((delegation(&board), board.status("t")), (None, TaskStatus::Failed));
}

/// What was to be sent is what is sent, until the peer has it.
#[test]
fn the_words_of_a_link_are_those_of_then() {
    let mut board = given(json!({ "objective": "count to ten" }));
    board.ok("update_task", json!({ "task_id": "t", "objective": "count to a hundred" }));
    assert_eq!(known(&board).text, "count to ten");
    board.crash();
    assert_eq!(known(&board).text, "count to ten");
    see(&mut board, &task(news("working")));
    assert_eq!(known(&board).text, "", "nobody needs them any more");
    see(&mut board, &Observed::Missing { problem: "gone".to_owned() });
    board.ok("retry_task", json!({ "task_id": "t", "reason": "again" }));
    assert_eq!(known(&board).text, "count to a hundred", "another run is another message");
}

/// Seed 000, "Remote permission bridge": five facts.
#[test]
fn an_authorization_crosses_the_channel_with_its_five_facts() {
    for (word, verdict) in [("allow", Verdict::Allow), ("deny", Verdict::Deny)] {
        let mut board = given(json!({}));
        see(&mut board, &task(PeerNews { message: Some("may I?".to_owned()), ..news("auth-required") }));
        for name in ["action.required", "permission.requested", "channel.permission_forwarded", "task.waiting"] {
            assert_eq!(facts(&board, name).count(), 1, "{name}");
        }
        let forwarded = facts(&board, "channel.permission_forwarded").next().expect("a fact");
        let Fact::ChannelPermissionForwarded(fact) = &forwarded.fact else { panic!() };
        assert_eq!((fact.requesting_peer.as_str(), fact.subject.name.as_str()), ("peer:north", "r1"));
        assert!(fact.channel_scoped);
        assert_eq!(board.status("t"), TaskStatus::WaitingPermission);
        let action_id = open_action(&board);
        respond(&mut board, action_id.clone(), word);
        let returned = facts(&board, "channel.permission_returned").next().expect("a fact");
        let Fact::ChannelPermissionReturned(fact) = &returned.fact else { panic!() };
        assert_eq!(
            (fact.requesting_peer.as_str(), fact.decision, fact.decided_on),
            ("peer:north", verdict, Side::Local)
        );
        assert_eq!((fact.source, fact.channel_scoped), (ResolutionSource::Response, true));
        assert_eq!(returned.scope.action_id, Some(action_id));
        let Step::Answer(answer) = next(known(&board)) else { panic!() };
        assert_eq!(answer.decision, word);
    }
}

#[test]
fn a_cancelled_task_settles_when_the_peer_does() {
    let mut board = given(json!({}));
    see(&mut board, &task(PeerNews { message: Some("?".to_owned()), ..news("input-required") }));
    board.ok("cancel_task", json!({ "task_id": "t" }));
    assert!(board.last.iter().filter_map(effects).any(|effect| effect == Effect::WakeDelegates));
    assert_eq!((board.status("t"), next(known(&board))), (TaskStatus::Cancelling, Step::Cancel));
    see(&mut board, &whole("canceled"));
    assert_eq!((board.status("t"), delegation(&board)), (TaskStatus::Cancelled, None));
    assert_eq!(board.world.state.actions.len(), 0, "nobody has to answer any more");

    let mut board = given(json!({}));
    board.ok("cancel_task", json!({ "task_id": "t" }));
    see(&mut board, &Observed::NotSent);
    assert_eq!((board.status("t"), delegation(&board)), (TaskStatus::Cancelled, None));
}

/// A run that ends here for another reason does not leave the peer at work for nobody.
#[test]
fn a_peer_that_is_still_at_it_hears_of_the_end_even_after_a_restart() {
    let ends: [fn(&mut Board); 3] = [
        |board| {
            drop(board.ok("fail_task", json!({ "task_id": "t", "error": { "category": "x", "message": "enough" } })))
        },
        |board| {
            board.ok("cancel_task", json!({ "task_id": "t" }));
            board.pass(60_000);
        },
        |board| drop(board.ok("retry_task", json!({ "task_id": "t", "reason": "again" }))),
    ];
    for (number, end) in ends.into_iter().enumerate() {
        let mut board = given(json!({}));
        see(&mut board, &task(PeerNews { message: Some("?".to_owned()), ..news("input-required") }));
        let run_id = board.attempt("t").run_id;
        end(&mut board);
        board.crash();
        let old = board.world.state.delegations.get(&run_id).expect("still to be told").clone();
        assert_eq!((old.over, next(&old)), (true, Step::Cancel), "{number}");
        assert!(old.action.is_none(), "{number}: nobody has to answer any more");
        let status = board.status("t");
        let ended = whole("canceled");
        board.decide(|state, context| tasks::observe_peer(state, &run_id, &ended, context)).expect("seen");
        assert!(board.world.state.delegations.get(&run_id).is_none(), "{number}");
        assert_eq!(board.status("t"), status, "{number}: what is over stays as it is");
    }
}

/// The run ends between the news that the peer is done and what it made.
#[test]
fn a_peer_that_was_done_first_is_reconciled_all_the_same() {
    let ends: [fn(&mut Board); 2] = [
        |board| drop(board.ok("fail_task", json!({ "task_id": "t", "error": { "category": "x" } }))),
        |board| {
            board.ok("cancel_task", json!({ "task_id": "t" }));
            board.pass(60_000);
        },
    ];
    for (number, end) in ends.into_iter().enumerate() {
        let mut board = given(json!({}));
        see(&mut board, &task(news("completed")));
        end(&mut board);
        let status = board.status("t");
        board.crash();
        assert_eq!((known(&board).over, next(known(&board))), (true, Step::Reconcile), "{number}");
        see(&mut board, &whole("completed"));
        let updated = facts(&board, "channel.peer_task.updated").last().expect("an update");
        let Fact::ChannelPeerTaskUpdated(fact) = &updated.fact else { panic!() };
        assert_eq!(fact.peer_task.recovery, PeerRecovery::Reconciled, "{number}");
        assert_eq!((delegation(&board), board.status("t")), (None, status), "{number}: what is over stays as it is");
    }
}

#[test]
fn a_connection_that_breaks_is_said_and_so_is_its_return() {
    let mut board = given(json!({}));
    see(&mut board, &task(news("working")));
    let down = Observed::Unavailable {
        recovery: PeerRecovery::NetworkUnavailable,
        problem: "reset".to_owned(),
        connected: true,
    };
    see(&mut board, &down);
    assert_eq!(types(&board), ["channel.disconnected", "channel.peer_task.updated"]);
    assert_eq!(board.status("t"), TaskStatus::Running, "a connection is no task");
    see(&mut board, &task(news("working")));
    assert_eq!(types(&board), ["channel.resumed", "channel.peer_task.updated"]);
}

/// What a peer says of another task, by mistake or not, is no word about ours.
#[test]
fn news_of_another_task_change_nothing() {
    let mut board = given(json!({}));
    see(&mut board, &task(news("working")));
    let ours = known(&board).clone();
    let artifacts = vec![artifact("a1", "secret", "sha256:1")];
    for state in ["working", "input-required", "completed", "failed"] {
        let other =
            PeerNews { remote_task_id: "r2".to_owned(), artifacts: artifacts.clone(), whole: true, ..news(state) };
        board.last.clear();
        see(&mut board, &task(other));
        assert_eq!((board.last.as_slice(), known(&board)), (&[][..], &ours), "{state}");
    }
    see(&mut board, &task(PeerNews { remote_context_id: Some("c2".to_owned()), ..news("working") }));
    assert_eq!(known(&board).peer_task.remote_context_id.as_deref(), Some("c1"), "a context does not move either");
}

#[test]
fn of_two_artifacts_with_one_id_the_last_is_kept_and_told_once() {
    let mut board = given(json!({}));
    let artifacts = vec![artifact("a1", "report", "sha256:1"), artifact("a1", "report", "sha256:2")];
    let twice = task(PeerNews { artifacts, ..news("working") });
    see(&mut board, &twice);
    let changed: Vec<&Event> = facts(&board, "artifact.changed").collect();
    let Fact::ArtifactChanged(fact) = &changed[0].fact else { panic!() };
    assert_eq!((changed.len(), fact.content.as_ref().and_then(|it| it.digest.as_deref())), (1, Some("sha256:2")));
    board.last.clear();
    see(&mut board, &twice);
    assert!(board.last.is_empty(), "{:?}", types(&board));
}

/// The ids stand in each fact about the peer's task; those of what is taken in stand in its own facts, too.
#[test]
fn a_fact_about_a_peer_s_task_does_not_grow_with_what_the_peer_makes() {
    let mut board = given(json!({}));
    for made in 1..=100 {
        let name = format!("a{made}");
        see(&mut board, &task(PeerNews { artifacts: vec![artifact(&name, &name, &name)], ..news("working") }));
        assert_eq!(facts(&board, "artifact.changed").count(), 1, "{name}");
    }
    assert_eq!(known(&board).peer_task.remote_artifact_refs.len(), 32);
}
