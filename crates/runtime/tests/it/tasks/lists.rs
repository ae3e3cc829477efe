//! Finding tasks: by id, by page, by filter; only one's own account's.

use factum_model::ErrorCode;
use factum_model::commands::*;
use factum_model::registry::Scopes;
use factum_model::task::TaskStatus;
use factum_runtime::{Agents, Caller};
use serde_json::{Value, json};

use super::{call, call_as, code, create, get};
use crate::world::World;

/// The ids of every page, one after another.
async fn pages(world: &World, filters: Value, limit: u32) -> Vec<String> {
    let mut found = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let params = json!({ "filters": filters, "limit": limit, "cursor": cursor });
        let page = call::<ListTasks>(world, params).await.unwrap();
        assert!(page.tasks.len() <= limit as usize);
        found.extend(page.tasks.iter().map(|task| task.task_id.as_str().to_owned()));
        match page.next_cursor {
            Some(next) => cursor = next.into(),
            None => return found,
        }
    }
}

#[tokio::test]
async fn pages_hold_every_task_once_newest_first_and_by_filter() {
    let mut world = World::new().await;
    let session_id = create(&world, json!({ "task_id": "t00", "objective": "root" })).await.session_id;
    for at in 1..30 {
        world.clock.advance(std::time::Duration::from_millis(1));
        let assignee = if at % 3 == 0 { "agent://bob" } else { "agent://eve" };
        let params = json!({
            "task_id": format!("t{at:02}"),
            "objective": "x",
            "parent_task_id": "t00",
            "assignee": assignee,
            "task_kind": if at % 2 == 0 { "even" } else { "odd" },
            "visibility": if at == 29 { "hidden" } else { "background" },
        });
        create(&world, params).await;
        if at % 5 == 0 {
            call::<StartTask>(&world, json!({ "task_id": format!("t{at:02}") })).await.unwrap();
        }
    }
    for round in 0..2 {
        let expected = |keep: &dyn Fn(usize) -> bool| -> Vec<String> {
            (0..29).rev().filter(|at| keep(*at)).map(|at| format!("t{at:02}")).collect()
        };
        // (the filter, what it keeps)
        type Case<'a> = (Value, &'a dyn Fn(usize) -> bool);
        let cases: [Case<'_>; 8] = [
            (json!({}), &|_| true),
            (json!({ "session_id": session_id }), &|_| true),
            (json!({ "parent_task_id": "t00" }), &|at| at > 0),
            (json!({ "root_task_id": "t00", "task_kind": "even" }), &|at| at > 0 && at % 2 == 0),
            (json!({ "assignee": "agent://bob" }), &|at| at > 0 && at % 3 == 0),
            (json!({ "status": ["running"] }), &|at| at > 0 && at % 5 == 0),
            (json!({ "session_id": session_id, "status": ["running", "accepted"] }), &|_| true),
            (json!({ "assignee": "agent://bob", "status": ["running"] }), &|at| at > 0 && at % 15 == 0),
        ];
        for (filters, keep) in cases {
            for limit in [1, 7, 200] {
                assert_eq!(
                    pages(&world, filters.clone(), limit).await,
                    expected(keep),
                    "{filters} by {limit}, round {round}"
                );
            }
        }
        assert_eq!(pages(&world, json!({ "visibility": "hidden" }), 10).await, ["t29"]);
        world.restart(Agents::demo()).await;
    }
}

#[tokio::test]
async fn a_cursor_is_good_for_its_own_filters_and_account_only() {
    let world = World::new().await;
    for at in 0..3 {
        create(&world, json!({ "task_id": format!("t{at}"), "objective": "x" })).await;
    }
    let page = call::<ListTasks>(&world, json!({ "limit": 1 })).await.unwrap();
    let cursor = page.next_cursor.unwrap();
    let other = json!({ "filters": { "status": ["accepted"] }, "limit": 1, "cursor": cursor });
    assert_eq!(code(call::<ListTasks>(&world, other).await), ErrorCode::InvalidParams);
    let stranger = Caller::new("agent://tester", "other", Scopes::admin());
    let params = json!({ "limit": 1, "cursor": cursor });
    assert_eq!(code(call_as::<ListTasks>(&world, &stranger, params).await), ErrorCode::InvalidParams);
    for limit in [0, 201] {
        assert_eq!(code(call::<ListTasks>(&world, json!({ "limit": limit })).await), ErrorCode::InvalidParams);
    }
}

#[tokio::test]
async fn tasks_of_another_account_do_not_exist() {
    let world = World::new().await;
    create(&world, json!({ "task_id": "mine", "objective": "x" })).await;
    let stranger = Caller::new("agent://tester", "other", Scopes::admin());
    let (mine, none) = (json!({ "task_id": "mine" }), json!({ "task_id": "none" }));
    let refused = call_as::<GetTask>(&world, &stranger, mine.clone()).await.unwrap_err();
    assert_eq!(refused, call_as::<GetTask>(&world, &stranger, none.clone()).await.unwrap_err());
    let refused = call_as::<StartTask>(&world, &stranger, mine).await.unwrap_err();
    assert_eq!(refused, call_as::<StartTask>(&world, &stranger, none).await.unwrap_err());
    let below = |parent| json!({ "objective": "x", "parent_task_id": parent });
    let refused = call_as::<CreateTask>(&world, &stranger, below("mine")).await.unwrap_err();
    assert_eq!(refused, call_as::<CreateTask>(&world, &stranger, below("none")).await.unwrap_err());
    assert!(call_as::<ListTasks>(&world, &stranger, json!({})).await.unwrap().tasks.is_empty());
}

#[tokio::test]
async fn an_own_id_makes_create_task_safe_to_repeat() {
    let world = World::new().await;
    let params = json!({ "task_id": "once", "objective": "x" });
    let first = create(&world, params.clone()).await;
    assert_eq!(create(&world, params).await, first);
    let other = json!({ "task_id": "once", "objective": "y" });
    assert_eq!(code(call::<CreateTask>(&world, other).await), ErrorCode::Conflict);
    assert_eq!(pages(&world, json!({}), 10).await, ["once"]);
}

#[tokio::test]
async fn a_task_is_shown_as_it_was() {
    let world = World::new().await;
    create(&world, json!({ "task_id": "t", "objective": "x" })).await;
    let started = call::<StartTask>(&world, json!({ "task_id": "t" })).await.unwrap();
    let then = get(&world, "t").await;
    call::<FailTask>(&world, json!({ "task_id": "t", "error": { "category": "x", "message": "no" } })).await.unwrap();
    call::<RetryTask>(&world, json!({ "task_id": "t", "reason": "again" })).await.unwrap();
    let params = json!({ "task_id": "t", "as_of": started.sequence });
    assert_eq!(call::<GetTask>(&world, params).await.unwrap(), then);
    let now = get(&world, "t").await;
    let params = json!({ "task_id": "t", "as_of": now.as_of_sequence });
    assert_eq!(call::<GetTask>(&world, params).await.unwrap(), now);
    assert_eq!((now.status, now.attempts.len()), (TaskStatus::Running, 2));
    let beyond = json!({ "task_id": "t", "as_of": now.as_of_sequence + 1 });
    assert_eq!(code(call::<GetTask>(&world, beyond).await), ErrorCode::InvalidParams);
}
