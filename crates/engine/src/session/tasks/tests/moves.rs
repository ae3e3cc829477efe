//! The table of moves, walked: every status is reached by real commands, every command is given there, and each is either
//! refused with the status in the error or leads to where the table allows.

use factum_model::task::TaskStatus::{self, *};
use serde_json::{Value, json};

use super::super::moves::{may_move, moves};
use super::super::state::is_open;
use super::board::Board;

/// A task `t` that stands there.
fn reach(status: TaskStatus) -> Board {
    let mut board = Board::new();
    let queued = json!({ "status": "queued", "queue": "q" });
    let running = json!({ "status": "queued" });
    match status {
        Draft => board.task("t", json!({ "status": "draft" })),
        Accepted => board.task("t", json!({})),
        Queued => board.task("t", queued),
        Running => board.task("t", running),
        Preparing | WaitingInput | WaitingPermission | WaitingResource | Stale | Unknown => {
            board.task("t", running);
            board.ok("update_task", json!({ "task_id": "t", "status": status }));
        }
        Blocked => {
            board.task("b", json!({}));
            board.task("t", json!({ "blocked_by": ["b"] }));
        }
        Paused => {
            board.task("t", running);
            board.ok("pause_task", json!({ "task_id": "t" }));
        }
        Retrying => {
            let retry_policy = json!({ "max_attempts": 2, "backoff": {} });
            board.task("t", json!({ "status": "queued", "retry_policy": retry_policy }));
            board.ok("fail_task", json!({ "task_id": "t", "error": { "category": "bad" } }));
        }
        Cancelling => {
            board.task("t", running);
            board.ok("cancel_task", json!({ "task_id": "t" }));
        }
        Cancelled => {
            board.task("t", json!({}));
            board.ok("cancel_task", json!({ "task_id": "t" }));
        }
        TimedOut => {
            board.task("t", json!({ "status": "queued", "retry_policy": { "timeout_ms": 5 } }));
            board.pass(5);
        }
        Failed => {
            board.task("t", running);
            board.ok("fail_task", json!({ "task_id": "t", "error": { "category": "bad" } }));
        }
        Lost => {
            board.task("t", queued);
            board.claim("t");
            board.expire("t");
        }
        Completed => {
            board.task("t", running);
            board.ok("complete_task", json!({ "task_id": "t" }));
        }
        Archived => {
            board.task("t", running);
            board.ok("complete_task", json!({ "task_id": "t" }));
            board.ok("update_task", json!({ "task_id": "t", "status": "archived" }));
        }
    }
    assert_eq!(board.status("t"), status);
    board
}

/// Every command that may move a task.
fn commands() -> Vec<(&'static str, Value)> {
    let mut commands = vec![
        ("start_task", json!({})),
        ("pause_task", json!({})),
        ("resume_task", json!({})),
        ("cancel_task", json!({})),
        ("retry_task", json!({ "reason": "again" })),
        ("complete_task", json!({})),
        ("fail_task", json!({ "error": { "category": "bad" } })),
        ("append_task_progress", json!({ "percent": 1 })),
    ];
    commands.extend(TaskStatus::ALL.map(|status| ("update_task", json!({ "status": status }))));
    commands
}

#[test]
fn every_command_in_every_status_is_a_move_of_the_table_or_refused_with_the_status() {
    for from in TaskStatus::ALL {
        for (command, mut params) in commands() {
            let mut board = reach(from);
            let sequence = board.world.state.sequence;
            params["task_id"] = json!("t");
            match board.call(command, params.clone()) {
                Ok(result) => {
                    let to = board.status("t");
                    assert_eq!(result["status"], json!(to), "{command} {params}");
                    let stays = to == from && board.last.iter().all(|event| event.sequence > sequence);
                    // The invariants looked at each single step; here is where they led.
                    assert!(stays || reachable(from, to), "{command} {params}: {from:?} to {to:?}");
                }
                Err(refusal) => {
                    assert_eq!(refusal.details.get("status"), Some(&json!(from)), "{command} {params}: {refusal:?}");
                    assert_eq!(board.world.state.sequence, sequence, "{command} {params} wrote something");
                }
            }
        }
    }
}

