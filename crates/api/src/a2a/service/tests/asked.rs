//! Several questions of one task at once: what is shown is what an answer is taken for, wherever it is looked at.

use super::*;

const TWO_TOOLS: &str = r#"
name = "demo"
[[on]]
any = true
steps = [
  { tools = [{ name = "delete_production", approval = true, save = "one" }, { name = "read_readme", approval = true, save = "two" }] },
  { say = "{one.outcome} {two.outcome}" },
]
"#;

const QUESTION_AND_TOOL: &str = r#"
name = "demo"
[[on]]
any = true
steps = [{ tools = [{ ask = "Which?", save = "which" }, { name = "deploy", approval = true, save = "deploy" }] }, { say = "{which}: {deploy.outcome}" }]
"#;

/// What a task shows: its state, the words, and the action.
fn asked(task: &Task) -> (TaskState, String, String) {
    let message = task.status.message.as_ref().expect("a question");
    let action_id = message.metadata.as_ref().expect("annotations")["action_id"].as_str().expect("an id");
    (task.status.state.clone(), words(Some(message)).to_owned(), action_id.to_owned())
}

/// The same in every view there is.
async fn shown(service: &Service, task: &Task) -> (TaskState, String, String) {
    let now = service.get_task(get(task)).await.expect("a task");
    let of_state = ListTasksRequest { status: Some(now.status.state.clone()), ..list() };
    let listed = service.list_tasks(of_state).await.expect("a list").tasks;
    let request = SubscribeToTaskRequest { id: task.id.clone(), tenant: None };
    let first = service.subscribe(request, None).await.expect("a stream").next().await.expect("an item").expect("it");
    let StreamResponse::Task(snapshot) = first.response else { panic!("{first:?}") };
    let views: Vec<_> = listed.iter().chain([&snapshot]).map(asked).collect();
    assert_eq!(views, [asked(&now), asked(&now)]);
    asked(&now)
}

fn decided(task: &Task, decision: &str, action_id: &str) -> Message {
    let data = Part::data(json!({ "decision": decision, "action_id": action_id }));
    Message { task_id: Some(task.id.clone()), ..Message::new(Role::User, vec![data]) }
}

/// Nobody approves something else than what they were shown.
#[tokio::test]
async fn an_approval_is_for_what_was_shown() {
    let world = World::with_script(TWO_TOOLS).await;
    let alice = world.service("agent://alice");
    let begun = task(&alice, sent(says("go"))).await;
    let first = shown(&alice, &begun).await;
    assert_eq!((asked(&begun), first.1.contains("delete_production")), (first.clone(), true), "{first:?}");
    let second = task(&alice, sent(about(&begun, "deny"))).await;
    assert_eq!(shown(&alice, &begun).await, asked(&second));
    assert!(asked(&second).1.contains("read_readme"));
    let late = alice.send_message(sent(decided(&begun, "allow", &first.2))).await.expect_err("it was decided");
    assert!(late.message.contains("made already"), "{}", late.message);
    let done = task(&alice, sent(about(&begun, "allow"))).await;
    assert_eq!(
        (done.status.state.clone(), artifact_texts(&done)),
        (TaskState::Completed, vec!["denied succeeded".to_owned()])
    );
}

#[tokio::test]
async fn a_question_that_was_asked_first_is_answered_first() {
    let world = World::with_script(QUESTION_AND_TOOL).await;
    let alice = world.service("agent://alice");
    let begun = task(&alice, sent(says("go"))).await;
    let (state, text, _) = shown(&alice, &begun).await;
    assert_eq!((state, text.as_str()), (TaskState::InputRequired, "Which?"));
    let next = task(&alice, sent(about(&begun, "allow"))).await;
    let (state, text, action_id) = shown(&alice, &begun).await;
    assert_eq!((&state, asked(&next)), (&TaskState::AuthRequired, (state.clone(), text, action_id.clone())));
    // Beside the words, for a client that has nothing but words to say.
    let mut answer = about(&begun, "allow");
    answer.metadata = Some([("action_id".to_owned(), json!(action_id))].into());
    let done = task(&alice, sent(answer)).await;
    assert_eq!(artifact_texts(&done), ["allow: succeeded"]);
}

/// One thing that is asked is decided by a word, as ever.
#[tokio::test]
async fn a_word_is_enough_where_only_one_thing_was_asked() {
    let world = World::new().await;
    let alice = world.service("agent://alice");
    let begun = task(&alice, sent(says("approve: deploy"))).await;
    let (state, _, action_id) = shown(&alice, &begun).await;
    let parts = &begun.status.message.as_ref().expect("a question").parts;
    let data = parts.iter().find_map(|part| serde_json::to_value(part).ok()?.get("data").cloned()).expect("data");
    assert_eq!((state, &data["action_id"]), (TaskState::AuthRequired, &json!(action_id)));
    assert_eq!(task(&alice, sent(about(&begun, "allow"))).await.status.state, TaskState::Completed);
}
