//! A move is played on the engine and on the reference model, which then have to agree.

use std::collections::{BTreeMap, BTreeSet};

use factum_model::task::*;
use factum_model::value::Failure;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::any_move::{Helping, Move, Turn, Work};
use super::board::Board;
use super::model::{self, GRACE, Model, Policy, Who, Whose, open};
use super::model_graph::New;
use super::model_helpers::Helper;
use crate::session::tests::world::{ACCOUNT, failure, id};
use crate::session::{interrupt_turn, tasks};

fn policy(kind: u8) -> Policy {
    let max_attempts = 3;
    match kind {
        0 => Policy { max_attempts: 1, ..Policy::default() },
        1 => Policy { max_attempts, retry_lost: true, ..Policy::default() },
        2 => Policy { max_attempts, wait: 20, timeout: Some(30), ..Policy::default() },
        3 => Policy { max_attempts, wait: 7, silence: Some(15), retry_lost: true, ..Policy::default() },
        _ => Policy { max_attempts, timeout: Some(25), silence: Some(25), ..Policy::default() },
    }
}

fn policy_json(policy: Policy) -> Value {
    let backoff = (policy.wait > 0).then(
        || json!({ "initial_ms": policy.wait, "max_ms": policy.wait, "factor_percent": 100, "jitter_percent": 0 }),
    );
    json!({
        "max_attempts": policy.max_attempts,
        "backoff": backoff,
        "timeout_ms": policy.timeout,
        "inactivity_timeout_ms": policy.silence,
        "on_lost": if policy.retry_lost { "retry" } else { "wait" },
    })
}

/// The engine and the model, side by side.
pub(super) struct Both {
    pub board: Board,
    pub model: Model,
    /// What was compared already and is only looked at again once it changes.
    older: BTreeMap<String, usize>,
    ended: BTreeMap<String, TaskStatus>,
    satisfied: BTreeMap<(String, String), bool>,
    /// How many helpers there were, for their names.
    helpers: usize,
}

impl Both {
    pub(super) fn new() -> Self {
        let mut board = Board::new();
        board.world.limits.task_cancel_grace_ms = GRACE as u64;
        board.world.limits.subagents_open_max = usize::MAX;
        board.world.limits.jobs_open_max = usize::MAX;
        let (model, older, ended, satisfied, helpers) = Default::default();
        Self { board, model, older, ended, satisfied, helpers }
    }

    /// One of the tasks that `of` picks; the newest are picked more often.
    fn pick(&self, index: &Index, of: impl Fn(&Model, &str) -> bool) -> Option<String> {
        let names: Vec<&String> = self.model.tasks.keys().filter(|name| of(&self.model, name)).collect();
        let from = if index.index(4) == 0 { 0 } else { names.len().saturating_sub(8) };
        names.get(from..).filter(|names| !names.is_empty()).map(|names| (*index.get(names)).clone())
    }

    /// One of the helpers that `of` picks, and its task.
    fn pick_helper(&self, index: &Index, of: impl Fn(&Helper) -> bool) -> Option<(String, Helper)> {
        let task = self.pick(index, |model, name| model.get(name).helpers.iter().any(&of))?;
        let helper = self.model.get(&task).helpers.iter().find(|helper| of(helper))?.clone();
        Some((task, helper))
    }

    fn help(&mut self, task: &str, kind: Helping) {
        self.helpers += 1;
        let name = format!("h{:04}", self.helpers);
        let told = match kind {
            Helping::Agent => self.board.spawn_for(task, &name),
            Helping::Job => self.board.create_job_for(task, &name),
        };
        assert_eq!(told.is_ok(), self.model.help(task, &name, kind), "{kind:?} {name} for {task}: {told:?}");
    }

    /// Plays a move on both. They agree on whether it is accepted, and on everything that follows.
    pub(super) fn play(&mut self, next: &Move) {
        self.step(next);
        if self.board.world.state.has_agenda() {
            // In the middle of it, from a snapshot of the middle.
            self.board.snapshot();
            self.crash();
        }
        self.board.carry_on();
        self.agree();
    }

