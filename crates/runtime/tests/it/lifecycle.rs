//! Turns from beginning to end, across restarts, timers and sessions that leave memory.

use std::sync::Arc;
use std::time::Duration;

use factum_agent::script::Script;
use factum_model::commands::{GetSession, ReadEvents, RespondAction, SubmitTurn};
use factum_model::registry::Scopes;
use factum_model::value::Status;
use factum_model::{ErrorCode, Event, Fact, Trace};
use factum_runtime::{Agents, Caller, Published};
use factum_store::{ReadLimit, Store};

use crate::counting::Counting;
use crate::world::{TestClock, World, start, turn};

const TIMEOUTS: &str = r#"
name = "timeouts"

[[on]]
starts_with = "deny"
steps = [
  { tool = { name = "deploy", approval = true, timeout_ms = 60000, on_timeout = "deny", result = "done" } },
  { say = "after" },
]

[[on]]
any = true
steps = [{ tool = { name = "deploy", approval = true, timeout_ms = 60000, on_timeout = "cancel", result = "done" } }]
"#;

fn timeouts() -> Agents {
    Agents::from_scripts(vec![Script::parse("timeouts.toml", TIMEOUTS).unwrap()]).unwrap()
}

#[tokio::test]
async fn an_approval_survives_a_crash() {
    let mut world = World::new().await;
    let session_id = world.submit("approve: ship it").await.unwrap().session_id;
    let waiting = world.until(&session_id, Status::WaitingPermission).await;
    world.restart(Agents::demo()).await;
    let after = world.thread(&session_id).await;
    assert_eq!(after, waiting, "a turn that only waits needs no repair");
    let action_id = after.pending_actions[0].action_id.clone();
    let answer = RespondAction { action_id, decision: "allow".to_owned(), payload: None, idempotency_key: None };
    world.runtime.call(&world.caller, answer.clone()).await.unwrap();
    let done = world.until(&session_id, Status::Completed).await;
    assert!(done.last_outcome.unwrap().preview.unwrap().contains("ship it"));
    let refused = world.runtime.call(&world.caller, answer).await.unwrap_err();
    assert_eq!(refused.details["decision"], "allow");
}

#[tokio::test]
async fn a_turn_that_was_running_is_carried_on() {
    let mut world = World::new().await;
    let mut command = turn("hello");
    command.agent = Some("waiting".to_owned());
    let session_id = world.runtime.call(&world.caller, command).await.unwrap().session_id;
    // The model was asked, and never answers.
    let mut subscription = world.runtime.subscribe(&world.caller, &session_id, 4).await.unwrap();
    subscription.next().await.unwrap();
    world.restart(Agents::demo()).await;
    let thread = world.until(&session_id, Status::Running).await;
    assert_eq!(thread.active_turn.unwrap().attempt, 2);
}

/// What happened while it waited is not its own, and may be much.
#[tokio::test]
async fn a_turn_that_waited_costs_no_more_than_one_that_did_not() {
    const TURNS: usize = 40;
    let (dir, clock, store) =
        (tempfile::tempdir().unwrap(), TestClock::at(1_800_000_000_000), Arc::new(Counting::default()));
    let runtime = start(store.clone(), &clock, Agents::demo(), dir.path()).await;
    let caller = Caller::new("agent://tester", "acme", Scopes::admin());
    let session_id = runtime.call(&caller, turn("ask: shall I?")).await.unwrap().session_id;
    let mut subscription = runtime.subscribe(&caller, &session_id, 0).await.unwrap();
    let mut action_id = None;
    while action_id.is_none() {
        let events = subscription.next().await.unwrap();
        action_id = events.iter().find_map(|event| Event::decode(&event.json).unwrap().scope.action_id);
    }
    for _ in 0..TURNS {
        let submit = SubmitTurn { session_id: Some(session_id.clone()), ..turn("hello") };
        runtime.call(&caller, submit).await.unwrap();
    }
    store.take();
    let (decision, payload) = ("answer".to_owned(), Some(serde_json::json!({ "text": "yes" })));
    let answer = RespondAction { action_id: action_id.unwrap(), decision, payload, idempotency_key: None };
    runtime.call(&caller, answer).await.unwrap();
    let mut completed = 0;
    while completed <= TURNS {
        let events = subscription.next().await.unwrap();
        let ends = |event: &&Arc<Published>| matches!(Event::decode(&event.json).unwrap().fact, Fact::TurnCompleted(_));
        completed += events.iter().filter(ends).count();
    }
    let read = store.take();
    assert!(read <= TURNS * 20, "{read} records were read for {TURNS} turns");
}

