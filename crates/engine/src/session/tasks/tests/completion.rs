//! Completion: refused with a list while anything is missing, and by itself only where the owner said so beforehand.

use factum_model::report::{Report, Runner};
use factum_model::task::TaskStatus::*;
use factum_model::task::*;
use serde_json::{Value, json};

use super::board::Board;
use crate::session::decide_report;
use crate::session::tests::world::{gated, model_answer, model_requested};

fn acceptance() -> Value {
    json!({
        "criteria": [{ "criterion_id": "builds" }, { "criterion_id": "tested" }],
        "required_artifacts": ["report.md"],
        "required_evidence": ["review"],
    })
}

fn missing(board: &mut Board, params: Value) -> Vec<String> {
    let refusal = board.refused("complete_task", params);
    let list = refusal.details["missing"].as_array().cloned().expect("a list");
    list.iter()
        .map(|one| {
            let name = ["name", "criterion_id", "task_id", "run_id"].iter().find_map(|field| one.get(*field));
            format!("{} {}", one["kind"].as_str().expect("a kind"), name.and_then(Value::as_str).expect("a name"))
        })
        .collect()
}

#[test]
fn a_refusal_lists_everything_that_is_missing() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "queue": "q", "acceptance": acceptance() }));
    board.task("c", json!({ "parent_task_id": "t" }));
    board.claim("t");
    let run = format!("run {}", board.attempt("t").run_id);
    let all = ["artifact report.md", "evidence review", "criterion builds", "criterion tested", "child c", &run];
    assert_eq!(missing(&mut board, json!({ "task_id": "t" })), all);
    let told = json!({
        "task_id": "t",
        "artifacts": ["report.md"],
        "evidence_refs": ["review:42"],
        "criteria": [{ "criterion_id": "builds", "state": "met" }, { "criterion_id": "tested", "state": "unmet" }],
    });
    assert_eq!(missing(&mut board, told), ["criterion tested", "child c", &run]);
    assert_eq!(
        missing(&mut board, json!({ "task_id": "t" })),
        all,
        "what was said with a refused completion is not kept"
    );
}

#[test]
fn it_completes_once_nothing_is_missing() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "acceptance": acceptance() }));
    board.task("c", json!({ "parent_task_id": "t" }));
    board.ok("link_tasks", json!({ "from": "t", "to": "report.md", "relationship": "produced_artifact" }));
    board.ok("cancel_task", json!({ "task_id": "c" }));
    board.ok(
        "complete_task",
        json!({
            "task_id": "t",
            "summary": "done",
            "evidence_refs": ["review/1"],
            "output_refs": ["out:1"],
            "criteria": [{ "criterion_id": "builds", "state": "met" }, { "criterion_id": "tested", "state": "waived" }],
        }),
    );
    let row = board.known("t");
    assert_eq!((row.status, row.status_reason.as_deref()), (Completed, Some("done")));
    assert_eq!((row.artifacts, row.evidence_refs), (vec!["report.md".to_owned()], vec!["review/1".to_owned()]));
    let states: Vec<_> = row.acceptance.expect("criteria").criteria.iter().map(|one| one.state).collect();
    assert_eq!(states, [CriterionState::Met, CriterionState::Waived]);
    let attempt = row.attempt.expect("an attempt");
    assert_eq!((attempt.status, attempt.output_refs), (AttemptStatus::Completed, vec!["out:1".to_owned()]));
}

#[test]
fn evidence_of_another_kind_does_not_count() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "acceptance": { "required_evidence": ["review"] } }));
    let told = json!({ "task_id": "t", "evidence_refs": ["reviewed:1", "preview/1"] });
    assert_eq!(missing(&mut board, told), ["evidence review"]);
}

