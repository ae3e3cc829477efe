//! The demo agent does what WIRE.md says.

use std::sync::Arc;

use factum_agent::{Agent, Agents};
use factum_model::Fact;
use factum_model::events::{ActionRequired, ActionType};
use serde_json::{Value, json};

use crate::world::World;

pub(crate) fn demo() -> Arc<Agent> {
    Agents::demo().get("demo").unwrap().clone()
}

async fn play(input: &str, decision: &'static str, payload: Option<Value>) -> World {
    let world = World::with_turn(input);
    world.drive(&demo(), |_: &ActionRequired| (decision, payload.clone())).await;
    world
}

#[tokio::test(start_paused = true)]
async fn anything_is_streamed_back_in_pieces() {
    let world = play("one two three", "", None).await;
    assert_eq!(world.ended(), "completed: end_turn");
    let deltas: Vec<String> = world
        .facts()
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::ModelDelta(delta) => Some(delta.text),
            _ => None,
        })
        .collect();
    assert_eq!(deltas, ["one ", "two ", "three"]);
    assert_eq!(world.said(), "one two three");
    assert_eq!(
        world.names(),
        [
            "session.created",
            "thread.started",
            "turn.submitted",
            "turn.started",
            "model.requested",
            "model.delta",
            "model.delta",
            "model.delta",
            "model.completed",
            "turn.completed"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_question_is_asked_and_its_answer_repeated() {
    for (decision, payload, said) in [
        ("answer", Some(json!({ "text": "blue {x}" })), "You said: blue {x}"),
        ("answer", Some(json!("blue")), "You said: blue"),
        ("blue", None, "You said: blue"),
        ("decline", None, "The question was not answered: denied."),
    ] {
        let world = play("ask: which colour?", decision, payload).await;
        assert_eq!((world.said().as_str(), world.ended().as_str()), (said, "completed: end_turn"));
        let Some(Fact::ActionRequired(asked)) =
            world.facts().into_iter().find(|fact| matches!(fact, Fact::ActionRequired(_)))
        else {
            panic!("nothing was asked")
        };
        assert_eq!((asked.action_type, asked.prompt.as_str()), (ActionType::Input, "which colour?"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_approval_decides_what_is_reported() {
    let allowed = play("approve: ship it", "allow", None).await;
    assert_eq!(allowed.said(), "This needs your approval. Allowed. The tool did: ship it");
    assert_eq!((allowed.count("tool.result"), allowed.count("tool.failed")), (1, 0));
    let denied = play("approve: ship it", "deny", None).await;
    assert_eq!(denied.said(), "This needs your approval. Denied. Nothing was done about: ship it");
    assert_eq!((denied.count("tool.result"), denied.count("tool.failed"), denied.count("tool.progress")), (0, 1, 0));
    assert_eq!((allowed.ended(), denied.ended()), ("completed: end_turn".into(), "completed: end_turn".into()));
}

#[tokio::test(start_paused = true)]
async fn slow_takes_ten_seconds() {
    let start = tokio::time::Instant::now();
    let world = play("slow: tell me", "", None).await;
    let took = start.elapsed().as_millis();
    assert!((10_000..10_100).contains(&took), "{took}");
    assert_eq!(world.said(), "Slowly, for ten seconds: tell me");
    assert!(world.count("model.delta") > 20);
}

#[tokio::test(start_paused = true)]
async fn fail_fails() {
    let world = play("fail: badly", "", None).await;
    assert_eq!(world.ended(), "failed: demo_failure: failed as asked: badly");
    assert_eq!(world.count("model.requested"), 1);
}

#[tokio::test(start_paused = true)]
async fn an_artifact_is_kept() {
    let world = play("artifact: # A report", "", None).await;
    assert_eq!(world.blobs(), ["# A report"]);
    assert_eq!((world.count("artifact.changed"), world.ended()), (1, "completed: end_turn".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn waiting_waits() {
    let world = World::with_turn("anything");
    let agents = Agents::demo();
    let running = world.run(agents.get("waiting").unwrap());
    assert!(tokio::time::timeout(std::time::Duration::from_secs(3600), running).await.is_err());
    assert_eq!(world.names().last(), Some(&"model.requested"));
    assert_eq!((agents.default_name(), agents.names().collect::<Vec<_>>()), ("demo", vec!["demo", "waiting"]));
}
