//! Everything that can be done to a session, as values that proptest makes up and takes apart.
//!
//! Ids come from small pools, so that moves meet: a turn is named while it is queued, active or over, an action while it
//! is open or resolved, a run while it is current or stale.

use factum_model::events::{OnTimeout, Phase, ToolOwner};
use factum_model::id::{ActionId, ThreadId};
use factum_model::report::{Chunk, Ends, Gate, ModelAnswer, Report, Runner, ToolDraft, ToolReport, TurnReport};
use factum_model::value::{Effect, OnBusy};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::world::*;
use crate::session::{ActiveTurn, OpenModelRequest};

/// What a running turn reports.
#[derive(Clone, Debug)]
pub(super) enum Say {
    Ask,
    Stream,
    Answer {
        calls: Vec<ToolDraft>,
        /// Pieces that come with it.
        last_words: u32,
        /// Whether it says that the turn ends with it.
        ends: bool,
    },
    ModelFails,
    Run {
        call: usize,
        digest_is_right: bool,
    },
    Progress {
        call: usize,
    },
    EndTool {
        call: usize,
        well: bool,
    },
    Status,
    End {
        well: bool,
    },
}

#[derive(Clone, Debug)]
pub(super) enum Move {
    Submit { turn: u8, thread: usize, on_busy: OnBusy, metadata: Value },
    Interrupt { turn: Option<u8>, thread: Option<usize> },
    Remove { turn: u8 },
    Promote { turn: u8, position: Option<u32> },
    Resume { thread: usize },
    Update { metadata: Value },
    Respond { action: usize, decision: &'static str, payload: Option<Value> },
    Fire { action: usize },
    Wait { ms: i64 },
    Restart,
    Report { thread: usize, stale: bool, say: Say },
    Snapshot,
    Key { keyed: bool },
    Opening { known: bool },
}

/// One move at random. What a turn does by itself is the most frequent.
pub(super) fn any_move() -> impl Strategy<Value = Move> {
    let turn = || 0..8_u8;
    let thread = || 0..2_usize;
    prop_oneof![
        6 => (turn(), thread(), any_on_busy(), any_object())
            .prop_map(|(turn, thread, on_busy, metadata)| Move::Submit { turn, thread, on_busy, metadata }),
        1 => (proptest::option::of(turn()), proptest::option::of(thread()))
            .prop_map(|(turn, thread)| Move::Interrupt { turn, thread }),
        1 => turn().prop_map(|turn| Move::Remove { turn }),
        2 => (turn(), proptest::option::of(0..4_u32)).prop_map(|(turn, position)| Move::Promote { turn, position }),
        1 => thread().prop_map(|thread| Move::Resume { thread }),
        1 => any_object().prop_map(|metadata| Move::Update { metadata }),
        8 => (0..6_usize, any_decision(), proptest::option::of(any_json()))
            .prop_map(|(action, decision, payload)| Move::Respond { action, decision, payload }),
        6 => (0..6_usize).prop_map(|action| Move::Fire { action }),
        4 => (0..300_i64).prop_map(|ms| Move::Wait { ms }),
        3 => Just(Move::Restart),
        40 => (thread(), proptest::bool::weighted(0.05), any_say())
            .prop_map(|(thread, stale, say)| Move::Report { thread, stale, say }),
        1 => Just(Move::Snapshot),
        1 => any::<bool>().prop_map(|keyed| Move::Key { keyed }),
        1 => any::<bool>().prop_map(|known| Move::Opening { known }),
    ]
}

fn any_say() -> impl Strategy<Value = Say> {
    let call = || 0..3_usize;
    prop_oneof![
        6 => Just(Say::Ask),
        1 => Just(Say::Stream),
        6 => (proptest::collection::vec(any_draft(), 0..4), 0..3_u32, any::<bool>())
            .prop_map(|(calls, last_words, ends)| Say::Answer { calls, last_words, ends }),
        1 => Just(Say::ModelFails),
        6 => (call(), proptest::bool::weighted(0.9))
            .prop_map(|(call, digest_is_right)| Say::Run { call, digest_is_right }),
        1 => call().prop_map(|call| Say::Progress { call }),
        5 => (call(), any::<bool>()).prop_map(|(call, well)| Say::EndTool { call, well }),
        1 => Just(Say::Status),
        6 => proptest::bool::weighted(0.7).prop_map(|well| Say::End { well }),
    ]
}

fn any_draft() -> impl Strategy<Value = ToolDraft> {
    let effect = prop_oneof![Just(Effect::Pure), Just(Effect::Idempotent), Just(Effect::Once), Just(Effect::Unknown)];
    (effect, any_gate(), any_json()).prop_map(|(effect, gate, arguments)| ToolDraft {
        tool_name: "tool".into(),
        arguments,
        owner: ToolOwner::Local,
        effect,
        gate,
        native_call_id: None,
    })
}

fn any_gate() -> impl Strategy<Value = Gate> {
    let timeout = || (proptest::option::of(0..200_u64), any_on_timeout());
    prop_oneof![
        2 => Just(Gate::Open),
        2 => timeout().prop_map(|(timeout_ms, on_timeout)| Gate::Approval { prompt: "?".into(), timeout_ms, on_timeout }),
        1 => (timeout(), proptest::option::of(any_json())).prop_map(|((timeout_ms, on_timeout), input_schema)| {
            Gate::Question { prompt: "?".into(), input_schema, timeout_ms, on_timeout }
        }),
    ]
}

fn any_on_timeout() -> impl Strategy<Value = OnTimeout> {
    prop_oneof![Just(OnTimeout::Wait), Just(OnTimeout::Deny), Just(OnTimeout::Cancel)]
}

fn any_on_busy() -> impl Strategy<Value = OnBusy> {
    prop_oneof![4 => Just(OnBusy::Queue), 1 => Just(OnBusy::Reject), 1 => Just(OnBusy::Interrupt)]
}

fn any_decision() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "allow", " Approve", "deny", "no", "retry", "Retry ", "skip", "fail", "fail", "blue", "", "cancel",
    ])
}