/// Within one command a task may take several steps: a retry is `retrying` first and `running` then.
fn reachable(from: TaskStatus, to: TaskStatus) -> bool {
    may_move(from, to) || moves(from).iter().any(|between| may_move(*between, to))
}

/// What each command does where: the status it leads to, or `-` where it is refused.
#[test]
fn the_commands_lead_where_this_table_says() {
    let table: &[(&str, &[TaskStatus], Option<TaskStatus>)] = &[
        ("start_task", &[Draft, Accepted], Some(Running)),
        ("pause_task", &[Accepted, Queued, Preparing, Running, Blocked, Retrying], Some(Paused)),
        ("pause_task", &[WaitingInput, WaitingPermission, WaitingResource], Some(Paused)),
        ("resume_task", &[Paused], Some(Running)),
        ("resume_task", &[Lost], Some(Queued)),
        ("cancel_task", &[Draft, Accepted, Queued, Blocked, Retrying, Lost], Some(Cancelled)),
        ("cancel_task", &[Preparing, Running, WaitingInput, WaitingPermission, WaitingResource], Some(Cancelling)),
        ("cancel_task", &[Paused, Stale, Unknown], Some(Cancelling)),
        ("retry_task", &[Preparing, Running, WaitingInput, WaitingPermission, WaitingResource], Some(Running)),
        ("retry_task", &[Paused, Stale, Unknown, Failed, TimedOut], Some(Running)),
        ("retry_task", &[Queued, Lost], Some(Queued)),
        (
            "complete_task",
            &[Accepted, Preparing, Running, WaitingInput, WaitingPermission, WaitingResource],
            Some(Completed),
        ),
        ("complete_task", &[Stale, Unknown, Lost], Some(Completed)),
        ("complete_task", &[Cancelling], Some(Cancelled)),
        ("fail_task", &[Accepted, Queued, Preparing, Running, Blocked, Paused, Retrying], Some(Failed)),
        ("fail_task", &[WaitingInput, WaitingPermission, WaitingResource, Stale, Unknown, Lost], Some(Failed)),
        ("fail_task", &[Cancelling], Some(Cancelled)),
    ];
    for command in commands().into_iter().filter(|(command, _)| command.ends_with("_task") && *command != "update_task")
    {
        let (command, mut params) = command;
        params["task_id"] = json!("t");
        for from in TaskStatus::ALL {
            let line = table.iter().find(|(named, statuses, _)| *named == command && statuses.contains(&from));
            let mut board = reach(from);
            let result = board.call(command, params.clone()).ok().map(|_| board.status("t"));
            assert_eq!(result, line.and_then(|(_, _, to)| *to), "{command} on a task that is {from:?}");
        }
    }
}

#[test]
fn the_table_has_the_ends_the_contract_names() {
    for status in TaskStatus::ALL {
        assert!(is_open(status) || moves(status).iter().all(|to| matches!(to, Retrying | Archived)), "{status:?}");
        assert!(
            !is_open(status) || may_move(status, Cancelling) || status == Cancelling,
            "{status:?} can be cancelled"
        );
        assert!(!moves(status).contains(&Draft), "nothing becomes a draft again");
    }
    assert_eq!(moves(Archived), []);
    for to in [Queued, Running, Retrying, Failed] {
        assert!(may_move(Lost, to), "what is lost can be recovered, retried or failed");
    }
}

#[test]
fn an_absent_task_is_not_found_whatever_is_asked_of_it() {
    for (command, mut params) in commands() {
        params["task_id"] = json!("nobody");
        let refusal = Board::new().refused(command, params);
        assert_eq!(refusal, factum_model::Refusal::not_found(), "{command}");
    }
}