    fn step(&mut self, next: &Move) {
        let any = |_: &Model, _: &str| true;
        let held = |model: &Model, name: &str| model.get(name).held;
        match next {
            Move::Create { status, parent, blocked_by, who, auto, policy: kind } => {
                let parent = parent.as_ref().and_then(|index| self.pick(index, any));
                let blocked_by: BTreeSet<String> =
                    blocked_by.iter().filter_map(|index| self.pick(index, any)).collect();
                let new = New { status: *status, parent, blocked_by, who: *who, auto: *auto, policy: policy(*kind) };
                self.create(&new);
            }
            Move::Link { parent, from, to } | Move::Unlink { parent, from, to } => {
                let (Some(from), Some(to)) = (self.pick(from, any), self.pick(to, any)) else { return };
                let link = matches!(next, Move::Link { .. });
                self.edge(link, *parent, &from, &to);
            }
            Move::Claim(index) => {
                let ready = self.pick(index, |model, name| model.ready(name));
                let queued = |model: &Model, name: &str| model.get(name).who == Who::Queue;
                let Some(name) = ready.or_else(|| self.pick(index, queued)) else { return };
                let run_id = self.board.row(&name).and_then(|row| row.attempt).map(|attempt| attempt.run_id);
                let claimed = self.board.claim_run(&run_id.unwrap_or_else(|| id("run_none"))).is_ok();
                assert_eq!(claimed, self.model.claim(&name), "claim {name}");
            }
            Move::Work(index, work) => {
                let Some(name) = self.pick(index, held) else { return };
                self.work(&name, *work);
            }
            Move::Turn(index, turn) => {
                let Some(name) = self.pick(index, at_work) else { return };
                self.turn(&name, *turn);
            }
            Move::Beside(index) => {
                let talked_to = |model: &Model, name: &str| {
                    let task = model.get(name);
                    task.who == Who::Agent && open(task.status) && !task.attempts.is_empty() && task.thread.len() < 3
                };
                let Some(name) = self.pick(index, talked_to) else { return };
                self.board.submit_beside(&name);
                self.model.beside(&name);
            }
            Move::BesideEnds(index) => {
                let busy = |model: &Model, name: &str| model.get(name).thread.front() == Some(&Whose::Beside);
                let Some(name) = self.pick(index, busy) else { return };
                self.board.thread_completes(&name);
                self.model.beside_ended(&name);
            }
            Move::Pass(ms) => {
                self.board.pass(*ms);
                self.model.pass(*ms);
            }
            Move::Help(index, kind) => {
                let Some(name) = self.pick(index, any) else { return };
                self.help(&name, *kind);
            }
            Move::HelperEnds(index) => {
                let Some((task, helper)) = self.pick_helper(index, |helper| helper.at_work) else { return };
                self.board.helper_ends(&helper.name);
                self.model.helper_ends(&task, &helper.name);
            }
            Move::HelperAgain(index) => {
                let Some((task, helper)) = self.pick_helper(index, |helper| !helper.at_work) else { return };
                let input = json!([{ "type": "text", "text": "more" }]);
                self.board.ok("send_subagent_input", json!({ "subagent_id": helper.name, "input": input }));
                self.model.helper_again(&task, &helper.name);
            }
            Move::HelperCloses(index) => {
                let Some((task, helper)) = self.pick_helper(index, |_| true) else { return };
                match helper.kind {
                    Helping::Agent => self.board.ok("close_subagent", json!({ "subagent_id": helper.name })),
                    Helping::Job => self.board.ok("cancel_job", json!({ "job_id": helper.name })),
                };
                self.model.helper_closes(&task, &helper.name);
            }
            Move::Snapshot => self.board.snapshot(),
            Move::Crash => self.crash(),
            Move::Start(index)
            | Move::Update(index, _)
            | Move::Pause(index, _)
            | Move::Resume(index, _)
            | Move::Cancel(index, _)
            | Move::Retry(index)
            | Move::Complete(index)
            | Move::Fail(index, _)
            | Move::Progress(index) => {
                let Some(name) = self.pick(index, any) else { return };
                self.command(&name, next);
            }
        }
    }

    /// Agents at work carry on, each in another attempt.
    fn crash(&mut self) {
        let runs = |name: &String| {
            let attempt = self.board.world.state.tasks.get(&id(name))?.open_run()?.clone();
            let runs = attempt.turn_id.is_some() && attempt.status == AttemptStatus::Running;
            runs.then(|| (name.clone(), attempt.attempt_count as usize))
        };
        let agents: Vec<(String, usize)> = self.model.tasks.keys().filter_map(runs).collect();
        self.board.crash();
        agents.iter().for_each(|(name, number)| self.model.crashed(name, *number));
    }