#[test]
fn a_run_that_completes_completes_nothing_by_itself() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "queue": "q" }));
    let token = board.claim("t");
    let result = board.work("complete_run", "t", token, json!({ "summary": "all green" })).expect("accepted");
    assert_eq!((result["status"].clone(), result["task_status"].clone()), (json!("completed"), json!("waiting_input")));
    assert_eq!(board.attempt("t").completion_summary.as_deref(), Some("all green"));
    board.ok("complete_task", json!({ "task_id": "t" }));
    assert_eq!(board.status("t"), Completed);
}

#[test]
fn a_run_completes_its_task_where_that_was_said_and_nothing_is_missing() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "queue": "q", "auto_complete": true, "acceptance": acceptance() }));
    let token = board.claim("t");
    let done = json!({
        "artifacts": ["report.md"],
        "evidence_refs": ["review"],
        "criteria": [{ "criterion_id": "builds", "state": "met" }],
    });
    board.work("complete_run", "t", token, done).expect("accepted");
    assert_eq!(board.status("t"), WaitingInput, "a criterion is open");
    let criteria = json!([{ "criterion_id": "tested", "state": "met" }]);
    board.ok("update_task", json!({ "task_id": "t", "acceptance": { "criteria": criteria } }));
    assert_eq!(board.status("t"), Completed);
    assert!(board.edge_row("t", Relationship::ProducedArtifact, "report.md").is_some());
}

#[test]
fn a_parent_completes_by_itself_with_the_last_of_its_children() {
    let mut board = Board::new();
    board.task("p", json!({ "status": "queued", "queue": "q", "auto_complete": true }));
    board.task("a", json!({ "parent_task_id": "p", "status": "queued" }));
    board.task("b", json!({ "parent_task_id": "p", "status": "queued" }));
    board.task("under", json!({ "parent_task_id": "b", "status": "queued" }));
    let token = board.claim("p");
    board.work("complete_run", "p", token, json!({})).expect("accepted");
    board.ok("complete_task", json!({ "task_id": "a" }));
    assert_eq!((board.status("p"), board.known("a").delivery_state), (WaitingInput, DeliveryState::Delivered));
    board.ok("fail_task", json!({ "task_id": "b", "error": { "category": "bad" } }));
    assert_eq!(board.status("p"), WaitingInput, "below the one that failed something is still open");
    board.ok("complete_task", json!({ "task_id": "under" }));
    assert_eq!((board.status("p"), board.known("under").delivery_state), (Completed, DeliveryState::ParentMissing));
}

#[test]
fn a_parent_completes_by_itself_when_its_last_open_child_is_unlinked() {
    let mut board = Board::new();
    board.task("p", json!({ "status": "queued", "queue": "q", "auto_complete": true }));
    board.task("c", json!({ "parent_task_id": "p" }));
    let token = board.claim("p");
    board.work("complete_run", "p", token, json!({})).expect("accepted");
    board.ok("unlink_tasks", json!({ "from": "p", "to": "c", "relationship": "parent" }));
    assert_eq!(board.statuses(&["p", "c"]), [Completed, Accepted]);
}

#[test]
fn progress_is_kept_and_merged() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued" }));
    let first = json!({
        "task_id": "t", "percent": 10, "phase": "working", "counters": { "files": 1 },
        "output_refs": [{ "output_ref": "out:1", "offset": 5 }],
    });
    board.ok("append_task_progress", first);
    let second = json!({
        "task_id": "t", "percent": 20, "counters": { "tests": 2 }, "delivery_state": "queued",
        "output_refs": [{ "output_ref": "out:1", "offset": 9 }],
    });
    board.ok("append_task_progress", second);
    let row = board.known("t");
    let progress = row.progress.expect("progress");
    assert_eq!((progress.percent, progress.counters.len(), row.delivery_state), (Some(20), 2, DeliveryState::Queued));
    assert_eq!((progress.output_refs.len(), progress.output_refs[0].offset), (1, 9));
    board.refused("append_task_progress", json!({ "task_id": "t", "percent": 101 }));
    board.ok("complete_task", json!({ "task_id": "t" }));
    let refusal = board.refused("append_task_progress", json!({ "task_id": "t", "percent": 99 }));
    assert_eq!(refusal.details["status"], json!("completed"));
}

