//! What holds of tasks after every commit, whatever was done.

use std::collections::{BTreeMap, BTreeSet};

use factum_model::id::{RunId, TaskId, TurnId};
use factum_model::task::*;
use factum_model::{Event, Fact};
use imbl::{OrdMap, OrdSet};

use super::super::apply::apply;
use super::super::moves::may_move;
use super::super::rows::rows;
use super::super::state::{ENDED_KEPT_MAX, Task, Tasks, is_open};
use super::board::Board;
use crate::few::FewMap;
use crate::session::tests::world::ACCOUNT;
use crate::session::*;
use crate::{Context, KeyReader};

/// Beyond so many tasks the index is compared as a whole only now and then.
const COMPARED_ALWAYS_MAX: usize = 10;
const COMPARED_EVERY: usize = 20;

/// What the invariants remember of the past.
#[derive(Default)]
pub(super) struct Watch {
    /// Attempts that another one followed, as they were written down.
    older: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Every task there ever was, as the facts left it.
    rows: BTreeMap<TaskId, TaskRow>,
    /// Statuses that followed one another.
    pub moved: BTreeSet<(TaskStatus, TaskStatus)>,
    commits: usize,
    lease_token: u64,
}

pub(super) fn check_invariants(board: &mut Board, before: &SessionState) {
    follow(board, &before.tasks);
    let tasks = &board.world.state.tasks;
    maps_mirror_tasks(tasks);
    helpers_mirror_the_session(&board.world.state);
    tasks.tasks.values().for_each(|task| stands_well(&board.world.state, task));
    counts_mirror_rows(board);
    older_attempts_stay(board);
    board.watch.commits += 1;
    if board.watch.rows.len() <= COMPARED_ALWAYS_MAX || board.watch.commits.is_multiple_of(COMPARED_EVERY) {
        check_index(board);
    }
    let last = &board.last;
    for task_id in touched(last) {
        let row = board.row(task_id.as_str()).expect("a task has a row");
        assert_eq!(row, board.watch.rows[task_id], "the row of {task_id}");
    }
}

fn touched(events: &[Event]) -> BTreeSet<&TaskId> {
    events.iter().filter_map(|event| event.scope.task_id.as_ref()).collect()
}

/// Folds the commit fact by fact: every change of a status is in the table, and only the task a fact names changes it.
fn follow(board: &mut Board, before: &Tasks) {
    let mut tasks = before.clone();
    for event in &board.last {
        let Some(task_id) = &event.scope.task_id else {
            apply(&mut tasks, event);
            continue;
        };
        let was = tasks.get(task_id).map(|task| task.row.status);
        apply(&mut tasks, event);
        for task_id in neighbours(event, &board.watch) {
            let row = tasks.get(&task_id).map(|task| task.row.clone());
            row.map(|row| board.watch.rows.insert(task_id, row));
        }
        let Some(task) = tasks.get(task_id) else { continue };
        let now = task.row.status;
        match (&event.fact, was) {
            (Fact::TaskCreated(_), None) => {
                assert!(matches!(now, TaskStatus::Draft | TaskStatus::Accepted | TaskStatus::Queued));
                assert!(!board.watch.rows.contains_key(task_id), "{task_id} was created twice");
            }
            (Fact::TaskRecalled(fact), None) => {
                assert_eq!(board.watch.rows[task_id], fact.record, "{task_id} comes back as it was");
            }
            (fact, None) => panic!("{} about {task_id}, which is not there", fact.type_name()),
            (fact, Some(was)) if was != now => {
                assert!(may_move(was, now), "{} moves {task_id} from {was:?} to {now:?}", fact.type_name());
                board.watch.moved.insert((was, now));
            }
            _ => {}
        }
        if let Fact::TaskDelegated(fact) = &event.fact
            && let Some(token) = fact.lease.as_ref().map(|lease| lease.token)
        {
            assert!(token > board.watch.lease_token, "tokens rise");
            board.watch.lease_token = token;
        }
        board.watch.rows.insert(task_id.clone(), task.row.clone());
    }
}

