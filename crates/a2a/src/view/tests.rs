//! The fold by itself: what of each fact is shown, and that pieces put together are what a snapshot has. What it does on a
//! real runtime is tested where it is served.

use factum_model::id::EventId;
use factum_model::{SCHEMA_VERSION, Scope, Trace};
use serde_json::json;
use uuid::Uuid;

use super::content::Outputs;
use super::*;

struct NoOutputs;

impl Outputs for NoOutputs {
    async fn bytes(&self, _: &OutputRef) -> Option<Vec<u8>> {
        None
    }
}

/// Facts of one task, numbered as they come.
struct Log {
    view: TaskView,
    sequence: u64,
}

impl Log {
    fn new() -> Self {
        let linked = json!({
            "direction": "inbound", "native_protocol": "a2a", "remote_task_id": "r1", "remote_context_id": "c1",
            "remote_agent_ref": "agent://alice", "delivery_mechanism": "polling", "remote_status": "queued",
            "recovery": "running",
        });
        let first = event(1, json!({ "task_id": "t" }), "channel.peer_task.linked", linked);
        let view = TaskView::begin(&first).expect("the fact that links it");
        let mut log = Self { view, sequence: 1 };
        let submitted = json!({
            "input": [{ "type": "text", "text": "hello" }], "source": "agent://alice", "agent": "demo",
            "status": "accepted", "on_busy": "queue",
        });
        log.tell(json!({ "task_id": "t", "turn_id": "u" }), "turn.submitted", submitted);
        log.tell(
            json!({ "task_id": "t", "turn_id": "u" }),
            "task.started",
            json!({ "status": "running", "started_by": "x", "attempt_count": 1 }),
        );
        log
    }

    fn tell(&mut self, scope: Value, class: &str, payload: Value) -> Vec<Shown> {
        self.sequence += 1;
        self.view.apply(&event(self.sequence, scope, class, payload))
    }

    fn delta(&mut self, text: &str) -> Vec<Shown> {
        self.tell(json!({ "turn_id": "u" }), "model.delta", json!({ "text": text, "index": 0 }))
    }

    fn answered(&mut self, text: &str) -> Vec<Shown> {
        let payload = json!({ "stop_reason": "end_turn", "text": text, "tool_calls": 0 });
        self.tell(json!({ "turn_id": "u" }), "model.completed", payload)
    }

    /// An answer that calls a tool: the turn goes on behind it.
    fn calls(&mut self, text: &str) -> Vec<Shown> {
        let payload = json!({ "stop_reason": "tool_use", "text": text, "tool_calls": 1 });
        self.tell(json!({ "turn_id": "u" }), "model.completed", payload)
    }

    fn cut_off(&mut self) -> Vec<Shown> {
        let error = json!({ "category": "flaky", "message": "", "retryable": true });
        self.tell(json!({ "turn_id": "u" }), "model.failed", json!({ "error": error, "will_retry": true }))
    }

    /// It is not asked again.
    fn fails(&mut self) -> Vec<Shown> {
        let error = json!({ "category": "broken", "message": "", "retryable": false });
        self.tell(json!({ "turn_id": "u" }), "model.failed", json!({ "error": error, "will_retry": false }))
    }

    fn cancelled(&mut self) -> Vec<Shown> {
        self.tell(json!({ "task_id": "t" }), "task.cancelled", json!({ "status": "cancelled", "cancelled_by": "x" }))
    }

    fn asks(&mut self, action: &str, kind: &str) -> Vec<Shown> {
        let payload = json!({ "action_type": kind, "prompt": action, "on_timeout": "wait" });
        self.tell(json!({ "turn_id": "u", "action_id": action }), "action.required", payload)
    }

    fn resolved(&mut self, action: &str) -> Vec<Shown> {
        let payload = json!({ "action_type": "input", "decision": "x", "resolved_by": "y", "source": "response" });
        self.tell(json!({ "turn_id": "u", "action_id": action }), "action.resolved", payload)
    }
}

fn event(sequence: u64, scope: Value, class: &str, payload: Value) -> Event {
    Event {
        event_id: EventId::from_uuid(Uuid::from_u128(sequence.into())),
        timestamp: Timestamp::from_millisecond(sequence as i64).expect("a time"),
        sequence,
        schema_version: SCHEMA_VERSION.into(),
        runtime_id: "rt_1".parse().expect("an id"),
        scope: serde_json::from_value::<Scope>(scope).expect("a scope"),
        trace: Trace::default(),
        fact: Fact::decode(class, &payload.to_string()).expect("a fact"),
        refs: Default::default(),
    }
}

