//! Whatever a script says, whoever answers and wherever the process dies: the turn comes to an end.

use factum_agent::{Agent, Script};
use factum_model::events::{ActionRequired, ActionType};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{Cut, World};

fn call() -> impl Strategy<Value = Value> {
    let effect = prop_oneof![Just("pure"), Just("idempotent"), Just("once"), Just("unknown")];
    let tool = (effect, any::<bool>(), 0..50u64, any::<bool>()).prop_map(|(effect, approval, ms, fails)| {
        let mut tool = json!({ "name": format!("t_{effect}"), "effect": effect, "approval": approval, "duration_ms": ms,
            "progress": ["on {rest}"] });
        tool[if fails { "error" } else { "result" }] = json!("{input}");
        tool
    });
    prop_oneof![3 => tool, 1 => Just(json!({ "ask": "q {rest}?" }))]
}

fn step() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        ("[a-z ]{0,30}", 0..30u64).prop_map(|(text, ms)| json!({ "say": text, "delay_ms": ms })),
        Just(json!({ "reasoning": "because {index}" })),
        (0..100u64).prop_map(|ms| json!({ "wait_ms": ms })),
        prop::collection::vec(call(), 1..4).prop_map(|calls| json!({ "tools": calls })),
        (0..6u64).prop_map(|times| json!({ "error": { "message": "m", "times": times } })),
        Just(json!({ "artifact": { "text": "{rest}" } })),
        Just(json!({ "status": { "title": "t" } })),
        Just(json!({ "finish": "enough" })),
    ];
    leaf.prop_recursive(2, 12, 3, |inner| {
        let steps = prop::collection::vec(inner, 1..4);
        (1..3u64, steps).prop_map(|(times, steps)| json!({ "repeat": { "times": times, "steps": steps } }))
    })
}

fn cut() -> impl Strategy<Value = Cut> {
    (1..40usize, any::<bool>()).prop_map(|(at, before)| if before { Cut::Before(at) } else { Cut::After(at) })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_turn_comes_to_an_end(
        steps in prop::collection::vec(step(), 1..6),
        cuts in prop::collection::vec(cut(), 0..5),
        answers in prop::collection::vec(any::<u8>(), 1..8),
    ) {
        let script = json!({ "name": "test", "on": [{ "any": true, "steps": steps }] }).to_string();
        let agent = Agent::from_script(Script::parse("test.json", &script).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let world = World::with_cuts("go on", &cuts);
            let mut answers = answers.iter().cycle();
            world.drive(&agent, |required: &ActionRequired| {
                let pick = usize::from(*answers.next().unwrap());
                match required.action_type {
                    ActionType::Review => (["retry", "skip", "fail"][pick % 3], None),
                    ActionType::Input => (["answer", "decline"][pick % 2], None),
                    _ => (["allow", "deny"][pick % 2], None),
                }
            }).await;
            assert!(!world.ended().starts_with("open"), "{}", world.ended());
            assert_eq!(world.count("turn.completed") + world.count("turn.failed"), 1);
            assert_eq!(world.count("tool.started"), world.count("tool.result") + world.count("tool.failed"));
        });
    }
}
