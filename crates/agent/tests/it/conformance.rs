//! The agent of the conformance suites: what each behaviour leaves in the facts that A2A is made from.

use std::sync::Arc;

use factum_agent::{Agent, Script};
use factum_model::Fact;
use factum_model::events::ActionRequired;
use factum_model::value::{OutputRef, Part};
use serde_json::{Value, json};

use crate::world::World;

fn agent() -> Arc<Agent> {
    let script = include_str!("../../../../tests/conformance/agent.toml");
    Arc::new(Agent::from_script(Script::parse("agent.toml", script).unwrap_or_else(|error| panic!("{error}"))))
}

/// Plays a turn, answering each question with the next of the answers.
async fn play(input: &str, answers: &[&str]) -> World {
    let world = World::with_turn(input);
    let mut answers = answers.iter();
    world.drive(&agent(), |_: &ActionRequired| ("answer", answers.next().map(|text| json!({ "text": text })))).await;
    world
}

fn artifacts(world: &World) -> Vec<(Option<String>, OutputRef)> {
    let changed = |fact| match fact {
        Fact::ArtifactChanged(changed) => Some((changed.name, changed.content.expect("content"))),
        _ => None,
    };
    world.facts().into_iter().filter_map(changed).collect()
}

#[tokio::test(start_paused = true)]
async fn it_asks_until_it_hears_done() {
    for answers in [&["done"][..], &["more", " done\n"], &["tck-multi-turn", "not done", "", "done"]] {
        let world = play("tck-multi-turn start", answers).await;
        assert_eq!(world.count("action.required"), answers.len(), "{answers:?}");
        assert_eq!((world.said().as_str(), world.ended().as_str()), ("That is all.", "completed: end_turn"));
    }
}

#[test]
fn only_one_entry_replies_with_a_message() {
    let replies = |text: &str| agent().replies_with_message(&[Part::Text { text: text.to_owned() }]);
    assert!(replies("tck-message-response hello"));
    assert!(!replies("tck-complete-task hello") && !replies("anything"));
}

#[tokio::test(start_paused = true)]
async fn artifacts_are_kept_or_pointed_at() {
    let data = play("tck-artifact-data things", &[]).await;
    let value: Value = serde_json::from_slice(&data.blobs()[0]).expect("JSON");
    assert_eq!(value, json!({ "about": "things", "numbers": [1, 2, 3] }));
    assert_eq!(artifacts(&data)[0].1.media_type, "application/json");

    let elsewhere = play("tck-artifact-file-url things", &[]).await;
    assert_eq!(elsewhere.blobs().len(), 0);
    let [(name, content)] = &artifacts(&elsewhere)[..] else { panic!("one artifact") };
    assert_eq!((name.as_deref(), content.r#ref.as_str()), (Some("elsewhere.pdf"), "https://example.com/elsewhere.pdf"));
    assert_eq!((content.size, &content.digest, content.media_type.as_str()), (None, &None, "application/pdf"));
}