/// What a client has that puts the pieces together as the protocol says.
fn put_together(shown: impl IntoIterator<Item = Shown>) -> String {
    let mut text = String::new();
    for shown in shown {
        let Shown::Artifact { piece: Piece::Text(piece), append, .. } = shown else { continue };
        if !append {
            text.clear();
        }
        text.push_str(&piece);
    }
    text
}

/// A client that collects pieces has to know when it has them all (`lastChunk`).
#[test]
fn the_last_piece_of_a_text_says_so() {
    let pieces = |shown: Vec<Shown>| -> Vec<(String, bool, bool)> {
        let piece = |shown: Shown| match shown {
            Shown::Artifact { piece: Piece::Text(text), append, last, .. } => Some((text, append, last)),
            _ => None,
        };
        shown.into_iter().filter_map(piece).collect()
    };
    let said = |text: &str, append, last| (text.to_owned(), append, last);

    let mut streams = Log::new();
    let shown = [streams.delta("one "), streams.calls("one "), streams.delta("two"), streams.answered("two")].concat();
    assert_eq!(pieces(shown), [said("one ", false, false), said("two", true, false), said("", true, true)]);

    let mut answers_at_once = Log::new();
    let shown = [answers_at_once.calls("one "), answers_at_once.answered("two")].concat();
    assert_eq!(pieces(shown), [said("one ", false, false), said("two", true, true)]);

    let mut taken_back = Log::new();
    let shown = [taken_back.delta("one"), taken_back.cut_off(), taken_back.answered("two")].concat();
    assert_eq!(pieces(shown), [said("one", false, false), said("two", false, true)]);

    let mut says_nothing = Log::new();
    assert_eq!(pieces(says_nothing.answered("")), []);
}

/// An answer that failed in the middle is asked again: what it had said is taken back, on the wire too.
#[test]
fn text_that_was_taken_back_is_replaced() {
    let mut log = Log::new();
    let mut shown = log.delta("one ");
    shown.extend(log.calls("one "));
    shown.extend(log.delta("two"));
    shown.extend(log.cut_off());
    shown.extend(log.delta("three "));
    shown.extend(log.delta("four"));
    shown.extend(log.answered("three four"));
    assert_eq!(put_together(shown), "one three four");
    assert_eq!(log.view.answer_text(), "one three four");
}

#[test]
fn an_answer_without_pieces_comes_whole() {
    let mut log = Log::new();
    let shown = log.answered("all at once");
    assert_eq!(put_together(shown), "all at once");
}

/// A retry that says nothing leaves nothing of what was taken back.
#[test]
fn a_retry_may_say_less() {
    let mut log = Log::new();
    let mut shown = log.delta("draft");
    shown.extend(log.cut_off());
    shown.extend(log.answered(""));
    assert_eq!(log.view.answer_text(), "");
    assert_eq!(put_together(shown), "");
}

/// Text that nothing follows stays: a client has it already, and whoever asks later gets the same.
#[test]
fn what_was_said_before_the_end_stays() {
    let mut fails = Log::new();
    let shown = [fails.delta("This will not end well."), fails.fails()].concat();
    let kept = "This will not end well.".to_owned();
    assert_eq!((put_together(shown), fails.view.answer_text()), (kept.clone(), kept));

    for end in [Log::fails, Log::cancelled] {
        let mut log = Log::new();
        let mut shown = log.delta("one ");
        shown.extend(log.calls("one "));
        shown.extend(log.delta("two"));
        shown.extend(log.cut_off());
        shown.extend(end(&mut log));
        assert_eq!((put_together(shown), log.view.answer_text()), ("one ".to_owned(), "one ".to_owned()));
    }
}

