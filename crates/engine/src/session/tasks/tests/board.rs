//! A session with tasks: commands by name as they come over the wire, workers, timers, agents and crashes.

use factum_model::commands::*;
use factum_model::id::*;
use factum_model::report::{ArtifactDraft, ModelAnswer, Report, Runner, TurnReport};
use factum_model::task::*;
use factum_model::value::Failure;
use factum_model::{Event, Refusal};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::invariants::{Watch, check_invariants};
use crate::session::resting::Owner;
use crate::session::tests::world::{ACCOUNT, World, at, completed, gated, id, model_answer, model_requested};
use crate::session::*;
use crate::{Context, Decision};

pub(super) const WORKER: &str = "worker://one";
pub(super) const OTHER_WORKER: &str = "worker://two";
pub(super) const LEASE_MS: u64 = 30_000;

pub(super) struct Board {
    pub world: World,
    pub watch: Watch,
    /// The events of the last commit.
    pub last: Vec<Event>,
    snapshot: Option<(Vec<u8>, usize)>,
}

impl Board {
    /// A session without tasks.
    pub(super) fn new() -> Self {
        Self { world: World::idle(), watch: Watch::default(), last: Vec::new(), snapshot: None }
    }

    /// Decides, commits, and looks whether everything still holds.
    pub(super) fn decide<T>(
        &mut self,
        decide: impl FnOnce(&SessionState, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    ) -> Result<T, Refusal> {
        let before = self.world.state.clone();
        let done = self.world.decide(decide)?;
        self.last = done.events;
        check_invariants(self, &before);
        Ok(done.output)
    }

    /// A command by its name. Rows of the tasks it names are read from the index first, as the shell does.
    pub(super) fn call(&mut self, name: &str, mut params: Value) -> Result<Value, Refusal> {
        if name == "create_task" && params.get("objective").is_none() {
            params["objective"] = json!("do it");
        }
        let rows = self.rows_named(&params);
        match name {
            "create_task" => {
                let command: CreateTask = parse(params);
                self.told(|state, context| tasks::create_task(state, &id("s1"), "demo", &rows, &command, context))
            }
            "link_tasks" => {
                let command: LinkTasks = parse(params);
                let edge = self.edge(&command.from, &command.to, command.relationship)?;
                let target = self.is_of_session(&command.to);
                let found = |edge| tasks::Found { edge, target };
                self.told(|state, context| tasks::link_tasks(state, &rows, found(edge.as_ref()), &command, context))
            }
            "unlink_tasks" => {
                let command: UnlinkTasks = parse(params);
                let edge = self.edge(&command.from, &command.to, command.relationship)?;
                self.told(|state, context| tasks::unlink_tasks(state, &rows, edge.as_ref(), &command, context))
            }
            "update_task" => self.plain(params, &rows, tasks::update_task),
            "start_task" => self.plain(params, &rows, tasks::start_task),
            "append_task_progress" => self.plain(params, &rows, tasks::append_task_progress),
            "pause_task" => self.plain(params, &rows, tasks::pause_task),
            "resume_task" => self.plain(params, &rows, tasks::resume_task),
            "cancel_task" => self.plain(params, &rows, tasks::cancel_task),
            "retry_task" => self.plain(params, &rows, tasks::retry_task),
            "complete_task" => self.plain(params, &rows, tasks::complete_task),
            "fail_task" => self.plain(params, &rows, tasks::fail_task),
            "spawn_subagent" => {
                let command: SpawnSubagent = parse(params);
                self.told(|state, context| subagents::spawn_subagent(state, None, &rows, &command, context))
            }
            "send_subagent_input" => self.of_session(params, subagents::send_subagent_input),
            "close_subagent" => {
                let command: CloseSubagent = parse(params);
                let row = self.world.index.get(&subagents::keys::subagent(ACCOUNT, &command.subagent_id));
                let row = serde_json::from_slice(row.expect("a child agent")).expect("a row");
                self.told(|state, context| subagents::close_subagent(state, &row, &command, context))
            }
            "create_job" => {
                let command: CreateJob = parse(params);
                self.told(|state, context| jobs::create_job(state, &id("s1"), "demo", &rows, &command, context))
            }
            "cancel_job" => self.of_session(params, jobs::cancel_job),
            "report_run" => self.of_worker(params, workers::report_run),
            "complete_run" => self.of_worker(params, workers::complete_run),
            "fail_run" => self.of_worker(params, workers::fail_run),
            "release_run" => self.of_worker(params, workers::release_run),
            other => panic!("{other} is not a command of tasks"),
        }
    }

    /// A command that has to be accepted.
    pub(super) fn ok(&mut self, name: &str, params: Value) -> Value {
        let told = format!("{name} {params}");
        self.call(name, params).unwrap_or_else(|refusal| panic!("{told} was refused: {refusal:?}"))
    }

    /// A command that has to be refused, without a trace.
    pub(super) fn refused(&mut self, name: &str, params: Value) -> Refusal {
        let (told, sequence) = (format!("{name} {params}"), self.world.state.sequence);
        let refusal = self.call(name, params).expect_err(&told);
        assert_eq!(self.world.state.sequence, sequence, "{told} wrote something");
        refusal
    }

    /// A new task with this id; `params` say the rest.
    pub(super) fn task(&mut self, name: &str, mut params: Value) {
        params["task_id"] = json!(name);
        self.ok("create_task", params);
    }

    fn told<T: Serialize>(
        &mut self,
        decide: impl FnOnce(&SessionState, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    ) -> Result<Value, Refusal> {
        self.decide(decide).map(|output| serde_json::to_value(output).expect("results serialize"))
    }

    fn plain<C: DeserializeOwned, T: Serialize>(
        &mut self,
        params: Value,
        rows: &[TaskRow],
        decide: impl FnOnce(&SessionState, &[TaskRow], &C, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    ) -> Result<Value, Refusal> {
        let command: C = parse(params);
        self.told(|state, context| decide(state, rows, &command, context))
    }

    fn of_session<C: DeserializeOwned, T: Serialize>(
        &mut self,
        params: Value,
        decide: impl FnOnce(&SessionState, &C, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    ) -> Result<Value, Refusal> {
        let command: C = parse(params);
        self.told(|state, context| decide(state, &command, context))
    }

    fn of_worker<C: DeserializeOwned, T: Serialize>(
        &mut self,
        params: Value,
        decide: impl FnOnce(&SessionState, &C, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    ) -> Result<Value, Refusal> {
        let command: C = parse(params);
        self.world.caller = WORKER;
        let told = self.told(|state, context| decide(state, &command, context));
        self.world.caller = crate::session::tests::world::CALLER;
        told
    }

    fn rows_named(&self, params: &Value) -> Vec<TaskRow> {
        let texts = ["task_id", "parent_task_id", "from", "to"].into_iter().filter_map(|field| params.get(field));
        let lists = params.get("blocked_by").and_then(Value::as_array).into_iter().flatten();
        let named = texts.chain(lists).filter_map(Value::as_str).filter_map(|text| text.parse().ok());
        named.filter_map(|task_id: TaskId| self.row(task_id.as_str())).collect()
    }

    fn edge(&self, from: &TaskId, to: &str, relationship: Relationship) -> Result<Option<Edge>, Refusal> {
        let (from, to, relationship) = tasks::edge_of(from, to, relationship)?;
        let row = self.world.index.get(&tasks::keys::edge(ACCOUNT, from.as_str(), relationship, &to));
        Ok(row.map(|row| serde_json::from_slice(row).expect("an edge")))
    }

    /// Whether a run, a child agent or a thread that has left is in the index under this id.
    fn is_of_session(&self, to: &str) -> bool {
        let keys = [
            to.parse().ok().map(|run_id| workers::keys::run(ACCOUNT, &run_id)),
            to.parse().ok().map(|one| subagents::keys::subagent(ACCOUNT, &one)),
            to.parse().ok().map(|thread_id| left_thread_key(ACCOUNT, &id("s1"), &thread_id)),
        ];
        keys.into_iter().flatten().any(|key| self.world.index.contains_key(&key))
    }

    // Looking.

    /// What the index knows of a task.
    pub(super) fn row(&self, name: &str) -> Option<TaskRow> {
        let row = self.world.index.get(&tasks::keys::task(ACCOUNT, &id(name)));
        row.map(|row| serde_json::from_slice(row).expect("a task row"))
    }

    pub(super) fn known(&self, name: &str) -> TaskRow {
        self.row(name).unwrap_or_else(|| panic!("there is no task {name}"))
    }

    pub(super) fn status(&self, name: &str) -> TaskStatus {
        self.known(name).status
    }

    pub(super) fn statuses(&self, names: &[&str]) -> Vec<TaskStatus> {
        names.iter().map(|name| self.status(name)).collect()
    }

    /// The newest attempt.
    pub(super) fn attempt(&self, name: &str) -> Attempt {
        self.known(name).attempt.unwrap_or_else(|| panic!("{name} has no attempt"))
    }

    /// The older attempts, as the index has them.
    pub(super) fn older(&self, name: &str) -> Vec<Vec<u8>> {
        let prefix = tasks::keys::attempts(ACCOUNT, &id(name));
        let rows = self.world.index.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix));
        rows.map(|(_, row)| row.clone()).collect()
    }

    pub(super) fn edge_row(&self, from: &str, relationship: Relationship, to: &str) -> Option<Edge> {
        let row = self.world.index.get(&tasks::keys::edge(ACCOUNT, from, relationship, to));
        row.map(|row| serde_json::from_slice(row).expect("an edge"))
    }

    /// The timers of tasks, soonest first: kind, task, and milliseconds from the beginning.
    pub(super) fn timers(&self) -> Vec<(TimerKind, String, i64)> {
        let timers = self.timer_rows().into_iter();
        timers.map(|timer| (timer.kind, timer.id, timer.due.as_millisecond() - at(0).as_millisecond())).collect()
    }

    pub(super) fn timer_rows(&self) -> Vec<Timer> {
        let rows = self.world.index.range(keys::timers()..).map_while(|(key, _)| keys::read_timer(key));
        rows.filter(|timer| timer.kind != TimerKind::Action).collect()
    }

    /// Runs that wait for a worker, in the order they are claimed.
    pub(super) fn ready(&self, queue: &str) -> Vec<RunId> {
        let prefix = workers::keys::ready_in(ACCOUNT, queue);
        let rows = self.world.index.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix));
        rows.map(|(key, _)| workers::keys::read_ready(key).expect("a ready row").run_id).collect()
    }

    // Workers.

    /// The current run of the task is claimed; its token.
    pub(super) fn claim(&mut self, name: &str) -> u64 {
        let run_id = self.attempt(name).run_id;
        self.claim_run(&run_id).unwrap_or_else(|refusal| panic!("{name} is not claimed: {refusal:?}")).lease_token
    }

    pub(super) fn claim_run(&mut self, run_id: &RunId) -> Result<ClaimedRun, Refusal> {
        let claim = workers::Claim { run_id, channel_id: &id("chan_w"), lease_ms: LEASE_MS };
        self.world.caller = WORKER;
        let claimed = self.decide(|state, context| workers::claim_run(state, &claim, context));
        self.world.caller = crate::session::tests::world::CALLER;
        claimed
    }

    /// A worker's word on the current run: `complete_run`, `fail_run`, `release_run`, `report_run`.
    pub(super) fn work(&mut self, command: &str, name: &str, token: u64, mut params: Value) -> Result<Value, Refusal> {
        params["run_id"] = json!(self.attempt(name).run_id);
        params["lease_token"] = json!(token);
        self.call(command, params)
    }

    pub(super) fn expire(&mut self, name: &str) {
        let (run_id, token) = (self.attempt(name).run_id, self.token(name));
        self.decide(|state, context| workers::expire_lease(state, &run_id, token, context)).expect("a lease expires");
    }

    /// The token of whoever holds the current run.
    pub(super) fn token(&self, name: &str) -> u64 {
        let held = workers::holder(&self.world.state, &self.attempt(name).run_id);
        held.unwrap_or_else(|| panic!("nobody holds {name}")).lease.token
    }

    // Agents.

    /// The agent at work on the task ends its turn.
    pub(super) fn end_turn(&mut self, name: &str, outcome: TurnReport) {
        let attempt = self.attempt(name);
        let (thread_id, turn_id) = (attempt.thread_id.expect("a thread"), attempt.turn_id.expect("a turn"));
        let active = self.world.state.thread(&thread_id).and_then(|thread| thread.active.as_ref()).expect("a turn");
        let runner = Runner { thread_id, turn_id, attempt: active.attempt };
        self.decide(|state, context| decide_report(state, &runner, Report::TurnFinished { outcome }, context))
            .expect("the end of a turn");
    }

    /// Somebody else talks to the agent in the task's own thread.
    pub(super) fn submit_beside(&mut self, name: &str) {
        let thread_id = self.attempt(name).thread_id;
        let input = json!([{ "type": "text", "text": "by the way" }]);
        let command: SubmitTurn = parse(json!({ "session_id": "s1", "thread_id": thread_id, "input": input }));
        self.decide(|state, context| submit_turn(state, &id("s1"), "demo", &command, context)).expect("accepted");
    }

    /// The turn at work in the task's thread ends, whoever it is for.
    pub(super) fn thread_completes(&mut self, name: &str) {
        let thread_id = self.attempt(name).thread_id.expect("a thread");
        let active = self.world.state.thread(&thread_id).and_then(|thread| thread.active.as_ref()).expect("a turn");
        let runner = Runner { thread_id, turn_id: active.turn_id.clone(), attempt: active.attempt };
        let report = Report::TurnFinished { outcome: completed() };
        self.decide(|state, context| decide_report(state, &runner, report, context)).expect("the end of a turn");
    }

    /// The agent of a task answers, and keeps something beside its answer.
    pub(super) fn turn_keeps(&mut self, name: &str, artifact: &str) {
        let attempt = self.attempt(name);
        let (thread_id, turn_id) = (attempt.thread_id.expect("a thread"), attempt.turn_id.expect("a turn"));
        let runner = Runner { thread_id: thread_id.clone(), turn_id, attempt: 1 };
        self.decide(|state, context| decide_report(state, &runner, model_requested(), context)).expect("an intent");
        let active = self.world.state.thread(&thread_id).and_then(|thread| thread.active.as_ref()).expect("a turn");
        let OpenModelRequest { request_id, step_id } = active.model_request.clone().expect("a request");
        let content = parse(json!({ "ref": "blob:sha256:00", "media_type": "text/plain", "size": 2 }));
        let artifacts = vec![ArtifactDraft { name: Some(artifact.to_owned()), content }];
        let answer = ModelAnswer { artifacts, ..model_answer(Vec::new()) };
        let report = Report::ModelCompleted { request_id, step_id, answer };
        self.decide(|state, context| decide_report(state, &runner, report, context)).expect("an answer");
    }

    /// The agent of a task asks for the permission to run a tool. Gives the question's id.
    pub(super) fn turn_asks(&mut self, name: &str) -> ActionId {
        let attempt = self.attempt(name);
        let (thread_id, turn_id) = (attempt.thread_id.expect("a thread"), attempt.turn_id.expect("a turn"));
        let runner = Runner { thread_id: thread_id.clone(), turn_id, attempt: 1 };
        self.decide(|state, context| decide_report(state, &runner, model_requested(), context)).expect("an intent");
        let active = self.world.state.thread(&thread_id).and_then(|thread| thread.active.as_ref()).expect("a turn");
        let OpenModelRequest { request_id, step_id } = active.model_request.clone().expect("a request");
        let report = Report::ModelCompleted { request_id, step_id, answer: model_answer(vec![gated("rm")]) };
        self.decide(|state, context| decide_report(state, &runner, report, context)).expect("an answer");
        self.world.state.actions.last().expect("a question").action_id.clone()
    }

    pub(super) fn allow(&mut self, action_id: &ActionId) {
        let command: RespondAction = parse(json!({ "action_id": action_id, "decision": "allow" }));
        self.decide(|state, context| respond_action(state, &command, context)).expect("an answer");
    }

    pub(super) fn turn_completes(&mut self, name: &str) {
        self.end_turn(name, completed());
    }

    pub(super) fn turn_fails(&mut self, name: &str, error: Failure) {
        self.end_turn(name, TurnReport::Failed { error });
    }

    // Helpers.

    /// A child agent begins to work for a task.
    pub(super) fn spawn_for(&mut self, task: &str, name: &str) -> Result<Value, Refusal> {
        let input = json!([{ "type": "text", "text": "help" }]);
        let params = json!({ "session_id": "s1", "subagent_id": name, "parent_task_id": task, "input": input });
        self.call("spawn_subagent", params)
    }

    /// A job of one item, which an agent does, is begun for a task.
    pub(super) fn create_job_for(&mut self, task: &str, name: &str) -> Result<Value, Refusal> {
        self.call("create_job", json!({ "job_id": name, "task_id": task, "instruction": "help" }))
    }

    /// The turn that a child agent or a job's agent is at work in ends.
    pub(super) fn helper_ends(&mut self, name: &str) {
        let owners = [Owner::Subagent(id(name)), Owner::Job(id(name))];
        let owned = |thread: &&Thread| thread.owner.as_deref().is_some_and(|owner| owners.contains(owner));
        let thread = self.world.state.threads.iter().filter(|thread| thread.active.is_some()).find(owned);
        let thread = thread.unwrap_or_else(|| panic!("{name} is not at work"));
        let active = thread.active.as_ref().expect("a turn");
        let (thread_id, turn_id) = (thread.thread_id.clone(), active.turn_id.clone());
        let runner = Runner { thread_id, turn_id, attempt: active.attempt };
        let report = Report::TurnFinished { outcome: completed() };
        self.decide(|state, context| decide_report(state, &runner, report, context)).expect("the end of a turn");
    }

    // Time and crashes.

    pub(super) fn later(&mut self, ms: i64) {
        self.world.later(ms);
    }

    pub(super) fn fire(&mut self, timer: &Timer) {
        self.last = Vec::new();
        self.decide(|state, context| fire_timer(state, timer, context)).expect("a timer fires");
    }

    /// Fires what is due, soonest first, until nothing is.
    pub(super) fn fire_due(&mut self) {
        for _ in 0..1_000 {
            let Some(timer) = self.timer_rows().into_iter().find(|timer| timer.due <= self.world.now) else { return };
            self.fire(&timer);
            assert!(!self.last.is_empty(), "{timer:?} was due and changed nothing");
            // The shell carries on at once, not when the next timer happens to fire.
            self.carry_on();
        }
        panic!("timers do not come to an end");
    }

    /// Time passes and whatever is due happens, each at its own time.
    pub(super) fn pass(&mut self, ms: i64) {
        let end = self.world.now.as_millisecond() + ms;
        loop {
            let next = self.timer_rows().into_iter().map(|timer| timer.due.as_millisecond()).min();
            let next = next.filter(|due| *due <= end);
            let now = self.world.now.as_millisecond();
            self.later(next.unwrap_or(end).max(now) - now);
            if next.is_none() {
                return;
            }
            self.fire_due();
        }
    }

    /// Works off what one commit was too small for. Says how many commits that took.
    pub(super) fn carry_on(&mut self) -> usize {
        let mut commits = 0;
        while self.world.state.has_agenda() {
            self.decide(tasks::continue_tasks).expect("the agenda is worked off");
            commits += 1;
            assert!(commits < 1_000, "the agenda does not come to an end");
        }
        commits
    }

    /// Writes a snapshot that a later crash goes on from.
    pub(super) fn snapshot(&mut self) {
        let bytes = serde_json::to_vec(&self.world.state).expect("a state serializes");
        self.snapshot = Some((bytes, self.world.log.len()));
    }

    /// The process dies and comes back: the state is what a snapshot and the rest of the log give.
    pub(super) fn crash(&mut self) {
        let (mut folded, stored) = match &self.snapshot {
            Some((bytes, stored)) => (serde_json::from_slice(bytes).expect("a snapshot parses"), *stored),
            None => (SessionState::default(), 0),
        };
        for bytes in self.world.log[stored..].iter().flatten() {
            apply(&mut folded, &Event::decode(bytes).expect("events decode"));
        }
        self.come_back(folded);
    }

    /// The same, from the log alone; the index is made again too.
    pub(super) fn crash_without_a_snapshot(&mut self) {
        assert_eq!(self.world.reindexed(), self.world.index, "the log gives the index back");
        self.come_back(self.world.replayed());
    }

    fn come_back(&mut self, folded: SessionState) {
        assert_eq!(folded, self.world.state, "the log gives the state back");
        let bytes = |state: &SessionState| serde_json::to_vec(state).expect("a state serializes");
        assert_eq!(bytes(&folded), bytes(&self.world.state), "byte for byte");
        self.world.state = folded;
        if self.world.state.unfinished() {
            self.decide(recover).expect("a session recovers");
        }
    }
}

fn parse<T: DeserializeOwned>(params: Value) -> T {
    serde_json::from_value(params.clone()).unwrap_or_else(|error| panic!("{params}: {error}"))
}