/// JSON with everything that is easily lost on the way: nulls, fractions, large numbers, odd texts.
pub(super) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("JSON has no such number", |number| number.is_finite().then(|| json!(number))),
        "\\PC{0,6}|[\\x00-\\x20\"\\\\]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from), object_of(inner)]
    })
}

fn any_object() -> impl Strategy<Value = Value> {
    object_of(any_json())
}

fn object_of(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    proptest::collection::vec(("[a-d]{1,2}", inner), 0..3)
        .prop_map(|entries| Value::Object(entries.into_iter().collect()))
}

/// Does one move. What the state does not allow is refused, and the world checks all that is written.
pub(super) fn play(world: &mut World, next: Move) -> Vec<String> {
    match next {
        Move::Submit { turn, thread, on_busy, metadata } => {
            let thread_id = thread_id(world, thread);
            let turn_id = turn_name(turn);
            let params =
                json!({ "turn_id": turn_id, "thread_id": thread_id, "on_busy": on_busy, "metadata": metadata });
            world.submit_told(params)
        }
        Move::Interrupt { turn, thread } => {
            let thread_id = thread.map(|thread| thread_id(world, thread));
            world.interrupt(json!({ "turn_id": turn.map(turn_name), "thread_id": thread_id }))
        }
        Move::Remove { turn } => world.remove(json!({ "queued_turn_id": turn_name(turn) })),
        Move::Promote { turn, position } => {
            world.promote(json!({ "queued_turn_id": turn_name(turn), "position": position }))
        }
        Move::Resume { thread } => {
            let thread_id = thread_id(world, thread);
            world.resume(json!({ "thread_id": thread_id }))
        }
        Move::Update { metadata } => world.update(json!({ "metadata": metadata })),
        Move::Respond { action, decision, payload } => match some_action(world, action) {
            None => Vec::new(),
            Some(action_id) => {
                world.respond_params(json!({ "action_id": action_id, "decision": decision, "payload": payload }))
            }
        },
        Move::Fire { action } => some_action(world, action).map_or_else(Vec::new, |action_id| world.expire(&action_id)),
        Move::Wait { ms } => {
            world.later(ms);
            Vec::new()
        }
        Move::Restart => world.recover(),
        Move::Report { thread, stale, say } => report(world, thread, stale, say),
        Move::Snapshot => {
            world.watch.restore_from_snapshot(&world.state);
            Vec::new()
        }
        Move::Key { keyed } => {
            world.key = keyed.then_some("key");
            Vec::new()
        }
        Move::Opening { known } => {
            world.opening = known.then(intent);
            Vec::new()
        }
    }
}

