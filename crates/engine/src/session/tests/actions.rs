//! Actions: what each answer means, and that nothing but an answer allows anything.

use factum_model::report::Gate;
use factum_model::value::Effect;
use factum_model::{Event, Fact};
use serde_json::{Value, json};

use super::check;
use super::world::{ACCOUNT, World, gated, open, question};
use crate::session::{ActionRow, CallState, apply, keys, respond_action};

#[test]
fn every_word_of_a_permission_is_understood_or_refused() {
    let allow = ["allow", "approve", "approved", "allowed", "accept", "yes", " Allow ", "YES"];
    let deny = ["deny", "reject", "denied", "rejected", "decline", "declined", "cancel", "no", "No "];
    let neither = ["", " ", "maybe", "true", "1", "allow it", "not allow", "retry", "timeout", "ａllow"];
    for word in allow {
        let mut world = permission();
        assert_eq!(world.respond(0, word), [format!("action.resolved {} by response", word.trim())], "{word:?}");
        assert_eq!(world.call("rm").state, CallState::Ready, "{word:?}");
    }
    for word in deny {
        let mut world = permission();
        let expected = [format!("action.resolved {} by response", word.trim()), "tool.failed denied".to_owned()];
        assert_eq!(world.respond(0, word), expected, "{word:?}");
    }
    for word in neither {
        let mut world = permission();
        let expected = [format!("refused invalid_params: this action does not understand the decision {word:?}")];
        assert_eq!(world.respond(0, word), expected, "{word:?}");
        assert_eq!(world.call("rm").state, CallState::Waiting, "{word:?}");
    }
}

fn permission() -> World {
    let mut world = World::idle();
    world.with_calls(vec![gated("rm")]);
    world
}

#[test]
fn a_question_is_answered_or_declined() {
    let table: [(Value, &[&str]); 6] = [
        (json!({ "decision": "blue" }), &["action.resolved blue by response", "tool.result blue"]),
        (
            json!({ "decision": "answer", "payload": "blue" }),
            &["action.resolved answer by response", "tool.result blue"],
        ),
        (
            json!({ "decision": "answer", "payload": { "text": "blue" } }),
            &["action.resolved answer by response", "tool.result blue"],
        ),
        (
            json!({ "decision": "answer", "payload": null }),
            &["action.resolved answer by response", "tool.result answer"],
        ),
        (json!({ "decision": "no" }), &["action.resolved no by response", "tool.result no"]),
        (json!({ "decision": "decline" }), &["action.resolved decline by response", "tool.failed denied"]),
    ];
    for (params, expected) in table {
        let mut world = World::idle();
        world.with_calls(vec![question("ask")]);
        assert_eq!(world.respond_with(0, params.clone()), expected, "{params}");
    }
}

/// A wrong answer is told to whoever gave it, not to whoever asked.
#[test]
fn an_answer_has_to_fit_the_schema_of_its_question() {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let table = [
        (schema.clone(), json!({ "decision": "answer", "payload": { "n": 7 } }), true),
        (schema.clone(), json!({ "decision": "{\"n\":7}" }), true),
        (schema.clone(), json!({ "decision": "answer", "payload": { "text": "{\"n\":7}" } }), true),
        (schema.clone(), json!({ "decision": "decline" }), true),
        (schema.clone(), json!({ "decision": "answer", "payload": { "n": "seven" } }), false),
        (schema.clone(), json!({ "decision": "answer", "payload": null }), false),
        (schema, json!({ "decision": "seven" }), false),
        (json!({ "type": "string", "maxLength": 4 }), json!({ "decision": "blue" }), true),
        (json!({ "type": "string", "maxLength": 4 }), json!({ "decision": "green" }), false),
        (json!({ "type": "nonsense" }), json!({ "decision": "anything" }), true),
    ];
    for (schema, params, fits) in table {
        let mut world = World::idle();
        let mut asks = question("ask");
        let Gate::Question { input_schema, .. } = &mut asks.gate else { panic!("a question") };
        *input_schema = Some(schema);
        world.with_calls(vec![asks]);
        let told = world.respond_with(0, params.clone());
        assert_eq!(told[0].starts_with("action.resolved"), fits, "{params}: {told:?}");
        assert_eq!(world.state.actions.is_empty(), fits, "{params}: it stays open");
    }
}

/// Whoever asked for an object gets one, typed or sent; everything else is a text.
#[test]
fn an_answer_keeps_the_form_it_was_asked_for_in() {
    let object = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let list = json!({ "type": "array" });
    let plain = |answer: &str| json!({ "answer": answer, "decision": "answer" });
    let table = [
        (Some(&object), json!({ "n": 7 }), json!({ "n": 7 })),
        (Some(&object), json!({ "n": 7, "answer": "seven" }), json!({ "n": 7, "answer": "seven" })),
        (Some(&object), json!({ "text": "{\"n\":7}" }), json!({ "n": 7 })),
        (Some(&list), json!([1, 2]), json!([1, 2])),
        (Some(&json!({ "type": "integer" })), json!(7), plain("7")),
        (Some(&json!({ "type": "string" })), json!("blue"), plain("blue")),
        (None, json!({ "n": 7 }), plain("{\"n\":7}")),
    ];
    for (schema, payload, told) in table {
        let mut world = World::idle();
        let mut asks = question("ask");
        let Gate::Question { input_schema, .. } = &mut asks.gate else { panic!("a question") };
        *input_schema = schema.cloned();
        world.with_calls(vec![asks]);
        world.respond_with(0, json!({ "decision": "answer", "payload": payload }));
        let events = world.log.iter().flatten().map(|bytes| Event::decode(bytes).expect("events decode"));
        let mut result = events.filter_map(|event| match event.fact {
            Fact::ToolResult(result) => result.structured_content.clone(),
            _ => None,
        });
        assert_eq!(result.next_back(), Some(told), "{payload}");
    }
}

