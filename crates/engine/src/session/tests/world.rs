//! A session with a log, an index, a clock that is set by hand and ids that are counted: the shell in miniature.

use std::collections::BTreeMap;

use factum_model::commands::*;
use factum_model::events::{CommandAccepted, OnTimeout, ThreadOrigin, ThreadStarted, ToolOwner};
use factum_model::id::*;
use factum_model::report::*;
use factum_model::task::TaskRow;
use factum_model::value::{Effect, Failure, Metadata, OnBusy, Part, Usage};
use factum_model::{Event, NewEvent, Refusal, SCHEMA_VERSION, Scope, Timestamp, Trace};
use serde_json::{Value, json};
use uuid::Uuid;

use super::invariants::{Watch, check_invariants};
use super::story::story;
use crate::session::*;
use crate::{Context, Decision, IndexChange, Limits, Through};

pub(in crate::session) const ACCOUNT: &str = "acme";
pub(in crate::session) const CALLER: &str = "agent://alice";
pub(in crate::session) const SIDE_THREAD: &str = "side";

/// Counts 1, 2, 3, …
#[derive(Clone, Default)]
pub(in crate::session) struct Counted(u128);

impl IdSource for Counted {
    fn next_uuid(&mut self) -> Uuid {
        self.0 += 1;
        Uuid::from_u128(self.0)
    }
}

/// What one commit did.
pub(in crate::session) struct Done<T> {
    pub output: T,
    pub events: Vec<Event>,
    pub changes: Vec<IndexChange>,
}

pub(in crate::session) struct World {
    pub state: SessionState,
    /// Encoded, as they would be stored, commit by commit.
    pub log: Vec<Vec<Vec<u8>>>,
    pub index: BTreeMap<Vec<u8>, Vec<u8>>,
    pub now: Timestamp,
    pub limits: Limits,
    /// Who gives the commands that follow.
    pub caller: &'static str,
    /// The remote channel that the commands that follow come through, if any.
    pub through: Option<Through>,
    /// The idempotency key of the commands that follow, if any.
    pub key: Option<&'static str>,
    /// What the agent does first with a turn, if that is known.
    pub opening: Option<ModelIntent>,
    pub ids: Counted,
    pub watch: Watch,
}

impl World {
    /// Nothing has happened.
    pub(in crate::session) fn new() -> Self {
        Self {
            state: SessionState::default(),
            log: Vec::new(),
            index: BTreeMap::new(),
            now: at(0),
            limits: Limits::default(),
            caller: CALLER,
            through: None,
            key: None,
            opening: None,
            ids: Counted::default(),
            watch: Watch::default(),
        }
    }

    /// A session without turns.
    pub(in crate::session) fn idle() -> Self {
        let mut world = Self::new();
        world.create(json!({})).expect("a session can be created");
        world
    }

