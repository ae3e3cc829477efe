//! Where a client of April 2025 wants to be told of a task that it has not sent yet (seed 004).

use super::*;

fn wanted(task_id: &str, url: &str) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        url: url.to_owned(),
        id: Some(task_id.to_owned()),
        task_id: task_id.to_owned(),
        token: Some("the token".to_owned()),
        authentication: Some(AuthenticationInfo { scheme: "bearer".to_owned(), credentials: None }),
        tenant: None,
    }
}

/// The addresses that a task has, as its client reads them.
async fn urls(service: &Service, task_id: &str) -> Result<Vec<String>, A2AError> {
    let request = ListTaskPushNotificationConfigsRequest {
        task_id: task_id.to_owned(),
        page_size: None,
        page_token: None,
        tenant: None,
    };
    let configs = service.list_push_configs(request).await?.configs;
    assert!(configs.iter().all(|config| config.token.is_none()), "secrets are not given back");
    Ok(configs.into_iter().map(|config| config.url).collect())
}

fn named(id: &str, text: &str) -> Sent {
    Sent { own_task_id: Some(id.to_owned()), ..sent(says(text)) }
}

#[tokio::test]
async fn what_is_set_first_is_the_tasks_once_it_is_sent() {
    let mut world = World::new().await;
    let alice = world.service("agent://alice");
    let (first, then) = ("https://one.example/hook", "https://two.example/hook");
    let set = alice.create_push_config(wanted("mine", first), TaskIs::Expected).await.expect("set");
    assert_eq!((set.task_id.as_str(), set.url.as_str(), set.token), ("mine", first, None));
    alice.create_push_config(wanted("mine", then), TaskIs::Expected).await.expect("set anew");
    assert_eq!(urls(&alice, "mine").await.expect("configurations"), [then]);

    // It is nobody else's, of no other agent, and no task.
    let missing = |error: Option<A2AError>| assert_eq!(error.map(|error| error.code), Some(error_code::TASK_NOT_FOUND));
    missing(urls(&world.service("agent://bob"), "mine").await.err());
    let waiting = Service::on(&world.runtime, &caller("agent://alice"), "waiting", true);
    missing(urls(&waiting, "mine").await.err());
    let get = GetTaskRequest { id: "mine".to_owned(), history_length: None, tenant: None };
    missing(alice.get_task(get).await.err());
    missing(alice.create_push_config(wanted("other", first), TaskIs::There).await.err());

    world.restart().await;
    let alice = world.service("agent://alice");
    let done = task(&alice, named("mine", "hello")).await;
    assert_eq!((done.id.as_str(), &done.status.state), ("mine", &TaskState::Completed));
    assert_eq!(urls(&alice, "mine").await.expect("configurations"), [then]);
    // From now on it is a configuration like any other.
    alice.create_push_config(wanted("mine", first), TaskIs::Expected).await.expect("set again");
    assert_eq!(urls(&alice, "mine").await.expect("configurations"), [first]);
    let delete =
        DeleteTaskPushNotificationConfigRequest { task_id: "mine".to_owned(), id: "mine".to_owned(), tenant: None };
    alice.delete_push_config(delete).await.expect("deleted");
    assert_eq!(urls(&alice, "mine").await.expect("configurations"), Vec::<String>::new());
}

/// Setting and sending at the same moment: whichever comes first, the task has it.
#[tokio::test]
async fn setting_and_sending_at_once_loses_nothing() {
    let world = World::new().await;
    let alice = world.service("agent://alice");
    for at in 0..20 {
        let id = format!("race-{at}");
        let set = alice.create_push_config(wanted(&id, "https://example.com/"), TaskIs::Expected);
        let (set, done) = tokio::join!(set, alice.send_message(named(&id, "hello")));
        set.expect("set");
        done.expect("sent");
        assert_eq!(urls(&alice, &id).await.expect("configurations"), ["https://example.com/"], "{id}");
    }
}

/// Its agent answers with a plain message, and a client of April 2025 knows tasks alone: it gets the task it named.
#[tokio::test]
async fn who_names_its_tasks_gets_them_also_from_an_agent_that_answers_with_messages() {
    let script = r#"
name = "demo"
description = "Greets."

[[on]]
any = true
reply = "message"
steps = [{ say = "hello yourself" }]
"#;
    let world = World::with_script(script).await;
    let alice = world.service("agent://alice");
    let done = task(&alice, named("mine", "hello")).await;
    assert_eq!((done.id.as_str(), &done.status.state), ("mine", &TaskState::Completed));
    assert_eq!(artifact_texts(&done), ["hello yourself"]);
    let mut stream = alice.stream_message(named("another", "hello")).await.expect("a stream");
    let first = stream.next().await.expect("an update").expect("an update").response;
    let StreamResponse::Task(first) = first else { panic!("not the task: {first:?}") };
    assert_eq!(first.id, "another");
    let plain = alice.send_message(sent(says("hello"))).await.expect("an answer");
    assert!(matches!(plain, SendMessageResponse::Message(_)), "{plain:?}");
}
