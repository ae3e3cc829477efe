//! What is answered without a run is what a run would have recorded.

use factum_agent::{Agent, Script};
use factum_model::events::ActionRequired;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{World, scripted};

/// Whether the script's answer is known at once; if so, it is compared with that of a run.
async fn is_known(agent: &Agent) -> bool {
    let known = World::opened("go on", agent, &[]);
    if !known.answer_at_once(agent) {
        return false;
    }
    let ran = World::opened("go on", agent, &[]);
    ran.drive(agent, |_: &ActionRequired| ("allow", None)).await;
    assert_eq!(known.facts(), ran.facts());
    assert!(known.ended().starts_with("completed"), "{}", known.ended());
    true
}

#[tokio::test(start_paused = true)]
async fn what_takes_time_or_calls_something_is_left_to_a_run() {
    let long = format!(r#"{{ say = "{}" }}"#, "x".repeat(17 << 10));
    let many = format!(r#"{{ say = "{}", chunk = "chars" }}"#, "x".repeat(65));
    for (steps, expected) in [
        (r#"{ say = "one two {rest}" }"#, true),
        (r#"{ reasoning = "hm" }, { say = "a" }, { usage = { input_tokens = 3 } }, { say = "b" }"#, true),
        (r#"{ say = "a" }, { finish = "length" }"#, true),
        (r#"{ say = "a", delay_ms = 1 }"#, false),
        (r#"{ say = "a", over_ms = 1 }"#, false),
        (r#"{ wait_ms = 1 }, { say = "a" }"#, false),
        (r#"{ status = { title = "t" } }, { say = "a" }"#, false),
        (r#"{ artifact = { text = "t" } }"#, false),
        (r#"{ error = { message = "m" } }"#, false),
        (r#"{ ask = "q?" }, { say = "a" }"#, false),
        (r#"{ tools = [{ name = "t", result = "r" }] }, { say = "a" }"#, false),
        (&long, false),
        (&many, false),
    ] {
        assert_eq!(is_known(&scripted(steps)).await, expected, "{steps}");
    }
}

fn step() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => ("[a-zä ]{0,30}", prop_oneof![Just(json!("words")), Just(json!("chars")), Just(json!(7))])
            .prop_map(|(text, chunk)| json!({ "say": text, "chunk": chunk })),
        2 => Just(json!({ "reasoning": "because {index}" })),
        1 => Just(json!({ "finish": "enough" })),
        1 => Just(json!({ "wait_ms": 5 })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_answer_at_once_is_that_of_a_run(steps in prop::collection::vec(step(), 1..6)) {
        let script = json!({ "name": "test", "on": [{ "any": true, "steps": steps }] }).to_string();
        let agent = Agent::from_script(Script::parse("test.json", &script).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(is_known(&agent));
    }
}