    /// Decides and commits. A refusal writes nothing.
    pub(in crate::session) fn decide<T>(
        &mut self,
        decide: impl FnOnce(&SessionState, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    ) -> Result<Done<T>, Refusal> {
        let opening = |_: &str| self.opening.clone();
        let mut context = Context {
            now: self.now,
            ids: &mut self.ids,
            caller: self.caller,
            account: ACCOUNT,
            through: self.through.as_ref(),
            limits: &self.limits,
            prelude: u64::from(self.key.is_some()),
            opening: &opening,
        };
        let Decision { mut events, output } = decide(&self.state, &mut context)?;
        if let Some(key) = self.key {
            events.insert(0, accepted(key));
        }
        crate::session::name_owners(&self.state, &mut events);
        let (events, changes) = self.commit(events);
        Ok(Done { output, events, changes })
    }

    /// Numbers, encodes, applies and indexes the events of one commit, then looks whether everything still holds.
    pub(in crate::session) fn commit(&mut self, new: Vec<NewEvent>) -> (Vec<Event>, Vec<IndexChange>) {
        if new.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let first = self.state.sequence + 1;
        let events: Vec<Event> = (first..).zip(new).map(|(sequence, new)| self.event(sequence, new)).collect();
        let before = self.state.clone();
        let changes = apply_commit(&mut self.state, &events);
        change(&mut self.index, &changes);
        self.log.push(events.iter().map(|event| event.encode().expect("events encode")).collect());
        check_invariants(self, &before, &events, &changes);
        (events, changes)
    }

    fn event(&mut self, sequence: u64, new: NewEvent) -> Event {
        Event {
            event_id: EventId::from_uuid(self.ids.next_uuid()),
            timestamp: self.now,
            sequence,
            schema_version: SCHEMA_VERSION.into(),
            runtime_id: id("rt_test"),
            scope: new.scope,
            trace: Trace::default(),
            fact: new.fact,
            refs: new.refs,
        }
    }

    fn told<T>(
        &mut self,
        decide: impl FnOnce(&SessionState, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    ) -> Vec<String> {
        match self.decide(decide) {
            Ok(done) => story(&done.events),
            Err(refusal) => refused(&refusal),
        }
    }

    // Commands.

    pub(in crate::session) fn create(&mut self, params: Value) -> Result<Done<CreateSessionResult>, Refusal> {
        let command: CreateSession = parse(params);
        self.decide(|state, context| create_session(state, &id("s1"), "demo", &command, context))
    }

    /// Tasks to be named by whatever belongs to one.
    pub(in crate::session) fn create_tasks(&mut self, names: &[&str]) {
        for name in names {
            let command = parse(json!({ "task_id": name, "objective": "do it" }));
            let decide = |state: &SessionState, context: &mut Context<'_>| {
                tasks::create_task(state, &id("s1"), "demo", &[], &command, context)
            };
            self.decide(decide).expect("a task can be created");
        }
    }

    /// The rows of the tasks that params name, as the shell reads them.
    pub(in crate::session) fn task_rows(&self, params: &Value) -> Vec<TaskRow> {
        let named = ["task_id", "parent_task_id"].into_iter().filter_map(|field| params.get(field)?.as_str());
        let rows = named.filter_map(|name| self.index.get(&tasks::keys::task(ACCOUNT, &id(name))));
        rows.map(|row| serde_json::from_slice(row).expect("a task row")).collect()
    }

    /// `submit_turn` with these params; input where none is given.
    pub(in crate::session) fn submit_with(&mut self, mut params: Value) -> Result<Done<SubmitTurnResult>, Refusal> {
        if params.get("input").is_none() {
            params["input"] = json!([{ "type": "text", "text": "hello" }]);
        }
        let command: SubmitTurn = parse(params);
        self.decide(|state, context| submit_turn(state, &id("s1"), "demo", &command, context))
    }

    pub(in crate::session) fn submit_told(&mut self, params: Value) -> Vec<String> {
        match self.submit_with(params) {
            Ok(done) => story(&done.events),
            Err(refusal) => refused(&refusal),
        }
    }

    pub(in crate::session) fn submit(&mut self, turn: &str, on_busy: OnBusy) -> Vec<String> {
        self.submit_told(json!({ "turn_id": turn, "on_busy": on_busy }))
    }

    /// Queues or starts several turns.
    pub(in crate::session) fn submit_all(&mut self, turns: &[&str]) {
        for turn in turns {
            self.submit(turn, OnBusy::Queue);
        }
    }

    pub(in crate::session) fn interrupt(&mut self, params: Value) -> Vec<String> {
        let command: InterruptTurn = parse(in_session(params));
        self.told(|state, context| interrupt_turn(state, &command, context))
    }

    pub(in crate::session) fn remove(&mut self, params: Value) -> Vec<String> {
        let command: RemoveQueuedTurn = parse(in_session(params));
        self.told(|state, context| remove_queued_turn(state, &command, context))
    }

    pub(in crate::session) fn promote(&mut self, params: Value) -> Vec<String> {
        let command: PromoteQueuedTurn = parse(in_session(params));
        self.told(|state, context| promote_queued_turn(state, &command, context))
    }

    pub(in crate::session) fn resume(&mut self, params: Value) -> Vec<String> {
        let command: ResumeThread = parse(in_session(params));
        self.told(|state, context| resume_thread(state, &command, context))
    }

    pub(in crate::session) fn update(&mut self, params: Value) -> Vec<String> {
        let command: UpdateSession = parse(in_session(params));
        self.told(|state, context| update_session(state, &command, context))
    }

    /// Answers the `nth` open action.
    pub(in crate::session) fn respond(&mut self, nth: usize, decision: &str) -> Vec<String> {
        self.respond_with(nth, json!({ "decision": decision }))
    }

    pub(in crate::session) fn respond_with(&mut self, nth: usize, mut params: Value) -> Vec<String> {
        params["action_id"] = json!(self.action_id(nth));
        self.respond_params(params)
    }

    pub(in crate::session) fn respond_params(&mut self, params: Value) -> Vec<String> {
        let command: RespondAction = parse(params);
        self.told(|state, context| respond_action(state, &command, context))
    }

    pub(in crate::session) fn expire(&mut self, action_id: &ActionId) -> Vec<String> {
        self.told(|state, context| expire_action(state, action_id, context))
    }

    pub(in crate::session) fn recover(&mut self) -> Vec<String> {
        self.told(recover)
    }

    // Reports of the active turn of the main thread.

    pub(in crate::session) fn report(&mut self, report: Report) -> Vec<String> {
        let runner = self.runner();
        self.report_as(&runner, report)
    }

    pub(in crate::session) fn report_as(&mut self, runner: &Runner, report: Report) -> Vec<String> {
        self.told(|state, context| decide_report(state, runner, report, context))
    }

    pub(in crate::session) fn runner(&self) -> Runner {
        let thread = self.main();
        let turn = thread.active.as_ref().expect("a turn is active");
        Runner { thread_id: thread.thread_id.clone(), turn_id: turn.turn_id.clone(), attempt: turn.attempt }
    }

    pub(in crate::session) fn ask_model(&mut self) -> Vec<String> {
        self.report(model_requested())
    }

    pub(in crate::session) fn request(&self) -> OpenModelRequest {
        self.active().model_request.clone().expect("a model request is open")
    }

    pub(in crate::session) fn answer(&mut self, calls: Vec<ToolDraft>) -> Vec<String> {
        let OpenModelRequest { request_id, step_id } = self.request();
        self.report(Report::ModelCompleted { request_id, step_id, answer: model_answer(calls) })
    }

    /// Submits `t1` and lets the model ask for these calls.
    pub(in crate::session) fn with_calls(&mut self, calls: Vec<ToolDraft>) {
        self.submit("t1", OnBusy::Queue);
        self.ask_model();
        self.answer(calls);
    }

    pub(in crate::session) fn call(&self, tool_name: &str) -> OpenCall {
        let call = self.active().calls.iter().find(|call| call.tool_name == tool_name);
        call.cloned().unwrap_or_else(|| panic!("{tool_name} is not open"))
    }

    pub(in crate::session) fn run_tool(&mut self, tool_name: &str) -> Vec<String> {
        let OpenCall { tool_call_id, arguments_digest, .. } = self.call(tool_name);
        self.report(Report::ToolRunning { tool_call_id, arguments_digest })
    }

    pub(in crate::session) fn end_tool(&mut self, tool_name: &str) -> Vec<String> {
        let tool_call_id = self.call(tool_name).tool_call_id;
        self.report(Report::ToolFinished { tool_call_id, outcome: succeeded() })
    }

    pub(in crate::session) fn complete(&mut self) -> Vec<String> {
        self.report(Report::TurnFinished { outcome: completed() })
    }

    // Looking and setting up.

    pub(in crate::session) fn main(&self) -> &Thread {
        &self.state.threads[0]
    }

    pub(in crate::session) fn active(&self) -> &ActiveTurn {
        self.main().active.as_ref().expect("a turn is active")
    }

    pub(in crate::session) fn action_id(&self, nth: usize) -> ActionId {
        self.state.actions[nth].action_id.clone()
    }

    pub(in crate::session) fn later(&mut self, ms: i64) {
        self.now = Timestamp::from_millisecond(self.now.as_millisecond() + ms).expect("a sane time");
    }

    /// A second thread, as a delegation will bring it.
    pub(in crate::session) fn start_side_thread(&mut self) {
        let scope = Scope::default().session_id(&id("s1")).thread_id(&id(SIDE_THREAD));
        let main = Some(self.main().thread_id.clone());
        let origin = ThreadOrigin::Delegation;
        let fact = ThreadStarted { agent: "demo".into(), origin, title: None, parent_thread_id: main };
        self.commit(vec![NewEvent::new(scope, fact)]);
    }

    /// The state that the stored bytes alone give.
    pub(in crate::session) fn replayed(&self) -> SessionState {
        let mut state = SessionState::default();
        for bytes in self.log.iter().flatten() {
            apply(&mut state, &Event::decode(bytes).expect("events decode"));
        }
        state
    }

    /// The index that the stored bytes alone give.
    pub(in crate::session) fn reindexed(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let (mut state, mut index) = (SessionState::default(), BTreeMap::new());
        for commit in &self.log {
            let events: Vec<Event> = commit.iter().map(|bytes| Event::decode(bytes).expect("events decode")).collect();
            change(&mut index, &apply_commit(&mut state, &events));
        }
        index
    }
}

fn change(index: &mut BTreeMap<Vec<u8>, Vec<u8>>, changes: &[IndexChange]) {
    for change in changes {
        match change.clone() {
            IndexChange::Put { key, value } => index.insert(key, value),
            IndexChange::Delete { key } => index.remove(&key),
        };
    }
}

fn accepted(key: &str) -> NewEvent {
    let fact = CommandAccepted {
        command: "test".into(),
        principal: CALLER.into(),
        idempotency_key: key.into(),
        params_digest: "sha256:00".into(),
        result: json!({ "ok": true }),
    };
    NewEvent::new(Scope::default().session_id(&id("s1")), fact)
}

pub(in crate::session) fn refused(refusal: &Refusal) -> Vec<String> {
    vec![format!("refused {}: {}", refusal.code.as_str(), refusal.message)]
}

fn in_session(mut params: Value) -> Value {
    params["session_id"] = json!("s1");
    params
}

fn parse<T: serde::de::DeserializeOwned>(params: Value) -> T {
    serde_json::from_value(params).expect("params of the command")
}

pub(in crate::session) fn id<T: std::str::FromStr<Err = BadId>>(text: &str) -> T {
    text.parse().expect("an id")
}

/// Some milliseconds after the beginning of the tests.
pub(in crate::session) fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(1_800_000_000_000 + ms).expect("a sane time")
}