    fn command(&mut self, name: &str, next: &Move) {
        let model = &mut self.model;
        let (command, mut params, expected) = match next {
            Move::Start(_) => ("start_task", json!({}), model.start(name)),
            Move::Update(_, to) => ("update_task", json!({ "status": to }), model.update(name, *to)),
            Move::Pause(_, reach) => ("pause_task", json!({ "propagation": reach }), model.pause(name, *reach)),
            Move::Resume(_, reach) => ("resume_task", json!({ "propagation": reach }), model.resume(name, *reach)),
            Move::Cancel(_, reach) => ("cancel_task", json!({ "propagation": reach }), model.cancel(name, *reach)),
            Move::Retry(_) => ("retry_task", json!({ "reason": "again" }), model.retry(name)),
            Move::Complete(_) => ("complete_task", json!({}), model.complete(name)),
            Move::Fail(_, may_help) => {
                let error = json!({ "category": "bad", "retryable": may_help });
                ("fail_task", json!({ "error": error }), model.fail(name, *may_help))
            }
            _ => ("append_task_progress", json!({ "percent": 5 }), model.progress(name)),
        };
        params["task_id"] = json!(name);
        let told = self.board.call(command, params.clone());
        assert_eq!(told.is_ok(), expected, "{command} {params}: {told:?}");
        if let Err(refusal) = told {
            assert!(refusal.details.contains_key("status"), "{command} {params}: {refusal:?} names the status");
        }
    }

    fn create(&mut self, new: &New) {
        let name = format!("t{:04}", self.model.tasks.len());
        let mut params = json!({
            "task_id": name,
            "status": new.status,
            "parent_task_id": new.parent,
            "blocked_by": new.blocked_by,
            "auto_complete": new.auto,
            "retry_policy": policy_json(new.policy),
            "objective": "do it",
        });
        match new.who {
            Who::Queue => params["queue"] = json!("q"),
            Who::Agent => params["agent"] = json!("demo"),
            Who::Assignee => params["assignee"] = json!("somebody"),
        }
        let told = self.board.call("create_task", params.clone());
        assert_eq!(told.is_ok(), self.model.create(&name, new), "create_task {params}: {told:?}");
    }

    fn edge(&mut self, link: bool, parent: bool, from: &str, to: &str) {
        let relationship = if parent { "parent" } else { "blocks" };
        let params = json!({ "from": from, "to": to, "relationship": relationship });
        let told = self.board.call(if link { "link_tasks" } else { "unlink_tasks" }, params.clone());
        let expected = match (link, parent) {
            (true, true) => self.model.link_parent(from, to),
            (true, false) => self.model.link_blocks(from, to),
            (false, true) => self.model.unlink_parent(from, to),
            (false, false) => self.model.unlink_blocks(from, to),
        };
        assert_eq!(told.is_ok(), expected, "link {link} {params}: {told:?}");
    }

    fn work(&mut self, name: &str, work: Work) {
        let (token, board, model) = (self.board.token(name), &mut self.board, &mut self.model);
        board.work("complete_run", name, token + 1, json!({})).expect_err("not this token");
        let error = json!({ "error": { "category": "bad" } });
        match work {
            Work::Report => drop(board.work("report_run", name, token, json!({})).expect("a report")),
            Work::Complete => drop(board.work("complete_run", name, token, json!({})).expect("an end")),
            Work::Fail => drop(board.work("fail_run", name, token, error).expect("an end")),
            Work::Release => drop(board.work("release_run", name, token, json!({})).expect("given back")),
            Work::Vanish => board.expire(name),
        }
        match work {
            Work::Report => model.heard(name),
            Work::Complete => model.attempt_completed(name),
            Work::Fail => model.attempt_failed(name, AttemptStatus::Failed, true),
            Work::Release => model.release(name),
            Work::Vanish => model.attempt_failed(name, AttemptStatus::Lost, true),
        }
    }

    fn turn(&mut self, name: &str, turn: Turn) {
        match turn {
            Turn::Complete => {
                self.board.turn_completes(name);
                self.model.attempt_completed(name);
            }
            Turn::Fail => {
                self.board.turn_fails(name, Failure { retryable: true, ..failure("bad") });
                self.model.attempt_failed(name, AttemptStatus::Failed, true);
            }
            Turn::Interrupt => {
                let params = json!({ "session_id": "s1", "turn_id": self.board.attempt(name).turn_id });
                let command = serde_json::from_value(params).expect("params");
                self.board.decide(|state, context| interrupt_turn(state, &command, context)).expect("accepted");
                self.model.attempt_failed(name, AttemptStatus::Cancelled, false);
            }
        }
    }