/// What is shown is what an answer is taken for, so it does not change under the client that reads it.
#[test]
fn the_oldest_question_is_shown_until_it_is_decided() {
    let shown = |log: &Log| {
        let message = log.view.status_message.as_ref();
        let action_id =
            message.and_then(|message| message.metadata.as_ref()).map(|metadata| metadata["action_id"].clone());
        (log.view.state.clone(), message.and_then(Message::text).map(str::to_owned), action_id)
    };
    let asked = |state, action: &str| (state, Some(action.to_owned()), Some(json!(action)));
    let mut log = Log::new();
    log.asks("which", "input");
    for (later, kind) in [("may_i", "tool_permission"), ("may_i_too", "tool_permission"), ("and_which", "input")] {
        assert!(log.asks(later, kind).is_empty(), "it is asked when its turn comes");
        assert_eq!(shown(&log), asked(TaskState::InputRequired, "which"));
    }
    assert!(log.resolved("may_i_too").is_empty(), "what is not shown does not change what is");
    assert_eq!(log.resolved("which").len(), 1);
    assert_eq!(shown(&log), asked(TaskState::AuthRequired, "may_i"));
    log.resolved("may_i");
    assert_eq!(shown(&log), asked(TaskState::InputRequired, "and_which"));
    assert!(log.resolved("something_else").is_empty());
    log.resolved("and_which");
    assert_eq!(shown(&log), (TaskState::Working, None, None));
}

/// A stream shows the same whether the whole task is remembered behind it or not, and a stream may be open for days.
#[test]
fn what_changes_takes_little_to_know() {
    let tell = |log: &mut Log| -> Vec<Shown> {
        let mut shown = log.delta("one ");
        shown.extend(log.calls("one "));
        shown.extend(log.delta("two"));
        shown.extend(log.cut_off());
        shown.extend(log.delta("three"));
        shown.extend(log.answered("three"));
        shown.extend(log.asks("which", "input"));
        shown.extend(log.resolved("which"));
        let parts = json!([{ "type": "text", "text": "go on" }]);
        let said = json!({ "kind": "message", "direction": "inbound", "parts": parts });
        shown.extend(log.tell(json!({ "task_id": "t" }), "channel.message", said));
        let submitted = json!({
            "input": parts, "source": "agent://alice", "agent": "demo", "status": "accepted", "on_busy": "queue",
        });
        shown.extend(log.tell(json!({ "task_id": "t", "turn_id": "v" }), "turn.submitted", submitted));
        let delta = json!({ "text": "four", "index": 0 });
        shown.extend(log.tell(json!({ "turn_id": "v" }), "model.delta", delta));
        let content = json!({ "ref": "blob:sha256:00", "media_type": "text/plain", "size": 5, "preview_dropped": 5 });
        let changed = json!({ "name": "a.txt", "change": "created", "version": 1, "content": content });
        shown.extend(log.tell(json!({ "turn_id": "v", "artifact_id": "art_1" }), "artifact.changed", changed));
        shown.extend(log.cancelled());
        shown
    };
    let (mut whole, mut changes) = (Log::new(), Log::new());
    changes.view.show_changes_only();
    assert_eq!(tell(&mut whole), tell(&mut changes));
    assert_eq!((whole.view.history.len(), whole.view.answer_text().as_str()), (3, "one threefour"));
    assert_eq!((changes.view.history.len(), changes.view.answer_text().as_str()), (0, "four"));
    assert_eq!((whole.view.artifacts.all.len(), changes.view.artifacts.all.len()), (3, 1));
}

#[test]
fn what_is_over_does_not_change() {
    let mut log = Log::new();
    let ended = json!({ "status": "completed", "completed_by": "x", "delivery_state": "pending" });
    assert_eq!(log.tell(json!({ "task_id": "t" }), "task.completed", ended).len(), 1);
    assert!(log.delta("more").is_empty());
    assert!(log.asks("which", "input").is_empty());
    assert_eq!((log.view.state.clone(), log.view.answer_text()), (TaskState::Completed, String::new()));
}

#[test]
fn other_work_in_the_session_passes_by() {
    let mut log = Log::new();
    assert!(log.tell(json!({ "turn_id": "other" }), "model.delta", json!({ "text": "x", "index": 0 })).is_empty());
    let started = json!({ "status": "running", "started_by": "x", "attempt_count": 1 });
    assert!(log.tell(json!({ "task_id": "other" }), "task.started", started).is_empty());
    assert_eq!(log.view.sequence, log.sequence, "it knows that it has seen them");
}

