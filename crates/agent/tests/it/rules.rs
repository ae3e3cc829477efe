//! The rules of the loop: tries, timeouts, several calls, panics, nonsense, bounds.

use std::sync::Arc;

use async_trait::async_trait;
use factum_agent::{
    Agent, Answer, Host, MODEL_ROUNDS_MAX, MODEL_TRIES_MAX, Model, ModelRequest, Progress, ProgressSink, Sink, Stopped,
    ToolInvocation, ToolOutput, Tools, Turn, run_turn,
};
use factum_model::Fact;
use factum_model::events::{ActionRequired, ToolEntry, ToolOwner};
use factum_model::report::{Gate, ToolDraft};
use factum_model::value::{Effect, Failure};
use serde_json::{Value, json};

use crate::world::{Watched, World, scripted};

/// What a run may hold while it waits for its model, apart from what was said so far.
const RUN_BYTES_MAX: usize = 1_024;

fn nobody(required: &ActionRequired) -> (&'static str, Option<Value>) {
    panic!("nothing should be asked: {}", required.prompt)
}

async fn play(steps: &str) -> World {
    let world = World::with_turn("go");
    world.drive(&scripted(steps), nobody).await;
    world
}

#[tokio::test(start_paused = true)]
async fn a_failing_model_is_asked_again_a_bounded_number_of_times() {
    let tries = MODEL_TRIES_MAX as usize;
    for (error, requests, ended) in [
        (r#"retryable = true"#, tries, "failed: c: m"),
        (r#"retryable = false"#, 1, "failed: c: m"),
        (r#"times = 2"#, 3, "completed: end_turn"),
        (r#"times = 2, retryable = false"#, 1, "failed: c: m"),
        (r#"times = 9"#, tries, "failed: c: m"),
    ] {
        let steps =
            format!(r#"{{ say = "a " }}, {{ error = {{ category = "c", message = "m", {error} }} }}, {{ say = "b" }}"#);
        let world = play(&steps).await;
        assert_eq!((world.count("model.requested"), world.ended().as_str()), (requests, ended), "{error}");
        let retried =
            world.facts().into_iter().filter(|fact| matches!(fact, Fact::ModelFailed(failed) if failed.will_retry));
        assert_eq!(retried.count(), requests - 1, "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn tries_count_anew_in_each_round() {
    let error = r#"{ error = { message = "m", times = 3 } }"#;
    let world = play(&format!(r#"{error}, {{ tool = {{ name = "t" }} }}, {error}, {{ say = "done" }}"#)).await;
    assert_eq!((world.count("model.failed"), world.ended().as_str()), (6, "completed: end_turn"));
}

#[tokio::test(start_paused = true)]
async fn an_input_without_an_entry_fails_the_turn() {
    let text = "name = \"test\"\n[[on]]\nequals = \"ping\"\nsteps = [{ say = \"pong\" }]";
    let agent = Agent::from_script(factum_agent::Script::parse("test.toml", text).unwrap());
    let world = World::with_turn("pang");
    world.drive(&agent, nobody).await;
    assert_eq!(world.ended(), "failed: script_no_entry: the script \"test\" has no entry for this input");
}

#[tokio::test(start_paused = true)]
async fn timeouts_do_what_was_declared_and_never_approve() {
    let steps = |on_timeout| {
        format!(
            r#"{{ tool = {{ name = "t", approval = true, timeout_ms = 5, on_timeout = "{on_timeout}", save = "t" }} }}, {{ say = "{{t.outcome}}" }}"#
        )
    };
    for (on_timeout, ended, said) in
        [("deny", "completed: end_turn", "timed_out"), ("cancel", "failed: timeout: nobody answered in time", "")]
    {
        let (agent, watched) = Watched::agent(scripted(&steps(on_timeout)));
        let world = World::with_turn("go");
        assert_eq!(world.run(&agent).await, Some(Ok(Progress::Waiting)));
        world.expire_all();
        assert_eq!(world.run(&agent).await, Some(Ok(Progress::Finished)));
        assert_eq!((world.ended().as_str(), world.said().as_str(), watched.runs.lock().len()), (ended, said, 0));
    }
    let agent = scripted(&steps("wait"));
    let world = World::with_turn("go");
    world.run(&agent).await;
    world.expire_all();
    assert_eq!((world.run(&agent).await, world.open_actions().len()), (Some(Ok(Progress::Waiting)), 1));
}

#[tokio::test(start_paused = true)]
async fn pure_calls_run_together_and_others_alone() {
    let five = |effect: &str| {
        let call = format!(r#"{{ name = "t", effect = "{effect}", duration_ms = 1000 }}"#);
        format!("{{ tools = [{}] }}", vec![call; 5].join(", "))
    };
    for (effect, most) in [("pure", 5), ("idempotent", 1), ("once", 1)] {
        let (agent, watched) = Watched::agent(scripted(&five(effect)));
        let world = World::with_turn("go");
        world.drive(&agent, nobody).await;
        assert_eq!((watched.most_at_once(), world.count("tool.result")), (most, 5), "{effect}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_of_several_calls_waits_for_its_own_decision() {
    let steps = r#"
        { tools = [{ name = "a", approval = true, save = "a" }, { ask = "why?", save = "b" }, { name = "c", save = "c" }] },
        { say = "{a.outcome} {b} {c}" }"#;
    let (agent, watched) = Watched::agent(scripted(steps));
    let world = World::with_turn("go");
    assert_eq!(world.run(&agent).await, Some(Ok(Progress::Waiting)));
    assert_eq!((world.open_actions().len(), watched.runs.lock().len()), (2, 1));
    let (ask, _) = world.open_actions().remove(1);
    world.respond(&ask, "answer", Some(json!("because"))).unwrap();
    assert_eq!(world.run(&agent).await, Some(Ok(Progress::Waiting)));
    let (approval, _) = world.open_actions().remove(0);
    world.respond(&approval, "no", None).unwrap();
    assert_eq!(world.run(&agent).await, Some(Ok(Progress::Finished)));
    assert_eq!((world.said().as_str(), watched.runs.lock().len()), ("denied because ok", 1));
    assert_eq!(world.run(&agent).await, Some(Ok(Progress::Finished)), "a turn that is over stays over");
}

#[tokio::test(start_paused = true)]
async fn scripts_repeat_skip_count_and_finish() {
    let world = play(r#"
        { repeat = { times = 2, steps = [
            { tool = { name = "t", args = { n = "{index}" }, result = { n = "{index}", list = [{ x = 7 }] }, save = "t" } },
            { say = "{t.n}/{index}/{t.list.0.x}/{t.missing} " } ] } },
        { tool = { name = "u", error = "no luck", save = "u" }, when = { t = "succeeded" } },
        { tool = { name = "v", save = "v" }, when = { u = "succeeded" } },
        { say = "{u}, {u.error}, {v.outcome}{v} {options.colour} {agent} {{}} ", when = { v = "skipped" } },
        { usage = { input_tokens = 3 } }, { usage = { input_tokens = 4, output_tokens = 1 } },
        { finish = "enough", when = { u = ["failed", "lost"] } },
        { say = "not reached" }"#).await;
    assert_eq!(world.said(), "1/1/7/ 2/2/7/ no luck, no luck, skipped blue test {} ");
    assert_eq!(world.ended(), "completed: enough");
    let Some(Fact::TurnCompleted(end)) = world.facts().pop() else { panic!() };
    assert_eq!(end.usage.map(|usage| (usage.input_tokens, usage.output_tokens)), Some((Some(7), Some(1))));
}

#[tokio::test(start_paused = true)]
async fn status_and_progress_are_recorded_in_order() {
    let world = play(r#"
        { say = "a" }, { status = { phase = "verifying", title = "T" } }, { reasoning = "r" }, { reasoning_summary = "s" },
        { tool = { name = "t", duration_ms = 100, progress = ["one", "two"] } }"#).await;
    assert_eq!(
        world.names()[4..],
        [
            "model.requested",
            "model.delta",
            "run.status",
            "reasoning.delta",
            "reasoning.summary",
            "model.completed",
            "tool.started",
            "tool.args",
            "tool.progress",
            "tool.progress",
            "tool.progress",
            "tool.result",
            "model.requested",
            "model.completed",
            "turn.completed"
        ]
    );
    let notes: Vec<_> = world
        .facts()
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::ToolProgress(progress) => Some((progress.message, progress.percent)),
            _ => None,
        })
        .collect();
    assert_eq!(notes, [(None, None), (Some("one".to_owned()), Some(33)), (Some("two".to_owned()), Some(66))]);
}

#[tokio::test(start_paused = true)]
async fn a_long_answer_is_kept_as_a_blob_and_streamed_in_few_commits() {
    let world = World::with_turn(&"word ".repeat(20_000));
    world.drive(&scripted(r#"{ say = "{input}" }"#), nobody).await;
    assert_eq!((world.count("model.delta"), world.blobs().len()), (20_000, 1));
    assert!(world.reports() < 200, "{} reports", world.reports());
    let Some(Fact::ModelCompleted(end)) =
        world.facts().into_iter().find(|fact| matches!(fact, Fact::ModelCompleted(_)))
    else {
        panic!()
    };
    assert_eq!((end.text, end.text_ref.and_then(|text| text.size)), (None, Some(100_000)));
}

/// A model and tools that misbehave.
struct Bad(fn(ModelRequest<'_>) -> Result<Answer, Failure>);

#[async_trait]
impl Model for Bad {
    fn provider(&self) -> &str {
        "test"
    }
    fn name(&self) -> &str {
        "bad"
    }
    async fn answer(&self, request: ModelRequest<'_>, _: &Sink) -> Result<Answer, Failure> {
        (self.0)(request)
    }
}

#[async_trait]
impl Tools for Bad {
    fn catalog(&self) -> Vec<ToolEntry> {
        Vec::new()
    }
    async fn run(&self, call: &ToolInvocation<'_>, _: &ProgressSink) -> Result<ToolOutput, Failure> {
        panic!("{} fell over", call.name)
    }
}

async fn bad(answer: fn(ModelRequest<'_>) -> Result<Answer, Failure>) -> World {
    let (name, description) = ("test".to_owned(), String::new());
    let agent =
        Agent { name, description, accepts: Vec::new(), model: Arc::new(Bad(answer)), tools: Arc::new(Bad(answer)) };
    let world = World::with_turn("go");
    world.drive(&agent, nobody).await;
    world
}

fn call(tool_name: &str) -> ToolDraft {
    let tool_name = tool_name.to_owned();
    let (owner, effect, gate) = (ToolOwner::Local, Effect::Once, Gate::Open);
    ToolDraft { tool_name, arguments: Value::Null, owner, effect, gate, native_call_id: None }
}

#[tokio::test(start_paused = true)]
async fn models_and_tools_that_misbehave_never_hang_a_turn() {
    let failed = |message: &str| format!("failed: model_error: {message}");
    assert_eq!(bad(|_| panic!("boom")).await.ended(), failed("the model panicked: boom"));
    assert_eq!(
        bad(|_| Ok(Answer { calls: vec![call("x"); 65], ..Answer::default() })).await.ended(),
        failed("the answer asks for 65 tool calls; 64 are allowed")
    );
    assert_eq!(
        bad(|_| Ok(Answer { calls: vec![call(" ")], ..Answer::default() })).await.ended(),
        failed("the answer asks for a tool without a name")
    );
    assert_eq!(
        bad(|_| Err(Failure { category: "interrupted".into(), message: "m".into(), retryable: true, advice: None }))
            .await
            .ended(),
        failed("m")
    );
    let forever = bad(|_| Ok(Answer { calls: vec![call("x")], ..Answer::default() })).await;
    assert_eq!(forever.count("model.completed"), MODEL_ROUNDS_MAX);
    assert!(forever.ended().starts_with("failed: model_rounds_exceeded: "));
    let panicked = forever.facts().into_iter().find_map(|fact| match fact {
        Fact::ToolFailed(failed) => Some((failed.error.category, failed.error.message)),
        _ => None,
    });
    assert_eq!(panicked, Some(("tool_panicked".to_owned(), "the tool x panicked: x fell over".to_owned())));
}

#[test]
fn a_run_can_be_spawned() {
    fn check<F: Future + Send>(_: impl Fn(&'static Agent, Box<Turn>, &'static dyn Host) -> F) {}
    check(run_turn);
}

/// There may be a hundred thousand turns that wait for their models.
#[test]
fn a_run_is_small() {
    fn check<F: Future>(_: impl Fn(&'static Agent, Box<Turn>, &'static dyn Host) -> F) {
        let bytes = size_of::<F>();
        assert!(bytes <= RUN_BYTES_MAX, "a run takes {bytes} bytes");
    }
    check(run_turn);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_lost_its_turn_stops_quietly() {
    let world = World::with_turn("go");
    let stale = world.turn();
    // The recovery raised the attempt, so the older run of the turn is over.
    world.recover();
    let facts = world.names();
    let stopped = world.run_as(&scripted(r#"{ say = "a" }"#), stale).await;
    assert_eq!(stopped, Some(Err(Stopped::new("this run of the turn is over"))));
    assert_eq!(world.names(), facts);
}
