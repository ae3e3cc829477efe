//! The same key gives the same answer, the same key with other content is a conflict and writes nothing.

use factum_model::ErrorCode;
use factum_model::commands::{CreateSession, ListSessions, SubmitTurn};
use factum_model::id::SessionId;
use factum_model::registry::Scopes;
use factum_model::value::Status;
use factum_runtime::{Agents, Caller};
use futures::future::join_all;

use crate::world::{World, turn};

fn keyed(text: &str, key: Option<&str>, turn_id: Option<&str>) -> SubmitTurn {
    let mut command = turn(text);
    command.idempotency_key = key.map(str::to_owned);
    command.turn_id = turn_id.map(|id| id.parse().unwrap());
    command
}

async fn sessions(world: &World) -> usize {
    let list = ListSessions { limit: None, cursor: None };
    world.runtime.call(&world.caller, list).await.unwrap().sessions.len()
}

#[tokio::test]
async fn repeats_by_key_and_by_turn_id() {
    let world = World::new().await;
    for command in
        [keyed("a", Some("k"), None), keyed("b", None, Some("turn-b")), keyed("c", Some("k2"), Some("turn-c"))]
    {
        let first = world.runtime.call(&world.caller, command.clone()).await.unwrap();
        let again = world.runtime.call(&world.caller, command.clone()).await.unwrap();
        assert_eq!(first, again);
        let mut other = command;
        other.input = turn("something else").input;
        let refused = world.runtime.call(&world.caller, other).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Conflict);
    }
    assert_eq!(sessions(&world).await, 3);
}

#[tokio::test]
async fn a_hundred_at_once_write_once() {
    let world = World::new().await;
    let calls = (0..100).map(|_| world.runtime.call(&world.caller, keyed("hello", Some("same"), None)));
    let answers: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert_eq!(sessions(&world).await, 1);
}

#[tokio::test]
async fn keys_belong_to_their_principal_and_account() {
    let world = World::new().await;
    let first = world.runtime.call(&world.caller, keyed("a", Some("k"), None)).await.unwrap();
    for (principal, account) in [("agent://other", "acme"), ("agent://tester", "elsewhere")] {
        let caller = Caller::new(principal, account, Scopes::member());
        let theirs = world.runtime.call(&caller, keyed("different", Some("k"), None)).await.unwrap();
        assert_ne!(theirs.session_id, first.session_id);
    }
}

#[tokio::test]
async fn an_own_session_id_is_taken_once_in_an_account() {
    let world = World::new().await;
    let create = || CreateSession {
        session_id: Some("mine".parse().unwrap()),
        title: None,
        agent: None,
        metadata: Default::default(),
        idempotency_key: None,
    };
    let calls = (0..20).map(|_| world.runtime.call(&world.caller, create()));
    let outcomes = join_all(calls).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    let refused = outcomes.into_iter().filter_map(Result::err).all(|refusal| refusal.code == ErrorCode::Conflict);
    assert!(refused);
    let elsewhere = Caller::new("agent://tester", "elsewhere", Scopes::member());
    world.runtime.call(&elsewhere, create()).await.unwrap();
}

#[tokio::test]
async fn a_turn_id_is_for_one_turn_of_its_session_also_when_that_is_over() {
    let world = World::new().await;
    let mine = world.runtime.call(&world.caller, keyed("one", None, Some("mine"))).await.unwrap();
    let (session_id, made) = (mine.session_id, world.submit("another session").await.unwrap());
    let other = Caller::new("agent://other", "acme", Scopes::member());
    let into = |session_id: &SessionId, turn_id: &str| SubmitTurn {
        session_id: Some(session_id.clone()),
        ..keyed("two", None, Some(turn_id))
    };
    for (session_id, turn_id) in [(&session_id, "mine"), (&made.session_id, made.turn_id.as_str())] {
        world.until(session_id, Status::Completed).await;
        for caller in [&world.caller, &other] {
            let refused = world.runtime.call(caller, into(session_id, turn_id)).await.unwrap_err();
            assert_eq!(refused.code, ErrorCode::Conflict, "{turn_id} {}", caller.principal);
        }
    }
    // Ids are the sessions' own.
    world.runtime.call(&world.caller, into(&made.session_id, "mine")).await.unwrap();
    let again = world.runtime.call(&other, into(&made.session_id, "mine")).await.unwrap_err();
    assert_eq!(again.code, ErrorCode::Conflict, "while it runs, too");
}

/// A command that is known by its id is known by the key it came with from then on.
#[tokio::test]
async fn a_key_that_comes_with_a_repeat_is_bound_as_well() {
    let mut world = World::new().await;
    let first = world.runtime.call(&world.caller, keyed("a", None, Some("b1"))).await.unwrap();
    let again = world.runtime.call(&world.caller, keyed("a", Some("k"), Some("b1"))).await.unwrap();
    assert_eq!(again, first);
    for restarted in [false, true] {
        let other = world.runtime.call(&world.caller, keyed("b", Some("k"), Some("b2"))).await.unwrap_err();
        assert_eq!(other.code, ErrorCode::Conflict, "restarted: {restarted}");
        assert_eq!(world.runtime.call(&world.caller, keyed("a", Some("k"), Some("b1"))).await.unwrap(), first);
        world.restart(Agents::demo()).await;
    }
    assert_eq!(sessions(&world).await, 1);
}

#[tokio::test]
async fn bad_keys_are_refused() {
    let world = World::new().await;
    for (key, code) in [
        (String::new(), ErrorCode::InvalidParams),
        ("@turn/x".to_owned(), ErrorCode::InvalidParams),
        ("a\nb".to_owned(), ErrorCode::InvalidParams),
        ("x".repeat(129), ErrorCode::LimitExceeded),
    ] {
        let refused = world.runtime.call(&world.caller, keyed("a", Some(&key), None)).await.unwrap_err();
        assert_eq!(refused.code, code, "{key:?}");
    }
}