    /// Status, attempts, edges, blockers, leases, waiting runs and timers are the same.
    fn agree(&mut self) {
        for (name, task) in &self.model.tasks {
            // What is in the index of those in the state is held against the state by the invariants.
            match self.board.world.state.tasks.get(&id(name)) {
                Some(known) => {
                    let blockers = known.blockers.keys().map(|blocker| blocker.as_str());
                    assert!(blockers.eq(task.blockers.iter()), "the blockers of {name}");
                    assert_eq!(known.lease.is_some(), task.held, "the lease of {name}");
                    assert_eq!(known.paused_from, task.paused_from, "where {name} stood before");
                    same(&known.row, name, task);
                }
                None => {
                    assert!(!open(task.status) && task.blockers.is_empty() && !task.held, "{name} left");
                    let ended = self.ended.insert(name.clone(), task.status);
                    if ended != Some(task.status) {
                        same(&self.board.known(name), name, task);
                    }
                }
            }
            let older = task.attempts.len().saturating_sub(1);
            if self.older.insert(name.clone(), older) != Some(older) {
                let rows = self.board.older(name).into_iter();
                let rows = rows.map(|bytes| serde_json::from_slice(&bytes).expect("an attempt"));
                let rows: Vec<_> = rows.map(|attempt: Attempt| (attempt.status, attempt.cause)).collect();
                assert_eq!(rows, task.attempts[..older], "the older attempts of {name}");
            }
        }
        self.edges_agree();
        let ready = self.model.tasks.keys().filter(|name| self.model.ready(name));
        let run = |name: &String| {
            let known = self.board.world.state.tasks.get(&id(name))?;
            known.row.attempt.as_ref().map(|attempt| attempt.run_id.clone())
        };
        let ready: BTreeSet<_> = ready.filter_map(run).collect();
        assert_eq!(self.board.ready("q").into_iter().collect::<BTreeSet<_>>(), ready, "what waits for a worker");
        let timers: Vec<_> = self.model.timers().into_iter().map(|(due, kind, name)| (kind, name, due)).collect();
        assert_eq!(self.board.timers(), timers, "timers");
    }

    fn edges_agree(&mut self) {
        self.satisfied.retain(|pair, _| self.model.blocks.contains_key(pair));
        for ((blocker, name), satisfied) in &self.model.blocks {
            let pair = (blocker.clone(), name.clone());
            if self.satisfied.insert(pair, *satisfied) != Some(*satisfied) {
                let edge = self.board.edge_row(blocker, Relationship::Blocks, name);
                let expected = if *satisfied { EdgeStatus::Satisfied } else { EdgeStatus::Active };
                assert_eq!(edge.map(|edge| edge.status), Some(expected), "{blocker} blocks {name}");
            }
        }
        let parents = self.model.tasks.iter().filter_map(|(name, task)| Some((task.parent.as_ref()?, name)));
        for (parent, name) in parents.clone() {
            let key = tasks::keys::edge(ACCOUNT, parent, Relationship::Parent, name);
            assert!(self.board.world.index.contains_key(&key), "{parent} above {name}");
        }
        for ((task, helper), satisfied) in &self.model.spawned {
            let edge = self.board.edge_row(task, Relationship::SpawnedSubagent, helper);
            let expected = if *satisfied { EdgeStatus::Satisfied } else { EdgeStatus::Active };
            assert_eq!(edge.map(|edge| edge.status), Some(expected), "{task} spawned {helper}");
        }
        // Each edge between tasks has a row at both ends.
        let table = tasks::keys::edges(ACCOUNT, &id("t"));
        let table = &table[..table.len() - 3];
        let rows = self.board.world.index.range(table.to_vec()..).take_while(|(key, _)| key.starts_with(table));
        let edges = rows.map(|(_, row)| serde_json::from_slice::<Edge>(row).expect("an edge"));
        let between = edges.filter(|edge| matches!(edge.relationship, Relationship::Parent | Relationship::Blocks));
        assert_eq!(between.count(), 2 * (self.model.blocks.len() + parents.count()), "no edge too many");
    }
}

/// Whether an agent's turn for the task runs.
fn at_work(model: &Model, name: &str) -> bool {
    let task = model.get(name);
    task.who == Who::Agent && task.run() == Some(AttemptStatus::Running)
}

fn same(row: &TaskRow, name: &str, task: &model::Task) {
    assert_eq!(row.status, task.status, "{name}");
    assert_eq!(row.parent_task_id.as_ref().map(|parent| parent.as_str()), task.parent.as_deref(), "{name}");
    let newest = row.attempt.as_ref().map(|attempt| (attempt.status, attempt.cause));
    assert_eq!(newest, task.attempts.last().copied(), "the newest attempt of {name}");
    let count = row.attempt.as_ref().map_or(0, |attempt| attempt.attempt_count as usize);
    assert_eq!(count, task.attempts.len(), "the attempts of {name}");
}
