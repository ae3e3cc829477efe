//! The table of the loop: which facts lead to which next thing.

use factum_model::events::*;
use factum_model::id::{ActionId, ModelRequestId, StepId, ToolCallId};
use factum_model::report::TurnReport;
use factum_model::value::{Effect, Failure, Metadata, Status};
use factum_model::{Event, Fact, SCHEMA_VERSION, Scope, Timestamp, Trace};
use serde_json::json;

use crate::next::{Next, next};
use crate::transcript::{CallState, Outcome, Transcript};

fn event(scope: Scope, fact: impl Into<Fact>) -> Event {
    Event {
        event_id: "evt_1".parse().unwrap(),
        timestamp: Timestamp::UNIX_EPOCH,
        sequence: 1,
        schema_version: SCHEMA_VERSION.into(),
        runtime_id: "rt_1".parse().unwrap(),
        scope: Scope { turn_id: scope.turn_id.clone().or_else(|| "turn_1".parse().ok()), ..scope },
        trace: Trace::default(),
        fact: fact.into(),
        refs: Default::default(),
    }
}

fn requested() -> Event {
    let (step, request): (StepId, ModelRequestId) = ("step_1".parse().unwrap(), "mreq_1".parse().unwrap());
    let fact =
        ModelRequested { provider: "p".into(), model: "m".into(), round: 1, attempt: 1, effect: Effect::Idempotent };
    event(Scope::default().step_id(&step).model_request_id(&request), fact)
}

fn delta(text: &str) -> Event {
    event(Scope::default(), ModelDelta { text: text.to_owned(), index: 0 })
}

fn completed(text: Option<&str>) -> Event {
    let (text, stop_reason) = (text.map(str::to_owned), "end_turn".to_owned());
    event(
        Scope::default(),
        ModelCompleted { stop_reason, usage: None, text, text_ref: None, raw_ref: None, tool_calls: 0 },
    )
}

fn error(category: &str) -> Failure {
    Failure { category: category.to_owned(), message: "m".to_owned(), retryable: true, advice: None }
}

fn model_failed(category: &str, will_retry: bool) -> Event {
    event(Scope::default(), ModelFailed { error: error(category), will_retry, raw_ref: None })
}

fn of_call(id: &str, fact: impl Into<Fact>) -> Event {
    event(Scope::default().tool_call_id(&call_id(id)), fact)
}

fn call_id(id: &str) -> ToolCallId {
    id.parse().unwrap()
}

fn called(id: &str, tool_name: &str) -> [Event; 2] {
    let tool_name = tool_name.to_owned();
    let (runtime_owner, effect, digest) = (ToolOwner::Local, Effect::Once, format!("sha256:{id}"));
    let started = ToolStarted { tool_name, runtime_owner, effect, needs_approval: false, native_call_id: None };
    let args = ToolArgs { arguments: Some(json!({ "for": id })), arguments_ref: None, arguments_digest: digest };
    [of_call(id, started), of_call(id, args)]
}

fn progress(id: &str, state: ToolState) -> Event {
    of_call(id, ToolProgress { state, message: None, percent: None, output_ref: None, attempt: None })
}

fn result(id: &str) -> Event {
    let (preview, artifact_refs) = (Some("r".to_owned()), Vec::new());
    of_call(id, ToolResult { preview, structured_content: None, result_ref: None, artifact_refs, duration_ms: None })
}

fn denied(id: &str) -> Event {
    of_call(id, ToolFailed { outcome: ToolOutcome::Denied, error: error("permission_denied"), duration_ms: None })
}

fn action(id: &str, fact: impl Into<Fact>) -> Event {
    let action_id: ActionId = format!("act_{id}").parse().unwrap();
    event(Scope::default().tool_call_id(&call_id(id)).action_id(&action_id), fact)
}

fn required(id: &str) -> Event {
    let required = ActionRequired {
        action_type: ActionType::ToolPermission,
        prompt: String::new(),
        decisions: Vec::new(),
        input_schema: None,
        policy: None,
        tool_name: None,
        arguments_digest: None,
        scope: Metadata::new(),
        timeout_at: None,
        on_timeout: OnTimeout::Wait,
    };
    action(id, required)
}

fn resolved(id: &str, source: ResolutionSource) -> Event {
    let (action_type, decision) = (ActionType::ToolPermission, "allow".to_owned());
    action(
        id,
        ActionResolved {
            action_type,
            decision,
            payload: None,
            resolved_by: "u".into(),
            source,
            allowed: matches!(source, ResolutionSource::Response | ResolutionSource::Policy),
            arguments_digest: None,
        },
    )
}

fn turn_completed() -> TurnCompleted {
    TurnCompleted { status: Status::Completed, stop_reason: "s".into(), usage: None, preview: None, steps: 0 }
}

/// `read` may run with others, `write` may not.
fn catalog() -> Vec<ToolEntry> {
    [("read", true), ("write", false)]
        .map(|(name, is_read_only)| ToolEntry {
            tool_name: name.to_owned(),
            description: None,
            input_schema: None,
            capabilities: Vec::new(),
            policy: ToolPolicy::Allowed,
            runtime_owner: ToolOwner::Local,
            is_read_only,
            is_concurrency_safe: false,
            is_destructive: false,
            interrupt_behavior: None,
            effect: Effect::Once,
            metadata_ref: None,
        })
        .to_vec()
}

fn transcript(events: &[Event]) -> Transcript {
    let mut transcript = Transcript::new("turn_1".parse().unwrap());
    transcript.extend(events);
    transcript
}

fn run(ids: &[&str]) -> Next {
    Next::Run(ids.iter().map(|id| call_id(id)).collect())
}

