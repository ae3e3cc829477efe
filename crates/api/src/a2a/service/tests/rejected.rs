//! Tasks that an agent does not do at all.

use super::*;

/// An agent that says no has not failed: its client is told so, and finds the task by it.
#[tokio::test]
async fn what_an_agent_rejects_is_rejected_and_not_failed() {
    let script = r#"
name = "demo"
description = "Does nothing."

[[on]]
starts_with = "reject"
steps = [{ error = { category = "rejected", message = "not done here" } }]

[[on]]
any = true
steps = [{ error = { message = "broken" } }]
"#;
    let world = World::with_script(script).await;
    let alice = world.service("agent://alice");
    let rejected = task(&alice, sent(says("reject this"))).await;
    let failed = task(&alice, sent(says("do this"))).await;
    assert_eq!((&rejected.status.state, &failed.status.state), (&TaskState::Rejected, &TaskState::Failed));
    let said = rejected.status.message.as_ref().and_then(|message| message.text().map(str::to_owned));
    assert_eq!(said.as_deref(), Some("not done here"));
    assert_eq!(alice.get_task(get(&rejected)).await.expect("a task").status.state, TaskState::Rejected);
    for (status, id) in [(TaskState::Rejected, &rejected.id), (TaskState::Failed, &failed.id)] {
        let page = alice.list_tasks(ListTasksRequest { status: Some(status), ..list() }).await.expect("a page");
        let ids: Vec<&String> = page.tasks.iter().map(|task| &task.id).collect();
        assert_eq!((ids, page.total_size), (vec![id], 1));
    }
    assert_eq!(alice.list_tasks(list()).await.expect("a page").total_size, 2);
}