#[tokio::test]
async fn timers_fire_late_rather_than_never() {
    let mut world = World::with_agents(timeouts()).await;
    let denied = world.submit("deny me").await.unwrap().session_id;
    let cancelled = world.submit("cancel me").await.unwrap().session_id;
    world.until(&denied, Status::WaitingPermission).await;
    world.until(&cancelled, Status::WaitingPermission).await;
    // The time runs out while nobody runs.
    world.clock.advance(Duration::from_secs(61));
    world.restart(timeouts()).await;
    let thread = world.until(&denied, Status::Completed).await;
    assert_eq!(thread.last_outcome.unwrap().preview.as_deref(), Some("after"));
    world.until(&cancelled, Status::TimedOut).await;
}

#[tokio::test]
async fn an_idle_session_leaves_memory_and_comes_back() {
    let world = World::new().await;
    let session_id = world.submit("hello").await.unwrap().session_id;
    let before = world.until(&session_id, Status::Completed).await;
    assert_eq!(world.runtime.sessions_in_memory(), 1);
    world.clock.advance(Duration::from_secs(3_600));
    // The sweep runs on tokio's clock. It stands still from here only: before, the store's own thread would be outrun.
    tokio::time::pause();
    while world.runtime.sessions_in_memory() > 0 {
        tokio::time::advance(Duration::from_secs(5)).await;
        tokio::task::yield_now().await;
    }
    tokio::time::resume();
    assert_eq!(world.thread(&session_id).await, before);
}

#[tokio::test]
async fn so_many_sessions_stay_in_memory_and_the_others_are_read_again() {
    const STAY: usize = 20;
    let mut world = World::with_agents(Agents::demo()).await;
    world.restart_with(|options| options.shell.sessions_at_rest_max = STAY).await;
    let mut sessions = Vec::new();
    for at in 0..3 * STAY {
        let session_id = world.submit(&format!("hello {at}")).await.unwrap().session_id;
        let thread = world.until(&session_id, Status::Completed).await;
        sessions.push((session_id, thread));
    }
    assert!(world.runtime.sessions_in_memory() <= STAY, "{}", world.runtime.sessions_in_memory());
    // One that waits for somebody has no work either.
    let waiting = world.submit("ask: what?").await.unwrap().session_id;
    world.until(&waiting, Status::WaitingInput).await;
    for (session_id, before) in &sessions {
        assert_eq!(world.thread(session_id).await, *before);
        let submit = SubmitTurn { session_id: Some(session_id.clone()), ..turn("more") };
        world.runtime.call(&world.caller, submit).await.unwrap();
        let after = world.until(session_id, Status::Completed).await;
        assert_eq!(after.last_outcome.unwrap().preview.as_deref(), Some("more"));
    }
    assert!(world.runtime.sessions_in_memory() <= STAY, "{}", world.runtime.sessions_in_memory());
    assert_eq!(world.thread(&waiting).await.status, Status::WaitingInput);
}

/// Short ones are read again in no time, so only some of them stay; they push out none of those that take longer.
#[tokio::test]
async fn short_sessions_make_room_for_each_other_and_long_ones_stay() {
    const SHORT_STAY: usize = 64;
    const LONG: usize = 3;
    let mut world = World::with_agents(Agents::demo()).await;
    world.restart_with(|options| options.shell.sessions_at_rest_max = 200).await;
    for _ in 0..LONG {
        let session_id = world.submit("hello").await.unwrap().session_id;
        for _ in 0..6 {
            world.until(&session_id, Status::Completed).await;
            let submit = SubmitTurn { session_id: Some(session_id.clone()), ..turn("more") };
            world.runtime.call(&world.caller, submit).await.unwrap();
        }
        world.until(&session_id, Status::Completed).await;
    }
    assert_eq!(world.runtime.sessions_in_memory(), LONG);
    for at in 0..2 * SHORT_STAY {
        let session_id = world.submit(&format!("hello {at}")).await.unwrap().session_id;
        world.until(&session_id, Status::Completed).await;
    }
    // The last one comes to rest behind its answer.
    while world.runtime.sessions_in_memory() > SHORT_STAY + LONG {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.runtime.sessions_in_memory(), SHORT_STAY + LONG);
}

/// What became long while it stood among the short ones is bounded with those it goes to.
#[tokio::test]
async fn sessions_that_grow_are_bounded_like_those_that_are_long() {
    const STAY: usize = 20;
    let mut world = World::with_agents(Agents::demo()).await;
    world.restart_with(|options| options.shell.sessions_at_rest_max = STAY).await;
    for _ in 0..4 * STAY {
        let session_id = world.submit("hello").await.unwrap().session_id;
        for _ in 0..5 {
            world.until(&session_id, Status::Completed).await;
            let submit = SubmitTurn { session_id: Some(session_id.clone()), ..turn("more") };
            world.runtime.call(&world.caller, submit).await.unwrap();
        }
        world.until(&session_id, Status::Completed).await;
    }
    // As many in either line, and the last one comes to rest behind its answer.
    assert!(world.runtime.sessions_in_memory() <= 2 * STAY + 1, "{}", world.runtime.sessions_in_memory());
}

