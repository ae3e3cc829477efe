//! What a child inherits: every pair of parent's and asked-for bounds, against the order written out again.

use factum_model::permission::PermissionMode;
use factum_model::subagent::{Isolation, ModelChoice};
use serde_json::{Value, json};

use super::super::world::*;
use super::family::*;

/// Narrowest first.
const MODES: [&str; 8] = ["plan", "untrusted", "default", "on_request", "on_failure", "auto", "never", "bypass"];

const TOO_WIDE: &str = "refused precondition_failed: the permission mode is wider than the parent's";
const TOO_WEAK: &str = "refused precondition_failed: the isolation is weaker than the parent's";
const ELSEWHERE: &str = "refused unavailable: child agents in another runtime are not available in this version";

#[test]
fn a_mode_is_never_wider_than_the_parents() {
    // The main thread works in the mode `default`, so only what is at most that can be a parent.
    for (parent, mode) in MODES.iter().enumerate() {
        let mut world = World::idle();
        let lines = spawn_with(&mut world, json!({ "subagent_id": "a", "permission_mode": mode }));
        if parent > 2 {
            assert_eq!(lines, [TOO_WIDE], "{mode} below default");
            continue;
        }
        for (child, asked) in MODES.iter().enumerate() {
            let params = json!({ "subagent_id": asked, "parent_subagent_id": "a", "permission_mode": asked });
            let lines = spawn_with(&mut world, params);
            assert_eq!(lines == [TOO_WIDE], child > parent, "{asked} below {mode}: {lines:?}");
        }
        spawn_with(&mut world, json!({ "subagent_id": "same", "parent_subagent_id": "a" }));
        assert_eq!(json!(record(&world, "same").permission_mode), json!(mode), "inherited");
    }
    let words: Result<Vec<PermissionMode>, _> = MODES.iter().map(|mode| serde_json::from_value(json!(mode))).collect();
    assert!(words.is_ok(), "the table has words of the vocabulary");
}

#[test]
fn the_refusal_names_the_parents_mode() {
    let mut world = World::idle();
    let command = parse(json!({ "session_id": "s1", "permission_mode": "bypass" }));
    let refusal = world
        .decide(|state, context| crate::session::subagents::spawn_subagent(state, None, &[], &command, context))
        .err()
        .expect("refused");
    assert_eq!(refusal.details["parent_permission_mode"], "default");
    assert_eq!(refusal.details["permission_mode"], "bypass");
}

#[test]
fn isolation_is_never_weaker_than_the_parents() {
    let strength = [Isolation::Thread, Isolation::Workspace, Isolation::Sandbox];
    for (parent, isolation) in strength.iter().enumerate() {
        let mut world = World::idle();
        spawn_with(&mut world, json!({ "subagent_id": "a", "isolation": isolation }));
        for (child, asked) in strength.iter().enumerate() {
            let params = json!({ "parent_subagent_id": "a", "isolation": asked });
            let lines = spawn_with(&mut world, params);
            assert_eq!(lines == [TOO_WEAK], child < parent, "{asked:?} below {isolation:?}: {lines:?}");
        }
        let remote = spawn_with(&mut world, json!({ "parent_subagent_id": "a", "isolation": "remote" }));
        assert_eq!(remote, [ELSEWHERE]);
        spawn_with(&mut world, json!({ "subagent_id": "same", "parent_subagent_id": "a" }));
        assert_eq!(record(&world, "same").isolation, *isolation, "inherited");
    }
}

#[test]
fn a_model_policy_says_what_it_means() {
    let mut world = World::idle();
    let mut spawn = |policy: Value| spawn_with(&mut world, json!({ "model_policy": policy }));
    assert_eq!(spawn(json!({ "choice": "fixed" })), ["refused invalid_params: a fixed model_policy names a model"]);
    assert_eq!(
        spawn(json!({ "choice": "inherit", "model": "m" })),
        ["refused invalid_params: a model_policy that inherits names no model"]
    );
    assert_eq!(spawn(json!({ "choice": "fixed", "model": "m" })).len(), 2);
    assert_eq!(spawn(json!({ "choice": "routed" })).len(), 2);
    spawn_with(&mut world, json!({ "subagent_id": "a" }));
    assert_eq!(record(&world, "a").model_policy.map(|policy| policy.choice), Some(ModelChoice::Inherit));
}