pub(in crate::session) fn failure(category: &str) -> Failure {
    Failure { category: category.into(), message: format!("{category} happened"), retryable: false, advice: None }
}

pub(in crate::session) fn intent() -> ModelIntent {
    ModelIntent { provider: "script".into(), model: "demo".into(), effect: Effect::Idempotent }
}

pub(in crate::session) fn model_requested() -> Report {
    Report::ModelRequested(intent())
}

pub(in crate::session) fn model_answer(calls: Vec<ToolDraft>) -> ModelAnswer {
    let usage = Usage { input_tokens: Some(3), output_tokens: Some(5), ..Usage::default() };
    ModelAnswer { stop_reason: "end_turn".into(), text: Some("hi".into()), usage, calls, ..ModelAnswer::default() }
}

pub(in crate::session) fn completed() -> TurnReport {
    TurnReport::Completed { stop_reason: "end_turn".into(), preview: Some("hi".into()) }
}

pub(in crate::session) fn succeeded() -> ToolReport {
    ToolReport::Succeeded { preview: Some("done".into()), structured_content: None, result_ref: None, duration_ms: 1 }
}

pub(in crate::session) fn tool(tool_name: &str, effect: Effect, gate: Gate) -> ToolDraft {
    let arguments = json!({ "path": tool_name });
    ToolDraft { tool_name: tool_name.into(), arguments, owner: ToolOwner::Local, effect, gate, native_call_id: None }
}