#[test]
fn many_actions_are_open_at_once_each_its_own() {
    let mut world = World::idle();
    world.with_calls(vec![gated("a"), question("b"), gated("c")]);
    assert_eq!(world.respond(1, "blue"), ["action.resolved blue by response", "tool.result blue"]);
    assert_eq!(world.respond(1, "deny"), ["action.resolved deny by response", "tool.failed denied"]);
    assert_eq!(world.run_tool("a"), REFUSED_TO_RUN);
    assert_eq!(world.respond(0, "allow"), ["action.resolved allow by response"]);
    assert_eq!(world.run_tool("a"), ["tool.progress running #1"]);
}

const REFUSED_TO_RUN: [&str; 1] = ["refused precondition_failed: the tool call is not in that state"];

#[test]
fn the_first_answer_wins_and_stays_to_be_shown() {
    let mut world = permission();
    let action_id = world.action_id(0);
    world.respond(0, "deny");
    let told = world.respond_params(json!({ "action_id": action_id, "decision": "allow" }));
    assert_eq!(told, ["refused not_found: not found"], "not open any more; the shell answers from the row");
    let row: ActionRow = serde_json::from_slice(&world.index[&keys::action(ACCOUNT, &action_id)]).expect("a row");
    assert_eq!((row.decision.as_deref(), row.resolved_by.as_deref()), (Some("deny"), Some("agent://alice")));
}

#[test]
fn a_lost_call_is_retried_skipped_or_fails_the_turn() {
    let lost = |w: &mut World| {
        w.with_calls(vec![open("send", Effect::Once), gated("rm"), open("read", Effect::Pure)]);
        w.run_tool("send");
        w.submit_all(&["t2"]);
        w.recover();
    };
    let skipped: &[&str] = &["action.resolved skip by response", "tool.failed lost"];
    let failed: &[&str] = &[
        "action.resolved fail by response",
        "tool.failed lost",
        "action.resolved cancelled by superseded",
        "tool.failed cancelled",
        "tool.failed cancelled",
        "turn.failed t1 failed tool_lost",
        "queue.changed started t2 []",
        "turn.started t2 #1",
    ];
    let unknown: &[&str] = &["refused invalid_params: this action does not understand the decision \"allow\""];
    check("retry", lost, |w| w.respond(1, "retry"), &["action.resolved retry by response"]);
    check("retry, with spaces", lost, |w| w.respond(1, " Retry "), &["action.resolved Retry by response"]);
    check("skip", lost, |w| w.respond(1, "skip"), skipped);
    check("fail", lost, |w| w.respond(1, "fail"), failed);
    check("fail, with spaces", lost, |w| w.respond(1, " fail\n"), failed);
    check("a word of another action", lost, |w| w.respond(1, "allow"), unknown);
}

#[test]
fn a_retried_call_runs_again_under_the_next_number() {
    let mut world = World::idle();
    world.with_calls(vec![open("send", Effect::Once)]);
    world.run_tool("send");
    world.recover();
    assert_eq!(world.run_tool("send"), REFUSED_TO_RUN, "a lost call does not run by itself");
    world.respond(0, "\tretry ");
    assert_eq!(world.run_tool("send"), ["tool.progress running #2"]);
    assert_eq!(world.end_tool("send"), ["tool.result done"]);
}

/// A denial closes its call in the same commit. The fold does not lean on that: by itself it opens nothing either.
#[test]
fn the_fold_alone_opens_a_call_only_for_an_answer_that_allows() {
    use factum_model::events::ResolutionSource::*;
    let table = [
        (Response, true, CallState::Ready),
        (Policy, true, CallState::Ready),
        (Response, false, CallState::Waiting),
        (Policy, false, CallState::Waiting),
        (Timeout, true, CallState::Waiting),
        (AuthFailure, true, CallState::Waiting),
        (Superseded, true, CallState::Waiting),
    ];
    for (source, allowed, expected) in table {
        let mut world = permission();
        let mut state = world.state.clone();
        let command = serde_json::from_value(json!({ "action_id": world.action_id(0), "decision": "allow" }));
        let decide = command.expect("params");
        let done = world.decide(|state, context| respond_action(state, &decide, context)).expect("accepted");
        let mut event = done.events[0].clone();
        let Fact::ActionResolved(fact) = &mut event.fact else { panic!("the first fact resolves the action") };
        (fact.source, fact.allowed) = (source, allowed);
        apply(&mut state, &event);
        let call = &state.threads[0].active.as_ref().expect("a turn").calls[0];
        assert_eq!((call.state, state.actions.len()), (expected, 0), "{source:?} {allowed}");
    }
}

/// What a word means is decided once, when it is said, and recorded. A later version may know other words.
#[test]
fn what_an_answer_means_is_a_fact() {
    for (decision, allowed) in [("allow", true), (" Approve ", true), ("yes", true), ("deny", false), ("cancel", false)]
    {
        let mut world = permission();
        let params = json!({ "action_id": world.action_id(0), "decision": decision });
        let command = serde_json::from_value(params).expect("params");
        let done = world.decide(|state, context| respond_action(state, &command, context)).expect("accepted");
        let Fact::ActionResolved(fact) = &done.events[0].fact else { panic!("the first fact resolves the action") };
        assert_eq!((fact.decision.as_str(), fact.allowed), (decision, allowed));
    }
}

#[test]
fn an_answer_is_bound_to_the_arguments_it_was_given_for() {
    let world = permission();
    let digest = world.call("rm").arguments_digest;
    assert_eq!(digest, crate::digest_of(&json!({ "path": "rm" })));
    assert_eq!(world.state.actions[0].required.arguments_digest, Some(digest));
}