/// An answer that takes nothing to know is in the commit that brings its turn; every other one is behind it.
#[tokio::test]
async fn an_answer_that_is_known_at_once_takes_one_commit() {
    for (agent, commits) in [("demo", 1), ("slow", 2)] {
        let slow = r#"name = "slow"
[[on]]
any = true
steps = [{ wait_ms = 1 }, { say = "{input}" }]
"#;
        let scripts = vec![Script::parse("slow.toml", slow).unwrap(), Script::demo()];
        let world = World::with_agents(Agents::from_scripts(scripts).unwrap()).await;
        let submit = SubmitTurn { agent: Some(agent.to_owned()), ..turn("hello") };
        let session_id = world.runtime.call(&world.caller, submit).await.unwrap().session_id;
        let thread = world.until(&session_id, Status::Completed).await;
        assert_eq!(thread.last_outcome.unwrap().preview.as_deref(), Some("hello"));
        let feed = world.store.feed(0, ReadLimit::records(1_000)).await.unwrap();
        let of_session = feed.iter().filter(|commit| commit.stream.ends_with(session_id.as_str())).count();
        assert_eq!(of_session, commits, "{agent}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_right_after_a_command_does_not_hang() {
    for _ in 0..50 {
        let world = World::new().await;
        world.submit("hello").await.unwrap();
        tokio::time::timeout(Duration::from_secs(20), world.runtime.close()).await.expect("close hung");
    }
}

/// A page as well as a stream: whoever goes on from there has the sequences of another log.
#[tokio::test]
async fn a_page_from_ahead_of_the_log_is_refused() {
    let world = World::new().await;
    let session_id = world.submit("hello").await.unwrap().session_id;
    world.until(&session_id, Status::Completed).await;
    let page = |after| {
        let page = ReadEvents { session_id: session_id.clone(), after: Some(after), before: None, limit: None };
        world.runtime.call(&world.caller, page)
    };
    let newest = page(0).await.unwrap().next_after;
    assert_eq!(page(newest).await.unwrap().next_after, newest);
    let refused = page(newest + 1).await.unwrap_err();
    assert_eq!((refused.code, &refused.details["newest_sequence"]), (ErrorCode::InvalidParams, &newest.into()));
}

/// The trace context of whoever submitted a turn goes on in everything that the turn does.
#[tokio::test]
async fn a_turn_keeps_the_trace_it_was_submitted_in() {
    let mut world = World::new().await;
    let trace =
        Trace { trace_id: Some("4bf92f3577b34da6a3ce929d0e0e4736".into()), span_id: Some("00f067aa0ba902b7".into()) };
    let mut traced = world.caller.clone();
    traced.trace = trace.clone();
    let session_id = world.runtime.call(&traced, turn("approve: it")).await.unwrap().session_id;
    let waiting = world.until(&session_id, Status::WaitingPermission).await;
    world.restart(Agents::demo()).await;
    let action_id = waiting.pending_actions[0].action_id.clone();
    let answer = RespondAction { action_id, decision: "allow".to_owned(), payload: None, idempotency_key: None };
    world.runtime.call(&world.caller, answer).await.unwrap();
    world.until(&session_id, Status::Completed).await;
    let page = ReadEvents { session_id, after: None, before: None, limit: Some(200) };
    let page = world.runtime.call(&world.caller, page).await.unwrap();
    let events = page.events.iter().map(|event| Event::decode(event.get().as_bytes()).unwrap());
    let without: Vec<&str> = events.filter(|event| event.trace != trace).map(|event| event.fact.type_name()).collect();
    assert_eq!(without, ["action.resolved"], "somebody else said that");
}

/// WIRE: a missing session or thread is created, so whoever names their own ids needs no other command first.
#[tokio::test]
async fn a_turn_brings_along_the_session_and_the_thread_it_names() {
    let world = World::new().await;
    let submit = async |thread: Option<&str>| {
        let mut command = turn("hello");
        command.session_id = Some("mine".parse().unwrap());
        command.thread_id = thread.map(|thread| thread.parse().unwrap());
        world.runtime.call(&world.caller, command).await.unwrap()
    };
    let first = submit(None).await;
    assert_eq!(first.session_id.as_str(), "mine");
    assert_eq!(submit(None).await.thread_id, first.thread_id, "the main thread");
    let side = submit(Some("side")).await;
    assert_eq!((side.thread_id.as_str(), side.status), ("side", Status::Accepted));
    assert_eq!(submit(Some("side")).await.thread_id, side.thread_id);
    let session = GetSession { session_id: first.session_id, window: None, as_of: None };
    assert_eq!(world.runtime.call(&world.caller, session).await.unwrap().threads.len(), 2);
}