/// Others whose rows a fact changes: an edge counts at both ends, and a new parent is a new root for everything below.
fn neighbours(event: &Event, watch: &Watch) -> Vec<TaskId> {
    match &event.fact {
        Fact::TaskCreated(fact) => fact.parent_task_id.iter().cloned().collect(),
        Fact::TaskDependencyUpdated(fact) if fact.edge.relationship == Relationship::Parent => {
            watch.rows.keys().cloned().collect()
        }
        Fact::TaskDependencyUpdated(fact) => vec![fact.edge.from.clone()],
        _ => Vec::new(),
    }
}

/// The maps say nothing that the tasks do not.
fn maps_mirror_tasks(tasks: &Tasks) {
    let all = || tasks.tasks.values().map(|task| &**task);
    let mut children: OrdMap<TaskId, OrdSet<TaskId>> = OrdMap::new();
    let helped = |task: &&Task| tasks.helpers.at_work(&task.row.task_id) > 0;
    for task in all().filter(|task| task.is_open() || helped(task)) {
        let mut below = task;
        let mut above = 0;
        while let Some(parent) = &below.row.parent_task_id {
            above += 1;
            children.entry(parent.clone()).or_default().insert(below.row.task_id.clone());
            below = tasks.get(parent).expect("what is above an open task is in the state");
        }
        assert_eq!(below.row.task_id, task.row.root_task_id, "the root of {}", task.row.task_id);
        assert_eq!(task.above, above, "how many are above {}", task.row.task_id);
    }
    assert_eq!(tasks.children, children, "children");

    let mut waiting: OrdMap<TaskId, OrdSet<TaskId>> = OrdMap::new();
    for task in all() {
        for blocker in task.blockers.keys() {
            waiting.entry(blocker.clone()).or_default().insert(task.row.task_id.clone());
        }
    }
    assert_eq!(tasks.waiting, waiting, "waiting");

    let open = || all().filter_map(|task| task.open_run().map(|attempt| (attempt, task.row.task_id.clone())));
    let runs: FewMap<RunId, TaskId> = open().map(|(attempt, task_id)| (attempt.run_id.clone(), task_id)).collect();
    assert_eq!(tasks.runs, runs, "runs");
    let turns = open().filter_map(|(attempt, task_id)| attempt.turn_id.clone().map(|turn_id| (turn_id, task_id)));
    let turns: FewMap<TurnId, TaskId> = turns.collect();
    assert_eq!(tasks.turns, turns, "turns");

    let ended: BTreeSet<&TaskId> = tasks.ended.iter().collect();
    let over = all().filter(|task| !task.is_open() && !children.contains_key(&task.row.task_id) && !helped(task));
    assert_eq!(ended, over.map(|task| &task.row.task_id).collect(), "ended");
    assert!(tasks.ended.len() <= ENDED_KEPT_MAX && tasks.ended.len() == ended.len());
    let cancelled = |task: &&Task| matches!(task.row.status, TaskStatus::Cancelling | TaskStatus::Cancelled);
    let cancelled = all().filter(cancelled).map(|task| &task.row.task_id).filter(|task_id| !ended.contains(task_id));
    assert_eq!(tasks.cancelled.iter().collect::<BTreeSet<_>>(), cancelled.collect(), "cancelled");

    for agent in tasks.helpers.agents.values() {
        assert!(tasks.is_open(&agent.task_id) || agent.at_work, "{agent:?} rests and is nobody's");
        assert!(tasks.get(&agent.task_id).is_some(), "the task of {agent:?} is there");
    }
    assert!(tasks.helpers.jobs.values().all(|job| tasks.get(&job.task_id).is_some()), "the task of a job is there");
    for orders in [&tasks.agenda.cancel, &tasks.agenda.pause, &tasks.agenda.resume] {
        assert!(orders.keys().all(|task_id| tasks.get(task_id).is_some()), "an order reaches what is there");
    }
    for (task_id, blockers) in &tasks.agenda.unblock {
        let task = tasks.get(task_id).expect("who is unblocked is there");
        assert!(!blockers.is_empty() && blockers.iter().all(|blocker| task.blockers.contains_key(blocker)));
    }
}

