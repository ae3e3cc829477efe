//! Messages as large as a body may be.

use factum_model::commands::RetryTask;

use super::*;

pub(super) const SCRIPT: &str = r#"
name = "demo"
description = "Fails at what it is told to try."

[[on]]
starts_with = "try"
steps = [{ say = "{input}", chunk = 1000 }, { error = { category = "flaky", message = "not now" } }]

[[on]]
any = true
steps = [{ say = "read" }]
"#;

#[tokio::test]
async fn a_message_may_be_as_large_as_a_body() {
    let world = World::with_script(SCRIPT).await;
    let alice = world.service("agent://alice");
    let text = "a long text. ".repeat(250_000);
    let done = task(&alice, sent(says(&text))).await;
    assert_eq!(done.status.state, TaskState::Completed);
    let again = alice.get_task(get(&done)).await.expect("a task");
    assert!(words(again.history.as_ref().and_then(|said| said.first())) == text, "it is read back whole");
}

/// Official clients say what a text is, and what is said of a part is no reason to bound the part.
#[tokio::test]
async fn parts_that_say_what_they_are_may_be_as_large() {
    let world = World::with_script(SCRIPT).await;
    let alice = world.service("agent://alice");
    let mut message = says(&"a long text. ".repeat(10_000));
    message.parts[0].media_type = Some("text/plain".to_owned());
    let done = task(&alice, sent(message.clone())).await;
    assert!(done.history.expect("a history")[0].parts == message.parts, "it is read back as it was");
}

/// What a row has no room for is read from the fact that says it.
#[tokio::test]
async fn an_agent_that_tries_again_is_given_all_of_it_again() {
    let world = World::with_script(SCRIPT).await;
    let (alice, own) = (world.service("agent://alice"), caller("agent://alice"));
    let text = format!("try {}", "and again ".repeat(10_000));
    let failed = task(&alice, sent(says(&text))).await;
    assert_eq!(failed.status.state, TaskState::Failed);
    let row = world.runtime.inbound_task(&own, PROTOCOL, &failed.id).await.expect("rows").expect("a row");
    let mut facts = world.runtime.facts(&own, &row.session_id, row.status_sequence).await.expect("facts");
    let retry: RetryTask =
        serde_json::from_value(json!({ "task_id": row.task_id, "reason": "again" })).expect("params");
    world.runtime.call(&own, retry).await.expect("tried again");
    let mut said = String::new();
    loop {
        for event in facts.next().await.expect("facts").iter() {
            match &event.fact {
                Fact::ModelDelta(fact) => said.push_str(&fact.text),
                Fact::TaskFailed(_) => {
                    assert!(said == text, "{} of {} bytes", said.len(), text.len());
                    return;
                }
                _ => {}
            }
        }
    }
}
