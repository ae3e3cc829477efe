//! The process dies at every report, before or after it is durable, once and twice: the turn still comes to the same end,
//! and nothing is asked, answered or done twice.

use std::collections::BTreeMap;

use factum_agent::Agent;
use factum_model::Fact;
use factum_model::events::{ActionRequired, ActionType, ToolOutcome};
use serde_json::{Value, json};

use crate::demo::demo;
use crate::world::{Cut, Watched, World, scripted};

const INPUTS: [&str; 6] = ["hello there", "ask: who?", "approve: it", "fail: now", "artifact: a b", "slow: x"];

fn answer(required: &ActionRequired) -> (&'static str, Option<Value>) {
    match required.action_type {
        ActionType::Input => ("answer", Some(json!("me"))),
        ActionType::Review => ("skip", None),
        _ => ("allow", None),
    }
}

/// What a reader counts on, whatever happened in between.
fn outcome(world: &World) -> (String, String, BTreeMap<&'static str, usize>) {
    let counted = [
        "model.completed",
        "tool.started",
        "tool.result",
        "tool.failed",
        "action.required",
        "action.resolved",
        "artifact.changed",
        "turn.completed",
        "turn.failed",
    ];
    let counts = counted.map(|name| (name, world.count(name)));
    (world.ended(), world.said(), BTreeMap::from(counts))
}

fn cuts(reports: usize) -> impl Iterator<Item = Cut> {
    (1..=reports).flat_map(|number| [Cut::Before(number), Cut::After(number)])
}

async fn driven(agent: &Agent, input: &str, cuts: &[Cut]) -> World {
    let world = World::with_cuts(input, cuts);
    world.drive(agent, answer).await;
    world
}

#[tokio::test(start_paused = true)]
async fn one_crash_at_every_report_changes_nothing() {
    let demo = demo();
    for input in INPUTS {
        let whole = driven(&demo, input, &[]).await;
        for cut in cuts(whole.reports()) {
            let world = driven(&demo, input, &[cut]).await;
            assert_eq!(outcome(&world), outcome(&whole), "{input:?} {cut:?} {:#?}", world.names());
        }
    }
}

/// A first request that the start of the turn announced is made by the first run and by nobody else: it is one report
/// less, and the same facts.
#[tokio::test(start_paused = true)]
async fn a_turn_with_an_announced_request_comes_to_the_same_end() {
    let demo = demo();
    for input in INPUTS {
        let plain = driven(&demo, input, &[]).await;
        let opened = async |cuts: &[Cut]| {
            let world = World::opened(input, &demo, cuts);
            world.drive(&demo, answer).await;
            world
        };
        let whole = opened(&[]).await;
        assert_eq!(whole.names(), plain.names(), "{input:?}");
        assert_eq!(whole.reports() + 1, plain.reports(), "{input:?}");
        for cut in cuts(whole.reports()) {
            let world = opened(&[cut]).await;
            assert_eq!(outcome(&world), outcome(&plain), "{input:?} {cut:?} {:#?}", world.names());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn two_crashes_change_nothing_either() {
    let demo = demo();
    for input in ["ask: who?", "approve: it"] {
        let whole = driven(&demo, input, &[]).await;
        for first in cuts(whole.reports()) {
            for second in cuts(whole.reports() + 4) {
                let world = driven(&demo, input, &[first, second]).await;
                assert_eq!(outcome(&world), outcome(&whole), "{input:?} {first:?} {second:?}");
            }
        }
    }
}

const EFFECTS: &str = r#"
    { say = "working. " },
    { tool = { name = "charge", effect = "once", duration_ms = 50, progress = ["half"], result = "charged", save = "charge" } },
    { tools = [{ name = "read", effect = "pure" }, { name = "put", effect = "idempotent" }, { name = "mail", effect = "unknown" }] },
    { say = "charge: {charge.outcome}" }"#;

#[tokio::test(start_paused = true)]
async fn what_may_happen_once_never_runs_twice() {
    let whole = driven(&scripted(EFFECTS), "go", &[]).await;
    let mut lost = 0;
    for cut in cuts(whole.reports()) {
        let (agent, watched) = Watched::agent(scripted(EFFECTS));
        let world = driven(&agent, "go", &[cut]).await;
        assert_eq!(world.ended(), "completed: end_turn", "{cut:?}");
        let runs = watched.runs.lock().clone();
        for event in world.log() {
            let (Fact::ToolStarted(call), Some(id)) = (&event.fact, &event.scope.tool_call_id) else { continue };
            let ran = runs.iter().filter(|key| key.as_str() == id.as_str()).count();
            assert!(
                ran <= if call.effect.may_repeat() { 2 } else { 1 },
                "{} ran {ran} times at {cut:?}",
                call.tool_name
            );
        }
        let outcomes = world.count("tool.result") + world.count("tool.failed");
        assert_eq!((world.count("tool.started"), outcomes), (4, 4), "{cut:?}");
        lost += world
            .facts()
            .iter()
            .filter(|fact| matches!(fact, Fact::ToolFailed(failed) if failed.outcome == ToolOutcome::Lost))
            .count();
    }
    assert!(lost >= 4, "the crashes never hit a tool at work: {lost}");
}

#[tokio::test(start_paused = true)]
async fn a_reviewer_may_let_a_lost_call_run_again_or_fail_the_turn() {
    let steps = r#"{ tool = { name = "charge", effect = "once", result = "charged", save = "c" } }, { say = "{c}" }"#;
    for (decision, ended, said, runs) in [
        ("retry", "completed: end_turn", "charged", 2),
        ("skip", "completed: end_turn", "a restart cut the call off; whether it took effect is not known", 1),
        ("fail", "failed: tool_lost: a reviewer failed the turn after a lost tool call", "", 1),
    ] {
        let (agent, watched) = Watched::agent(scripted(steps));
        // 1 asks the model, 2 is its answer, 3 the intent to run, 4 the result.
        let world = World::with_cuts("go", &[Cut::Before(4)]);
        world.drive(&agent, |_| (decision, None)).await;
        assert_eq!((world.ended().as_str(), world.said().as_str(), watched.runs.lock().len()), (ended, said, runs));
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_without_recovery_stops_instead_of_guessing() {
    let agent = scripted(r#"{ tool = { name = "charge", effect = "once" } }"#);
    let world = World::with_cuts("go", &[Cut::After(3)]);
    assert!(world.run(&agent).await.is_none());
    let stopped = world.run(&agent).await.unwrap().unwrap_err();
    assert_eq!(stopped.reason, "an earlier run left work open; recover the session first");
    assert_eq!(world.reports(), 3);
}
