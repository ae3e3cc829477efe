//! The permission bridge: a question and its decision each with all five facts, once, by every source.

use factum_model::events::{ActionRequired, ActionResolved, ActionType, OnTimeout, ResolutionSource};
use factum_model::id::ActionId;

use super::*;

fn action() -> ActionId {
    "act-1".parse().expect("an id")
}

fn question(channel_scoped: bool) -> Question {
    question_of("May I?", channel_scoped)
}

fn question_of(prompt: &str, channel_scoped: bool) -> Question {
    let required = ActionRequired {
        action_type: ActionType::ToolPermission,
        prompt: prompt.to_owned(),
        decisions: Vec::new(),
        input_schema: None,
        policy: None,
        tool_name: Some("deploy".to_owned()),
        arguments_digest: Some("digest".to_owned()),
        scope: Default::default(),
        timeout_at: None,
        on_timeout: OnTimeout::Wait,
    };
    let scope = Scope::default().session_id(&session("s")).action_id(&action());
    Question::new(scope, "demo", &required, channel_scoped)
}

fn resolved(source: ResolutionSource, by: &str, allowed: bool) -> ActionResolved {
    ActionResolved {
        action_type: ActionType::ToolPermission,
        decision: "whatever".to_owned(),
        payload: None,
        resolved_by: by.to_owned(),
        source,
        allowed,
        arguments_digest: None,
    }
}

fn asked(channel_scoped: bool) -> World {
    let mut world = World::new();
    let client = json!({ "peer_role": "client", "capabilities": ["permissions"], "session_ids": ["s"] });
    world.enroll(ALICE, client).expect("enrolled");
    for _ in 0..2 {
        let question = question(channel_scoped);
        world
            .decide("runtime://bridge", |state, context| forward_permission(state, &question, context))
            .expect("asked");
    }
    assert_eq!(world.types(), ["channel.connected", "channel.permission_forwarded"], "asked once");
    world
}

#[test]
fn every_source_comes_back_with_all_five_facts() {
    for channel_scoped in [false, true] {
        for (source, by, allowed, through_channel, direction, side, decision) in [
            (ResolutionSource::Response, ALICE, true, true, "inbound", "remote", "allow"),
            (ResolutionSource::Response, ALICE, false, true, "inbound", "remote", "deny"),
            (ResolutionSource::Response, BOB, true, false, "outbound", "local", "allow"),
            (ResolutionSource::Timeout, "runtime://timer", false, false, "outbound", "local", "deny"),
            (ResolutionSource::Policy, "policy://host", false, false, "outbound", "local", "deny"),
            (ResolutionSource::AuthFailure, "agent://peer", false, true, "inbound", "remote", "deny"),
            (ResolutionSource::Superseded, "agent://alice", false, false, "outbound", "local", "deny"),
        ] {
            let mut world = asked(channel_scoped);
            let forwarded = world.last("channel.permission_forwarded");
            let resolved = resolved(source, by, allowed);
            for _ in 0..2 {
                let action = action();
                let give = |state: &PeerState, context: &mut Context<'_>| {
                    return_permission(state, &action, &resolved, through_channel, context)
                };
                world.decide("runtime://bridge", give).expect("returned");
            }
            assert_eq!(world.types().len(), 3, "returned once");
            let returned = world.last("channel.permission_returned");
            let subject =
                json!({ "kind": "tool", "name": "deploy", "summary": "May I?", "arguments_digest": "digest" });
            let expected = json!({
                "direction": direction, "requesting_peer": "agent://demo", "subject": subject, "decision": decision,
                "decided_by": by, "decided_on": side, "source": source, "channel_scoped": channel_scoped,
            });
            assert_eq!(returned["payload"], expected);
            for name in ["session_id", "action_id", "channel_id"] {
                assert_eq!(returned[name], forwarded[name], "{name}");
            }
            let entry = &world.peer().bridge[0].entry;
            assert_eq!(
                (json!(entry.decision), entry.decided_by.as_deref(), entry.source),
                (json!(decision), Some(by), Some(source))
            );
            world.check();
        }
    }
}

#[test]
fn a_decision_elsewhere_is_recorded_and_changes_nothing() {
    let mut world = asked(true);
    let before = world.peer().bridge.clone();
    world.decide(BOB, |state, context| refuse_permission(state, &action(), "allow", context)).expect("recorded");
    assert_eq!(world.peer().bridge, before, "the question is still open");
    let refused = world.last("channel.permission_refused");
    assert_eq!(refused["payload"]["attempted_by"], BOB);
    assert_eq!(refused["payload"]["attempted_decision"], "allow");
    assert_eq!(refused["action_id"], "act-1");
    world.check();
}

#[test]
fn only_those_that_decide_have_rows_by_session() {
    let world = asked(true);
    assert!(world.index.contains_key(&keys::decider("acme", &session("s"), &channel())));
    let world = client(&["s"]);
    assert!(!world.index.contains_key(&keys::decider("acme", &session("s"), &channel())));
}

#[test]
fn which_actions_ask_permission() {
    for (action_type, asks) in [
        (ActionType::ToolPermission, true),
        (ActionType::Authorization, true),
        (ActionType::Review, true),
        (ActionType::Input, false),
        (ActionType::Custom, false),
    ] {
        assert_eq!(asks_permission(action_type), asks, "{action_type:?}");
    }
}

/// A channel has many of them in each of its snapshots.
#[test]
fn a_channel_is_told_the_beginning_of_a_long_question() {
    let long = question_of(&"x".repeat(100_000), true);
    assert_eq!(long.prompt.chars().count(), 2_001, "and an ellipsis");
    assert_eq!(long.subject.summary.as_deref(), Some(long.prompt.as_str()));
    assert_eq!(question(true).prompt, "May I?");
}
