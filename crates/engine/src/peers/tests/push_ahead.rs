//! Where a client wants to be told of tasks it has not sent: set, set anew, taken along, and the bound.

use factum_model::id::TaskId;

use super::*;
use crate::peers::push_ahead::PUSH_AHEAD_MAX;
use crate::session::push::NewPushConfig;

fn task(at: usize) -> TaskId {
    format!("task_{at}").parse().expect("an id")
}

fn set(world: &mut World, remote: &str, task_id: &TaskId, url: &str) -> Result<(), Refusal> {
    let new = NewPushConfig { config_id: remote, native_protocol: "a2a", url, scheme: None, sealed_secrets: None };
    let place = (remote, "demo");
    world.decide(ALICE, |state, context| set_push_ahead(state, place, task_id, &new, context)).map(|_| ())
}

fn waiting(world: &World) -> Vec<(String, String)> {
    let waiting = world.peer().push_ahead.iter();
    waiting.map(|ahead| (ahead.remote_task_id.clone(), ahead.config.url.clone())).collect()
}

#[test]
fn one_waits_for_its_task_and_is_taken_once() {
    let mut world = World::new();
    world.enroll(ALICE, json!({ "peer_role": "client" })).expect("enrolled");
    set(&mut world, "r1", &task(1), "https://one.example").expect("set");
    set(&mut world, "r2", &task(2), "https://two.example").expect("set");
    set(&mut world, "r1", &task(1), "https://other.example").expect("set anew");
    let pair = |id: &str, url: &str| (id.to_owned(), url.to_owned());
    assert_eq!(waiting(&world), [pair("r1", "https://other.example"), pair("r2", "https://two.example")]);
    let ahead = |agent| world.peer().push_ahead("r1", agent).map(|ahead| ahead.task_id.clone());
    assert_eq!((ahead("demo"), ahead("another")), (Some(task(1)), None));
    world.decide(ALICE, |state, context| take_push_ahead(state, &task(1), context)).expect("taken");
    let head = world.state.sequence;
    world.decide(ALICE, |state, context| take_push_ahead(state, &task(1), context)).expect("taken already");
    assert_eq!((waiting(&world), world.state.sequence), (vec![pair("r2", "https://two.example")], head));
}

#[test]
fn the_oldest_gives_way_and_nobody_else_sets_any() {
    let mut world = World::new();
    world.enroll(ALICE, json!({ "peer_role": "client" })).expect("enrolled");
    for at in 0..=PUSH_AHEAD_MAX {
        set(&mut world, &format!("r{at}"), &task(at), "https://example.com").expect("set");
    }
    let waiting = waiting(&world);
    assert_eq!((waiting.len(), waiting[0].0.as_str()), (PUSH_AHEAD_MAX, "r1"));
    assert_eq!(world.last("push.config.deleted")["task_id"], "task_0");
    let new = NewPushConfig { config_id: "c", native_protocol: "a2a", url: "u", scheme: None, sealed_secrets: None };
    let place = ("r", "demo");
    let refused = world.decide(BOB, |state, context| set_push_ahead(state, place, &task(0), &new, context));
    assert_eq!(refused.err().map(|refusal| refusal.code), Some(ErrorCode::NotFound));
    let long = "x".repeat(3_000);
    let refused = set(&mut world, "long", &task(9_999), &long);
    assert_eq!(refused.err().map(|refusal| refusal.code), Some(ErrorCode::LimitExceeded));
}