fn finished(preview: Option<&str>) -> Next {
    let preview = preview.map(str::to_owned);
    Next::Finish(TurnReport::Completed { stop_reason: "end_turn".to_owned(), preview })
}

fn check(name: &str, events: &[Event], expected: Next) {
    assert_eq!(next(&transcript(events), &catalog()), expected, "{name}");
}

#[test]
fn models() {
    check("nothing has happened", &[], Next::AskModel);
    check("a request is open", &[requested(), delta("a")], Next::Recover);
    check("a whole answer", &[requested(), completed(Some("a"))], finished(Some("a")));
    check("a long answer is its pieces", &[requested(), delta("a"), delta("b"), completed(None)], finished(Some("ab")));
    check("a failure to retry", &[requested(), model_failed("c", true)], Next::AskModel);
    check(
        "a failure for good",
        &[requested(), model_failed("c", false)],
        Next::Finish(TurnReport::Failed { error: error("c") }),
    );
    check("cut off by a restart", &[requested(), delta("a"), model_failed("interrupted", true)], Next::AskModel);
    check("over", &[requested(), event(Scope::default(), turn_completed())], Next::Over);
    let other = event(Scope::default().turn_id(&"turn_2".parse().unwrap()), turn_completed());
    check("another turn is over", &[other], Next::AskModel);
}

#[test]
fn tries_that_a_restart_cut_off_do_not_count() {
    let mut events = vec![requested(), model_failed("c", true), requested(), model_failed("interrupted", true)];
    assert_eq!(transcript(&events).failed_tries, 1);
    events.extend([requested(), delta("again"), completed(None)]);
    let whole = transcript(&events);
    assert_eq!((whole.failed_tries, whole.failure, whole.rounds[0].text.as_str()), (0, None, "again"));
}

#[test]
fn calls() {
    let asked = |calls: &[[Event; 2]]| [&[requested(), completed(None)], calls.concat().as_slice()].concat();
    let with = |calls: &[[Event; 2]], more: &[Event]| [asked(calls).as_slice(), more].concat();
    let one = [called("a", "write")];
    check("asked for", &asked(&one), run(&["a"]));
    check("at work", &with(&one, &[progress("a", ToolState::Running)]), Next::Recover);
    check(
        "cut off, may repeat",
        &with(&one, &[progress("a", ToolState::Running), progress("a", ToolState::Interrupted)]),
        run(&["a"]),
    );
    check(
        "lost, under review",
        &with(&one, &[progress("a", ToolState::Running), progress("a", ToolState::Lost), required("a")]),
        Next::Wait,
    );
    check("gave a result", &with(&one, &[progress("a", ToolState::Running), result("a")]), Next::AskModel);
    check("needs approval", &with(&one, &[required("a")]), Next::Wait);
    check("allowed", &with(&one, &[required("a"), resolved("a", ResolutionSource::Response)]), run(&["a"]));
    check(
        "denied",
        &with(&one, &[required("a"), resolved("a", ResolutionSource::Response), denied("a")]),
        Next::AskModel,
    );
    check(
        "timed out",
        &with(&one, &[required("a"), resolved("a", ResolutionSource::Timeout), denied("a")]),
        Next::AskModel,
    );

    let nobody = next(&transcript(&with(&one, &[required("a"), resolved("a", ResolutionSource::AuthFailure)])), &[]);
    assert!(matches!(nobody, Next::Finish(TurnReport::Failed { error }) if error.message.contains("nobody is asked")));
}

#[test]
fn several_calls() {
    let asked = |names: &[(&str, &str)], more: &[Event]| {
        let calls: Vec<Event> = names.iter().flat_map(|(id, name)| called(id, name)).collect();
        [&[requested(), completed(None)], calls.as_slice(), more].concat()
    };
    check("reads together", &asked(&[("a", "read"), ("b", "read")], &[]), run(&["a", "b"]));
    check("a write ends the row", &asked(&[("a", "read"), ("b", "write"), ("c", "read")], &[]), run(&["a"]));
    check("writes alone", &asked(&[("a", "write"), ("b", "write")], &[]), run(&["a"]));
    check("what nobody knows alone", &asked(&[("a", "what"), ("b", "read")], &[]), run(&["a"]));
    check("work goes before waiting", &asked(&[("a", "write"), ("b", "write")], &[required("a")]), run(&["b"]));
    check("one is still open", &asked(&[("a", "write"), ("b", "write")], &[required("a"), result("b")]), Next::Wait);
    let nine: Vec<(String, &str)> = (0..9).map(|at| (format!("c{at}"), "read")).collect();
    let nine: Vec<(&str, &str)> = nine.iter().map(|(id, name)| (id.as_str(), *name)).collect();
    check("not all at once", &asked(&nine, &[]), run(&["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"]));
}

#[test]
fn the_transcript_keeps_what_a_call_was_and_came_to() {
    let mut events = vec![requested(), completed(Some("t"))];
    events.extend(called("a", "write"));
    events.extend([progress("a", ToolState::Running), result("a")]);
    let whole = transcript(&events);
    let call = &whole.rounds[0].calls[0];
    assert_eq!(
        (call.tool_name.as_str(), &call.arguments, call.arguments_digest.as_str()),
        ("write", &json!({ "for": "a" }), "sha256:a")
    );
    assert_eq!((call.attempts, call.effect), (1, Effect::Once));
    let outcome = Outcome::Succeeded { preview: Some("r".to_owned()), structured: None, result_ref: None };
    assert_eq!(call.state, CallState::Done(Box::new(outcome)));
}