/// A call that may run at once.
pub(in crate::session) fn open(tool_name: &str, effect: Effect) -> ToolDraft {
    tool(tool_name, effect, Gate::Open)
}

/// A call that somebody has to allow.
pub(in crate::session) fn gated(tool_name: &str) -> ToolDraft {
    gated_until(tool_name, None, OnTimeout::Wait)
}

pub(in crate::session) fn gated_until(tool_name: &str, timeout_ms: Option<u64>, on_timeout: OnTimeout) -> ToolDraft {
    tool(tool_name, Effect::Once, Gate::Approval { prompt: "May it run?".into(), timeout_ms, on_timeout })
}

/// A call that is a question.
pub(in crate::session) fn question(tool_name: &str) -> ToolDraft {
    question_until(tool_name, None, OnTimeout::Wait)
}

pub(in crate::session) fn question_until(tool_name: &str, timeout_ms: Option<u64>, on_timeout: OnTimeout) -> ToolDraft {
    let gate = Gate::Question { prompt: "Which colour?".into(), input_schema: None, timeout_ms, on_timeout };
    tool(tool_name, Effect::Pure, gate)
}

pub(in crate::session) fn metadata(bytes: usize) -> Metadata {
    Metadata::from_iter([("note".to_owned(), json!("x".repeat(bytes)))])
}

pub(in crate::session) fn texts(count: usize) -> Vec<Part> {
    vec![Part::Text { text: "hello".into() }; count]
}