#[test]
fn an_open_action_is_in_the_way_too() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "agent": "demo" }));
    let attempt = board.attempt("t");
    let runner = Runner {
        thread_id: attempt.thread_id.expect("a thread"),
        turn_id: attempt.turn_id.expect("a turn"),
        attempt: 1,
    };
    board.decide(|state, context| decide_report(state, &runner, model_requested(), context)).expect("accepted");
    let thread = board.world.state.thread(&runner.thread_id).expect("a thread");
    let request = thread.active.as_ref().and_then(|turn| turn.model_request.clone()).expect("a request");
    let (request_id, step_id, answer) = (request.request_id, request.step_id, model_answer(vec![gated("rm")]));
    let report = Report::ModelCompleted { request_id, step_id, answer };
    board.decide(|state, context| decide_report(state, &runner, report, context)).expect("accepted");
    let kinds = |board: &mut Board, params| {
        let refusal = board.refused("complete_task", params);
        let list = refusal.details["missing"].as_array().cloned().expect("a list");
        list.iter().map(|one| one["kind"].as_str().expect("a kind").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&mut board, json!({ "task_id": "t" })), ["action", "run"]);
    let by_run = json!({ "task_id": "t", "run_id": attempt.run_id });
    assert_eq!(kinds(&mut board, by_run), ["action"], "whoever does it cannot complete it over a question either");
}

#[test]
fn an_artifact_that_a_worker_reports_is_there_until_it_is_deleted() {
    let mut board = Board::new();
    let acceptance = json!({ "required_artifacts": ["report.md"] });
    board.task("t", json!({ "status": "queued", "queue": "q", "auto_complete": true, "acceptance": acceptance }));
    let token = board.claim("t");
    for (change, known) in [("created", 1), ("updated", 1), ("deleted", 0), ("created", 1)] {
        let payload = json!({ "name": "report.md", "change": change, "version": 1 });
        let fact = json!({ "type": "artifact.changed", "payload": payload, "artifact_id": "art_1" });
        board.work("report_run", "t", token, json!({ "facts": [fact] })).expect("accepted");
        assert_eq!(board.known("t").artifacts.len(), known, "{change}");
    }
    board.work("complete_run", "t", token, json!({})).expect("accepted");
    assert_eq!(board.status("t"), Completed);
}

/// What a task needs is said by its acceptance, not by whoever completes it.
#[test]
fn only_the_task_s_own_criteria_are_told_and_each_once() {
    let mut board = Board::new();
    let acceptance = json!({ "criteria": [{ "criterion_id": "builds" }] });
    board.task("t", json!({ "status": "queued", "queue": "q", "acceptance": acceptance }));
    let token = board.claim("t");
    let run_id = board.attempt("t").run_id;
    for (criteria, expected) in [(["builds", "builds"], "named twice"), (["builds", "shines"], "no such criterion")] {
        let told = criteria.map(|id| json!({ "criterion_id": id, "state": "met" }));
        let commands = [
            ("complete_task", json!({ "task_id": "t", "run_id": run_id, "lease_token": token, "criteria": told })),
            ("complete_run", json!({ "run_id": run_id, "lease_token": token, "criteria": told })),
        ];
        for (command, params) in commands {
            board.world.caller = super::board::WORKER;
            let refusal = board.refused(command, params);
            assert!(refusal.message.contains(expected), "{command}: {refusal:?}");
        }
    }
}

#[test]
fn a_run_that_was_enough_completes_a_task_that_was_said_to_be_blocked() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "queue": "q", "auto_complete": true }));
    let token = board.claim("t");
    board.ok("update_task", json!({ "task_id": "t", "status": "blocked" }));
    board.work("complete_run", "t", token, json!({})).expect("accepted");
    assert_eq!(board.status("t"), TaskStatus::Completed);
}
