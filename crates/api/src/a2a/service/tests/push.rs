//! Where a client wants to be told of a task: kept without being given back, and set with the message that brings it or not at all.

use super::*;

/// Seed 004: what a client tells us in order to be told something is not told to anybody.
#[tokio::test]
async fn push_configurations_are_kept_and_their_secrets_are_not_given_back() {
    let mut world = World::new().await;
    let alice = world.service("agent://alice");
    let done = task(&alice, sent(says("hello"))).await;
    let config = |id: Option<&str>, url: &str| TaskPushNotificationConfig {
        url: url.to_owned(),
        id: id.map(str::to_owned),
        task_id: done.id.clone(),
        token: Some("tell-nobody".to_owned()),
        authentication: Some(AuthenticationInfo {
            scheme: "Bearer".to_owned(),
            credentials: Some("tell-nobody-either".to_owned()),
        }),
        tenant: None,
    };
    let make = |config| alice.create_push_config(config, TaskIs::There);
    let made = make(config(None, "https://example.com/a")).await.expect("a configuration");
    assert!(made.id.as_ref().is_some_and(|id| !id.is_empty()));
    let named = make(config(Some("mine"), "https://example.com/b")).await.expect("a configuration");
    assert_eq!(named.authentication, Some(AuthenticationInfo { scheme: "Bearer".to_owned(), credentials: None }));
    assert_eq!((named.token.as_ref(), named.url.as_str()), (None, "https://example.com/b"));
    world.restart().await;
    let alice = world.service("agent://alice");
    let get =
        |id: &str| GetTaskPushNotificationConfigRequest { task_id: done.id.clone(), id: id.to_owned(), tenant: None };
    assert_eq!(alice.get_push_config(get("mine")).await.expect("a configuration"), named);
    let list = || ListTaskPushNotificationConfigsRequest {
        task_id: done.id.clone(),
        page_size: None,
        page_token: None,
        tenant: None,
    };
    assert_eq!(alice.list_push_configs(list()).await.expect("a list").configs.len(), 2);
    let page = |page_token| ListTaskPushNotificationConfigsRequest { page_size: Some(1), page_token, ..list() };
    let first = alice.list_push_configs(page(None)).await.expect("a page");
    let second = alice.list_push_configs(page(first.next_page_token)).await.expect("a page");
    assert_eq!((first.configs.len(), second.next_page_token), (1, None));
    let paged: Vec<_> = first.configs.into_iter().chain(second.configs).collect();
    assert_eq!(paged, alice.list_push_configs(list()).await.expect("a list").configs);
    let bob = world.service("agent://bob");
    assert_eq!(code(bob.list_push_configs(list()).await), error_code::TASK_NOT_FOUND);
    let delete =
        || DeleteTaskPushNotificationConfigRequest { task_id: done.id.clone(), id: "mine".to_owned(), tenant: None };
    alice.delete_push_config(delete()).await.expect("deleted");
    alice.delete_push_config(delete()).await.expect("deleted already");
    assert_eq!(code(alice.get_push_config(get("mine")).await), error_code::TASK_NOT_FOUND);
    for bad in ["ftp://example.com", "https://10.0.0.1/", "http://example.com/"] {
        let error = alice.create_push_config(config(None, bad), TaskIs::There).await.expect_err("a refusal");
        assert_eq!((error.code, &error.message[..5]), (error_code::INVALID_PARAMS, "url: "), "{bad}");
    }
    let row = world.runtime.inbound_task(&caller("agent://alice"), PROTOCOL, &done.id).await.expect("rows");
    let read = ReadEvents { session_id: row.expect("a row").session_id, after: None, before: None, limit: Some(1_000) };
    let events = world.runtime.call(&caller("agent://alice"), read).await.expect("events").events;
    assert!(events.iter().any(|event| event.get().contains("push.config.set")));
    assert!(!events.iter().any(|event| event.get().contains("tell-nobody")), "the log has no secret");
}

/// A configuration without secrets, as a message brings it along.
fn config(id: Option<&str>, url: &str) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        url: url.to_owned(),
        id: id.map(str::to_owned),
        task_id: String::new(),
        token: None,
        authentication: None,
        tenant: None,
    }
}

fn with_push(message: Message, config: TaskPushNotificationConfig) -> Sent {
    let mut sent = at_once(message);
    let configuration = sent.request.configuration.as_mut().expect("a configuration");
    configuration.task_push_notification_config = Some(config);
    sent
}

async fn ids(service: &Service, task: &Task) -> Vec<String> {
    let task_id = task.id.clone();
    let list = ListTaskPushNotificationConfigsRequest { task_id, page_size: None, page_token: None, tenant: None };
    let configs = service.list_push_configs(list).await.expect("a list").configs;
    configs.into_iter().filter_map(|config| config.id).collect()
}