/// Whoever is said to work for a task does, and who is to be stopped is there.
fn helpers_mirror_the_session(state: &SessionState) {
    let tasks = &state.tasks;
    for (subagent_id, agent) in &tasks.helpers.agents {
        let record = subagents::subagent_record(state, subagent_id).expect("a helper is open");
        assert_eq!(agent.at_work, !subagents::is_at_rest(record.status), "{subagent_id} is {:?}", record.status);
    }
    assert!(tasks.helpers.jobs.keys().all(|job_id| state.jobs.is_open(job_id)), "a job of a task is at work");
    assert!(tasks.agenda.close.keys().all(|subagent_id| state.subagents.is_open(subagent_id)), "who is closed is open");
    assert!(tasks.agenda.stop.keys().all(|job_id| state.jobs.is_open(job_id)), "what is stopped is at work");
}

/// One task's own facts agree with one another.
fn stands_well(state: &SessionState, task: &Task) {
    let (row, name) = (&task.row, &task.row.task_id);
    let open = task.open_run();
    match row.status {
        TaskStatus::Queued => assert_eq!(open.map(|attempt| attempt.status), Some(AttemptStatus::Queued), "{name}"),
        TaskStatus::Preparing | TaskStatus::Running => {
            assert_eq!(open.map(|attempt| attempt.status), Some(AttemptStatus::Running), "{name} runs")
        }
        TaskStatus::Draft | TaskStatus::Accepted => assert_eq!(row.attempt, None, "{name} has not begun"),
        TaskStatus::Retrying | TaskStatus::Lost => assert_eq!(open, None, "{name} is not at work"),
        status if !is_open(status) => assert_eq!(open, None, "{name} ended"),
        _ => {}
    }
    assert_eq!(task.paused_from.is_some(), row.status == TaskStatus::Paused, "{name}: {task:?}");
    assert_eq!(row.ended_at.is_some(), !is_open(row.status), "{name} ended_at");
    let queued = open.is_some_and(|attempt| attempt.status == AttemptStatus::Queued && attempt.turn_id.is_none());
    assert_eq!(task.ready_since.is_some(), queued, "{name} waits for a worker exactly while its run is queued");
    let held = open.is_some_and(|attempt| attempt.status == AttemptStatus::Running) && row.execution.queue.is_some();
    assert_eq!(task.lease.is_some(), held, "{name}: what runs for a queue is held");
    if let Some(attempt) = open.filter(|attempt| attempt.turn_id.is_some()) {
        let (thread_id, turn_id) = (attempt.thread_id.as_ref().expect("a thread"), attempt.turn_id.as_ref());
        let thread = state.thread(thread_id).expect("a thread");
        let active = thread.active.as_ref().map(|turn| &turn.turn_id);
        let waits = thread.queue.iter().any(|turn| Some(&turn.entry.turn_id) == turn_id);
        let expected = if active == turn_id { AttemptStatus::Running } else { AttemptStatus::Queued };
        assert!(active == turn_id || waits, "{name} shows {:?} and nobody runs it", row.status);
        assert_eq!(attempt.status, expected, "{name} is at work exactly while its turn is");
    }
    if !is_open(row.status) {
        assert!(task.blockers.is_empty() && task.due == Default::default(), "{name} waits for nothing any more");
    }
    assert!(task.left.is_none() || (row.status == TaskStatus::Paused && open.is_some()), "{name}: {task:?}");
    assert!(task.due.cancel.is_none() || row.status == TaskStatus::Cancelling, "{name}");
    assert!((task.due.timeout.is_none() && task.due.inactivity.is_none()) || open.is_some(), "{name}");
}

/// Those that left are counted too.
fn counts_mirror_rows(board: &Board) {
    let mut counts: OrdMap<TaskStatus, u64> = OrdMap::new();
    for row in board.watch.rows.values() {
        *counts.entry(row.status).or_default() += 1;
    }
    assert_eq!(board.world.state.tasks.counts, counts.into_iter().collect(), "counts");
}

