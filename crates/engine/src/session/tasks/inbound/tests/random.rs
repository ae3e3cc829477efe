//! Whatever is said, asked, decided and cut off in whatever order: the rows say what the peers are shown, and the log gives
//! everything back.

use std::collections::BTreeMap;

use factum_a2a::view::{TaskView, time};
use factum_model::Command;
use factum_model::commands::{CompleteTask, CreateTask, PauseTask, ResumeTask, RetryTask};
use factum_model::events::Phase;
use factum_model::report::{Report, Runner, ToolDraft, TurnReport};
use factum_model::task::TaskRow;
use factum_model::value::Effect;
use proptest::prelude::*;

use super::*;
use crate::session::delegations::PeerNews;
use crate::session::tasks::tests::peers;
use crate::session::tasks::{
    GivenAway, complete_task, create_task, give_away, observe_peer, pause_task, resume_task, retry_task,
};
use crate::session::tests::world::{completed, failure, model_answer, model_requested, open};
use crate::session::{SessionState, Thread, decide_report};
use crate::{Context, Decision};

/// What decides a command about a task.
type OnTask<C, T> = fn(&SessionState, &[TaskRow], &C, &mut Context<'_>) -> Result<Decision<T>, Refusal>;

/// A session, and each of its tasks as its peer sees it.
struct Seen {
    world: World,
    begun: Vec<TaskId>,
    below: Vec<TaskId>,
    views: Vec<TaskView>,
    commits: usize,
}

impl Seen {
    fn new() -> Self {
        Self { world: World::new(), begun: Vec::new(), below: Vec::new(), views: Vec::new(), commits: 0 }
    }

    /// Folds what was committed since.
    fn look(&mut self) {
        for bytes in self.world.log[self.commits..].iter().flatten() {
            let event = Event::decode(bytes).expect("events decode");
            self.views.iter_mut().for_each(|view| drop(view.apply(&event)));
            self.views.extend(TaskView::begin(&event));
        }
        self.commits = self.world.log.len();
    }

    /// The list holds each task once, as its peer is shown it and since when.
    fn check_rows(&mut self) {
        self.look();
        let world = &self.world;
        let prefix = keys::all_changed(ACCOUNT, "a2a", CALLER);
        let listed = world.index.iter().filter(|(key, _)| key.starts_with(&prefix));
        let listed: Vec<InboundRow> = listed.map(|(_, value)| serde_json::from_slice(value).expect("a row")).collect();
        let by_id: BTreeMap<&str, &InboundRow> = listed.iter().map(|row| (row.remote_task_id.as_str(), row)).collect();
        assert_eq!((by_id.len(), listed.len()), (self.views.len(), self.views.len()), "none twice, none missing");
        for view in &self.views {
            let listed = by_id[view.id.as_str()];
            assert_eq!(row(world, &view.id), *listed, "both rows say the same");
            let word = native_status("a2a", listed.status, listed.rejected);
            let shown = serde_json::to_value(&view.state).expect("a word");
            assert_eq!((word.map(Value::from), time(listed.status_at)), (Some(shown), view.status_at), "{listed:?}");
            assert_eq!(world.state.inbound.get(&listed.task_id).is_some(), !listed.status.is_terminal());
        }
    }

    /// A command about a task that was begun, if there are so many. It may be refused.
    fn task<C: Command, T>(&mut self, at: usize, more: Value, decide: OnTask<C, T>) {
        let Some(task_id) = self.begun.get(at) else { return };
        let mut params = json!({ "task_id": task_id });
        params.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        self.command(params, decide);
    }

    fn command<C: Command, T>(&mut self, params: Value, decide: OnTask<C, T>) {
        let rows = self.world.task_rows(&params);
        let command: C = serde_json::from_value(params).expect("params");
        let _ = self.world.decide(|state, context| decide(state, &rows, &command, context));
    }

    /// A report of the turn of a thread, where one is at work. It may be refused.
    fn report(&mut self, at: usize, report: impl FnOnce(&World, &Thread) -> Option<Report>) {
        let Some(thread) = self.world.state.threads.get(at).cloned() else { return };
        let Some(turn) = &thread.active else { return };
        let runner =
            Runner { thread_id: thread.thread_id.clone(), turn_id: turn.turn_id.clone(), attempt: turn.attempt };
        if let Some(report) = report(&self.world, &thread) {
            let _ = self.world.decide(|state, context| decide_report(state, &runner, report, context));
        }
    }

    /// The turn's model asks for these calls, where nothing of it is open.
    fn calls(&mut self, at: usize, calls: Vec<ToolDraft>) {
        self.report(at, |_, thread| idle(thread).then(model_requested));
        self.report(at, |_, thread| {
            let request = thread.active.as_ref()?.model_request.clone()?;
            let (request_id, step_id) = (request.request_id, request.step_id);
            Some(Report::ModelCompleted { request_id, step_id, answer: model_answer(calls) })
        });
    }

    /// A call of the turn gives work to a peer.
    fn give(&mut self, at: usize) {
        self.calls(at, vec![open("delegate_to_peer", Effect::Idempotent)]);
        let Some(turn) = self.world.state.threads.get(at).and_then(|thread| thread.active.clone()) else { return };
        let Some(call) = turn.calls.iter().find(|call| call.tool_name == "delegate_to_peer") else { return };
        let (tool_call_id, arguments_digest) = (call.tool_call_id.clone(), call.arguments_digest.clone());
        self.report(at, |_, _| Some(Report::ToolRunning { tool_call_id: tool_call_id.clone(), arguments_digest }));
        let thread_id = self.world.state.threads[at].thread_id.clone();
        let runner = Runner { thread_id, turn_id: turn.turn_id.clone(), attempt: turn.attempt };
        let work = GivenAway { tool_call_id: &tool_call_id, peer: "north", message: "count" };
        let _ = self.world.decide(|state, context| give_away(state, &runner, work, &[], context));
    }

    fn take(&mut self, step: Move) {
        match step {
            Move::Begin => {
                let remote = format!("r{}", self.begun.len());
                let begun = begin(&mut self.world, &remote, text("hello")).expect("begun");
                self.begun.push(begun.output.task_id);
            }
            Move::Ask(at) => self.calls(at, vec![question("which")]),
            Move::Gate(at) => self.calls(at, vec![gated("delete")]),
            Move::Both(at) => self.calls(at, vec![question("which"), gated("delete")]),
            Move::Say(at, word) => {
                if let Some(task_id) = self.begun.get(at).cloned() {
                    let _ = say(&mut self.world, &task_id, &text(word));
                }
            }
            Move::Decide(at, word) => {
                let data = [Part::Data { data: json!({ "decision": word }) }];
                if let Some(task_id) = self.begun.get(at).cloned() {
                    let _ = say(&mut self.world, &task_id, &data);
                }
            }
            Move::Respond(nth) => {
                if nth < self.world.state.actions.len() {
                    self.world.respond(nth, "deny");
                }
            }
            Move::Status(at, phase) => {
                self.report(at, |_, _| Some(Report::Status { phase, title: "at it".to_owned(), detail: None }));
            }
            Move::Give(at) => self.give(at),
            Move::Peer(nth, state) => {
                let question = Some(format!("q{}", self.commits));
                let news = PeerNews { question, message: Some("which?".to_owned()), ..peers::news(state) };
                let run = self.world.state.delegations.all().nth(nth).map(|delegation| delegation.run_id.clone());
                if let Some(run_id) = run {
                    let seen = peers::task(news);
                    let _ = self.world.decide(|state, context| observe_peer(state, &run_id, &seen, context));
                }
            }
            Move::Complete(at) => {
                self.report(at, |_, thread| idle(thread).then(|| Report::TurnFinished { outcome: completed() }));
            }
            Move::Fail(at) => {
                let outcome = TurnReport::Failed { error: failure("broken") };
                self.report(at, |_, thread| idle(thread).then_some(Report::TurnFinished { outcome }));
            }
            Move::Below(at) => {
                let Some(parent) = self.begun.get(at).cloned() else { return };
                let child = format!("below{}", self.below.len());
                let params = json!({ "task_id": child, "parent_task_id": parent, "objective": "do it" });
                self.command::<CreateTask, _>(params, |state, rows, command, context| {
                    create_task(state, &session(), "demo", rows, command, context)
                });
                self.below.push(id(&child));
            }
            Move::BelowDone(at) => {
                if let Some(task_id) = self.below.get(at) {
                    self.command::<CompleteTask, _>(json!({ "task_id": task_id }), complete_task);
                }
            }
            Move::Retry(at) => self.task::<RetryTask, _>(at, json!({ "reason": "again" }), retry_task),
            Move::Pause(at) => self.task::<PauseTask, _>(at, json!({}), pause_task),
            Move::Resume(at) => self.task::<ResumeTask, _>(at, json!({}), resume_task),
            Move::Cancel(at) => self.task::<CancelTask, _>(at, json!({ "propagation": "none" }), cancel_task),
            Move::Recover => {
                if self.world.state.shell.is_some() {
                    self.world.recover();
                }
            }
            Move::Later => self.world.later(5),
        }
    }
}

fn idle(thread: &Thread) -> bool {
    thread.active.as_ref().is_some_and(|turn| turn.model_request.is_none() && turn.calls.is_empty())
}

#[derive(Clone, Debug)]
enum Move {
    Begin,
    Ask(usize),
    Gate(usize),
    Both(usize),
    Say(usize, &'static str),
    Decide(usize, &'static str),
    Respond(usize),
    Status(usize, Phase),
    Give(usize),
    Peer(usize, &'static str),
    Complete(usize),
    Fail(usize),
    Below(usize),
    BelowDone(usize),
    Retry(usize),
    Pause(usize),
    Resume(usize),
    Cancel(usize),
    Recover,
    Later,
}

fn moves() -> impl Strategy<Value = Move> {
    let said = prop::sample::select(&["blue", "allow", "deny"][..]);
    let decided = prop::sample::select(&["allow", "deny", "nonsense"][..]);
    let phases = prop::sample::select(&[Phase::Working, Phase::Recovering][..]);
    let states = ["working", "input-required", "auth-required", "completed", "canceled"];
    let states = prop::sample::select(states.to_vec());
    let at = 0..3usize;
    prop_oneof![
        2 => Just(Move::Begin),
        3 => at.clone().prop_map(Move::Ask),
        3 => at.clone().prop_map(Move::Gate),
        2 => at.clone().prop_map(Move::Both),
        3 => (at.clone(), said).prop_map(|(at, word)| Move::Say(at, word)),
        3 => (at.clone(), decided).prop_map(|(at, word)| Move::Decide(at, word)),
        1 => at.clone().prop_map(Move::Respond),
        3 => (at.clone(), phases).prop_map(|(at, phase)| Move::Status(at, phase)),
        2 => at.clone().prop_map(Move::Give),
        4 => (at.clone(), states).prop_map(|(nth, state)| Move::Peer(nth, state)),
        3 => at.clone().prop_map(Move::Complete),
        1 => at.clone().prop_map(Move::Fail),
        2 => at.clone().prop_map(Move::Below),
        1 => at.clone().prop_map(Move::BelowDone),
        2 => at.clone().prop_map(Move::Retry),
        1 => at.clone().prop_map(Move::Pause),
        1 => at.clone().prop_map(Move::Resume),
        1 => at.prop_map(Move::Cancel),
        1 => Just(Move::Recover),
        4 => Just(Move::Later),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn whatever_is_said_the_rows_are_what_is_shown_and_the_log_gives_everything_back(
        moves in prop::collection::vec(moves(), 1..60)
    ) {
        let mut seen = Seen::new();
        for step in moves {
            seen.take(step);
            seen.check_rows();
        }
        prop_assert_eq!(seen.world.replayed(), seen.world.state.clone());
        prop_assert_eq!(seen.world.reindexed(), seen.world.index.clone());
    }
}