fn turn_name(turn: u8) -> String {
    format!("t{turn}")
}

fn thread_id(world: &World, thread: usize) -> ThreadId {
    world.state.threads[thread % world.state.threads.len()].thread_id.clone()
}

/// An open action, or one of the last that were there.
fn some_action(world: &World, nth: usize) -> Option<ActionId> {
    let open = world.state.actions.iter().map(|action| action.action_id.clone());
    open.chain(world.watch.recent_actions()).nth(nth)
}

fn report(world: &mut World, thread: usize, stale: bool, say: Say) -> Vec<String> {
    let thread = &world.state.threads[thread % world.state.threads.len()];
    let Some(turn) = thread.active.clone() else { return Vec::new() };
    let attempt = if stale { turn.attempt.wrapping_sub(1) } else { turn.attempt };
    let runner = Runner { thread_id: thread.thread_id.clone(), turn_id: turn.turn_id.clone(), attempt };
    let told = said(&turn, say).map_or_else(Vec::new, |report| world.report_as(&runner, report));
    assert!(!stale || told.is_empty() || told[0].starts_with("refused"), "a stale run changed something: {told:?}");
    told
}

fn said(turn: &ActiveTurn, say: Say) -> Option<Report> {
    let call = |nth: usize| turn.calls.get(nth).cloned();
    Some(match say {
        Say::Ask => model_requested(),
        Say::Stream => {
            let OpenModelRequest { request_id, step_id } = turn.model_request.clone()?;
            Report::ModelStreamed { request_id, step_id, chunks: vec![Chunk::Text { text: "h".into(), index: 0 }] }
        }
        Say::Answer { calls, last_words, ends } => {
            let OpenModelRequest { request_id, step_id } = turn.model_request.clone()?;
            let chunks = (0..last_words).map(|index| Chunk::Text { text: "h".into(), index }).collect();
            let ends = ends.then(|| Ends { preview: Some("hi".into()) });
            Report::ModelCompleted { request_id, step_id, answer: ModelAnswer { chunks, ends, ..model_answer(calls) } }
        }
        Say::ModelFails => {
            let OpenModelRequest { request_id, step_id } = turn.model_request.clone()?;
            Report::ModelFailed { request_id, step_id, error: failure("overloaded"), will_retry: true }
        }
        Say::Run { call: nth, digest_is_right } => {
            let call = call(nth)?;
            let arguments_digest = if digest_is_right { call.arguments_digest } else { "sha256:other".into() };
            Report::ToolRunning { tool_call_id: call.tool_call_id, arguments_digest }
        }
        Say::Progress { call: nth } => {
            Report::ToolProgressed { tool_call_id: call(nth)?.tool_call_id, message: None, percent: None }
        }
        Say::EndTool { call: nth, well } => {
            let failed = ToolReport::Failed { error: failure("exit"), duration_ms: 1 };
            let outcome = if well { succeeded() } else { failed };
            Report::ToolFinished { tool_call_id: call(nth)?.tool_call_id, outcome }
        }
        Say::Status => Report::Status { phase: Phase::Working, title: "At work".into(), detail: None },
        Say::End { well: true } => Report::TurnFinished { outcome: completed() },
        Say::End { well: false } => {
            Report::TurnFinished { outcome: TurnReport::Failed { error: failure("model_error") } }
        }
    })
}