#[tokio::test]
async fn history_is_cut_from_its_beginning_and_content_that_is_gone_says_so() {
    let mut log = Log::new();
    log.asks("which", "input");
    log.resolved("which");
    let content = json!({ "ref": "blob:sha256:00", "media_type": "text/plain", "size": 5, "preview_dropped": 5 });
    let changed = json!({ "name": "a.txt", "change": "created", "version": 1, "content": content });
    log.tell(json!({ "turn_id": "u", "artifact_id": "art_1" }), "artifact.changed", changed);
    let task = log.view.task(Some(1), true, &NoOutputs).await;
    assert_eq!(task.history.as_ref().map(Vec::len), Some(1));
    assert_eq!(log.view.task(Some(0), true, &NoOutputs).await.history, None);
    assert_eq!(log.view.task(None, false, &NoOutputs).await.artifacts, None);
    let part = &task.artifacts.expect("artifacts")[0].parts[0];
    assert!(part.as_text().is_some_and(|text| text.contains("not to be had")), "{part:?}");
}

/// What the agent said before a message came stands before it.
#[test]
fn the_conversation_is_in_the_order_it_was_had() {
    let mut log = Log::new();
    log.tell(json!({ "task_id": "t" }), "task.lost", json!({ "status": "lost", "reason": "the worker is gone" }));
    let parts = json!([{ "type": "text", "text": "are you there?" }]);
    let payload = json!({ "kind": "message", "direction": "inbound", "parts": parts });
    log.tell(json!({ "task_id": "t" }), "channel.message", payload);
    let said: Vec<&str> = log.view.history.iter().filter_map(Message::text).collect();
    assert_eq!(said, ["hello", "the worker is gone", "are you there?"]);
}

/// A question without words is asked by the state alone. There is nothing of it to remember.
#[test]
fn what_says_nothing_is_no_part_of_the_conversation() {
    let mut log = Log::new();
    let mut asks = |action: &str, payload: Value| {
        let shown = log.tell(json!({ "turn_id": "u", "action_id": action }), "action.required", payload);
        assert_eq!(shown.len(), 1, "it is asked all the same");
        log.resolved(action);
    };
    asks("empty", json!({ "action_type": "input", "prompt": "", "on_timeout": "wait" }));
    asks("blank", json!({ "action_type": "input", "prompt": " \n", "on_timeout": "wait" }));
    let decisions = ["allow", "deny"];
    asks("data", json!({ "action_type": "review", "prompt": "", "decisions": decisions, "on_timeout": "wait" }));
    let kept: Vec<usize> = log.view.history.iter().map(|message| message.parts.len()).collect();
    assert_eq!(kept, [1, 2], "what is no text says something");
}

/// Whoever asks its peers for help asks for what they need, too.
#[test]
fn what_a_peer_asks_that_its_turn_gave_work_to_is_asked_here() {
    let mut log = Log::new();
    let made = json!({
        "status": "queued", "requested_by": "x", "objective": "count", "visibility": "foreground", "priority": "normal",
        "task_kind": "delegation", "peer": "north",
    });
    assert!(log.tell(json!({ "task_id": "given", "turn_id": "u" }), "task.created", made).is_empty());
    let asked = json!({ "action_type": "input", "prompt": "which?", "on_timeout": "wait" });
    log.tell(json!({ "task_id": "given", "action_id": "act_1" }), "action.required", asked);
    assert_eq!(log.view.state, TaskState::InputRequired);
    let answered = json!({ "action_type": "input", "decision": "x", "resolved_by": "y", "source": "response" });
    log.tell(json!({ "action_id": "act_1" }), "action.resolved", answered);
    assert_eq!(log.view.state, TaskState::Working);
    let completed = json!({ "status": "completed", "completed_by": "x", "delivery_state": "not_applicable" });
    assert!(log.tell(json!({ "task_id": "given" }), "task.completed", completed).is_empty(), "it is not over by that");
    assert_eq!(log.view.state, TaskState::Working);
}

/// An agent may say that it does not do what it was asked, which is not the same as to fail at it.
#[test]
fn a_task_is_rejected_or_has_failed() {
    for (category, state) in [("rejected", TaskState::Rejected), ("model_error", TaskState::Failed)] {
        let mut log = Log::new();
        let error = json!({ "category": category, "message": "not done here", "retryable": false });
        let payload = json!({ "status": "failed", "error": error, "failed_by": "x" });
        log.tell(json!({ "task_id": "t" }), "task.failed", payload);
        let said = log.view.status_message.as_ref().and_then(|message| message.text().map(str::to_owned));
        assert_eq!((&log.view.state, said.as_deref()), (&state, Some("not done here")));
        assert!(log.view.is_over());
    }
}