/// What an attempt was when the next one began is what it is for ever.
fn older_attempts_stay(board: &mut Board) {
    let (index, watch) = (&board.world.index, &mut board.watch);
    for task_id in touched(&board.last) {
        let count = watch.rows[task_id].attempt.as_ref().map_or(0, |attempt| attempt.attempt_count);
        for count in 1..count {
            let key = tasks::keys::attempt(ACCOUNT, task_id, count);
            let bytes = index.get(&key).unwrap_or_else(|| panic!("attempt {count} of {task_id} is gone"));
            watch.older.entry(key).or_insert_with(|| {
                let attempt: Attempt = serde_json::from_slice(bytes).expect("an attempt");
                assert!(attempt.attempt_count == count && !attempt.is_open(), "{task_id}: {attempt:?}");
                bytes.clone()
            });
        }
    }
    let kept = watch.older.iter().all(|(key, bytes)| index.get(key) == Some(bytes));
    assert!(kept, "an attempt is not what it was");
}

/// The tables that tasks are found by.
const TABLES: [&str; 9] =
    ["task", "task_attempt", "task_status", "task_session", "task_parent", "task_assignee", "timer", "ready", "lease"];

/// The index is what the tasks say, those that left included, and nothing else.
pub(super) fn check_index(board: &Board) {
    let state = &board.world.state;
    let shell = state.shell.as_ref().expect("a session");
    let mut expected = BTreeMap::new();
    for (task_id, row) in &board.watch.rows {
        match state.tasks.get(task_id) {
            Some(task) => expected.extend(rows(task, shell)),
            None => {
                assert!(!is_open(row.status), "{task_id} left although it is open");
                expected.extend(rows(&Task::at_rest(row.clone()), shell));
            }
        }
        let prefix = tasks::keys::edges(ACCOUNT, task_id);
        let edges = board.world.index.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix));
        assert_eq!(edges.count() as u64, row.edges, "the edges of {task_id}");
    }
    expected.extend(board.watch.older.clone());
    let tables: BTreeMap<_, _> = (board.world.index.iter())
        .filter(|(key, _)| KeyReader::new(key).text().is_some_and(|table| TABLES.contains(&table)))
        .filter(|(key, _)| keys::read_timer(key).is_none_or(|timer| timer.kind != TimerKind::Action))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    assert!(tables == expected, "{}", difference(&tables, &expected));
    check_timers(board);
}

fn difference(actual: &BTreeMap<Vec<u8>, Vec<u8>>, expected: &BTreeMap<Vec<u8>, Vec<u8>>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace('\0', "|");
    let mut lines = Vec::new();
    for (key, value) in actual.iter().filter(|(key, value)| expected.get(*key) != Some(value)) {
        lines.push(format!("in the index: {} {}", text(key), text(value)));
    }
    for (key, value) in expected.iter().filter(|(key, value)| actual.get(*key) != Some(value)) {
        lines.push(format!("should be: {} {}", text(key), text(value)));
    }
    lines.join("\n")
}

/// A timer's row is there exactly as long as firing it would change something.
fn check_timers(board: &Board) {
    let state = &board.world.state;
    if state.has_agenda() {
        return;
    }
    let rows = board.timer_rows();
    let kinds = [TimerKind::TaskRetry, TimerKind::TaskTimeout, TimerKind::TaskInactivity, TimerKind::TaskCancel];
    for (task_id, _) in state.tasks.tasks.iter() {
        for kind in kinds {
            let row = rows.iter().find(|timer| timer.kind == kind && timer.id == task_id.as_str());
            let shell = state.shell.as_ref().expect("a session");
            let far = crate::session::tests::world::at(1 << 40);
            let timer = row.cloned().unwrap_or_else(|| shell.timer(far, kind, task_id.as_str()));
            let now = timer.due.max(board.world.now);
            assert_eq!(fires(board, &timer, now), row.is_some(), "{timer:?} of {:?}", state.tasks.get(task_id));
        }
    }
}

/// Whether a timer that fires then changes anything.
fn fires(board: &Board, timer: &Timer, now: factum_model::Timestamp) -> bool {
    let mut context = Context {
        now,
        ids: &mut board.world.ids.clone(),
        caller: "runtime://timer",
        account: ACCOUNT,
        through: None,
        limits: &board.world.limits,
        prelude: 0,
        opening: &crate::no_opening,
    };
    !fire_timer(&board.world.state, timer, &mut context).expect("a timer fires").events.is_empty()
}