/// A client that is told no must not find out later that its message was taken.
#[tokio::test]
async fn a_message_with_a_push_configuration_that_is_refused_begins_nothing() {
    let world = World::new().await;
    let alice = world.service("agent://alice");
    let private = || with_push(says("hello"), config(None, "https://10.0.0.1/"));
    for error in [alice.send_message(private()).await.err(), alice.stream_message(private()).await.err()] {
        let error = error.expect("a refusal");
        assert_eq!(error.code, error_code::INVALID_PARAMS);
        let field = "configuration.taskPushNotificationConfig.url: ";
        assert!(error.message.starts_with(field) && error.message.contains("a private address"), "{}", error.message);
    }
    let long = "x".repeat(129);
    let scheme = AuthenticationInfo { scheme: "x".repeat(65), credentials: None };
    let schemed = TaskPushNotificationConfig { authentication: Some(scheme), ..config(None, "https://example.com/") };
    // A client of April 2025 calls the configuration like the task.
    let called = with_push(says("hello"), config(Some(&long), "https://example.com/"));
    let too_long = [
        (with_push(says("hello"), config(Some(&long), "https://example.com/")), "push_config_id_chars"),
        (Sent { own_task_id: Some(long.clone()), ..called }, "push_config_id_chars"),
        (with_push(says("hello"), schemed), "push_scheme_chars"),
    ];
    for (sent, limit) in too_long {
        let error = alice.send_message(sent).await.expect_err("a refusal");
        assert!(error.message.contains(limit), "{error:?}");
    }
    assert_eq!(alice.list_tasks(list()).await.expect("a list").total_size, 0);
    let begun = task(&alice, with_push(says("hello"), config(Some("mine"), "https://example.com/"))).await;
    assert_eq!(alice.list_tasks(list()).await.expect("a list").total_size, 1);
    assert_eq!(ids(&alice, &begun).await, ["mine"]);
}

/// A secret is a word, and what is set ahead stays in memory.
#[tokio::test]
async fn secrets_have_a_bound() {
    let world = World::new().await;
    let alice = world.service("agent://alice");
    let begun = task(&alice, sent(says("hello"))).await;
    let scheme = "Bearer".to_owned();
    for long in [false, true] {
        let secret = "s".repeat(if long { 4_097 } else { 4_096 });
        let credentials = AuthenticationInfo { scheme: scheme.clone(), credentials: Some(secret.clone()) };
        let with = |task_id: &str, authentication, token| TaskPushNotificationConfig {
            task_id: task_id.to_owned(),
            authentication,
            token,
            ..config(Some("c"), "https://example.com/")
        };
        for (authentication, token) in [(Some(credentials), None), (None, Some(secret))] {
            let wanted = |task_id: &str| with(task_id, authentication.clone(), token.clone());
            let outcomes = [
                alice.create_push_config(wanted(&begun.id), TaskIs::There).await.map(drop),
                alice.create_push_config(wanted("to come"), TaskIs::Expected).await.map(drop),
                alice.send_message(with_push(says("hello"), wanted(""))).await.map(drop),
            ];
            for outcome in outcomes {
                let refused = outcome.err().map(|error| error.message);
                assert_eq!(refused.is_some(), long, "{refused:?}");
                assert!(refused.is_none_or(|message| message.contains("push_secret_bytes")));
            }
        }
    }
}

/// The same for one that goes on with a task, which may have as many configurations as it can.
#[tokio::test]
async fn a_message_whose_configuration_is_one_too_many_answers_nothing() {
    let world = World::new().await;
    let alice = world.service("agent://alice");
    let asked = task(&alice, sent(says("ask: which colour?"))).await;
    for at in 0..16 {
        let config = config(Some(&format!("c{at:02}")), "https://example.com/");
        let config = TaskPushNotificationConfig { task_id: asked.id.clone(), ..config };
        alice.create_push_config(config, TaskIs::There).await.expect("a configuration");
    }
    for id in [Some("another"), None] {
        let answer = with_push(about(&asked, "blue"), config(id, "https://example.com/"));
        let error = alice.send_message(answer).await.expect_err("a refusal");
        assert!(error.message.contains("push_configs"), "{error:?}");
        assert_eq!(alice.get_task(get(&asked)).await.expect("a task"), asked, "it was not answered");
    }
    let answer = with_push(about(&asked, "blue"), config(Some("c07"), "https://elsewhere.example/"));
    assert_ne!(task(&alice, answer).await.status, asked.status, "one that is set anew");
    assert_eq!(ids(&alice, &asked).await.len(), 16);
}

/// The one who sends again is told at the same place, by the same secrets, or it is another message.
#[tokio::test]
async fn a_repeat_under_a_key_wants_to_be_told_as_the_first_one_did() {
    let world = World::new().await;
    let alice = world.service("agent://alice");
    let said = says("hello");
    let told = |url: &str, token: &str| {
        let config = TaskPushNotificationConfig { token: Some(token.to_owned()), ..config(Some("c"), url) };
        Sent { idempotency_key: Some("k".to_owned()), ..with_push(said.clone(), config) }
    };
    let first = task(&alice, told("https://example.com/", "secret")).await;
    assert_eq!(task(&alice, told("https://example.com/", "secret")).await.id, first.id);
    let silent = Sent { idempotency_key: Some("k".to_owned()), ..sent(said.clone()) };
    for other in [told("https://example.com/", "other"), told("https://example.com/2", "secret"), silent] {
        let refused = alice.send_message(other).await.expect_err("another message");
        assert!(refused.message.contains("idempotency key"), "{}", refused.message);
    }
}
