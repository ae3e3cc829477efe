//! What holds after every commit, whatever was done: checked by the world itself, in tables and properties alike.

use std::collections::{BTreeMap, BTreeSet};

use factum_model::events::{OnTimeout, ResolutionSource, ToolState};
use factum_model::id::{ActionId, ToolCallId, TurnId};
use factum_model::{Event, Fact};

use super::world::{ACCOUNT, World};
use crate::IndexChange;
use crate::session::resting::Owner;
use crate::session::*;

/// What the invariants remember of the past. Kept apart from the state, so that neither can hide the other's mistakes.
#[derive(Default)]
pub(in crate::session) struct Watch {
    /// The state as a second fold sees it, from the encoded bytes alone. Now and then it is replaced by a snapshot.
    pub shadow: SessionState,
    /// Calls that somebody has to decide on before they may run.
    barred: BTreeSet<ToolCallId>,
    submitted: BTreeMap<TurnId, u32>,
    ended: BTreeMap<TurnId, u32>,
    /// Every action there ever was, and whether it is resolved.
    actions: BTreeMap<ActionId, bool>,
}

impl Watch {
    /// From here on the second fold stands on a snapshot that was written and read back.
    pub(in crate::session) fn restore_from_snapshot(&mut self, state: &SessionState) {
        let bytes = serde_json::to_vec(state).expect("a state serializes");
        self.shadow = serde_json::from_slice(&bytes).expect("a snapshot parses");
        assert_eq!(self.shadow, *state, "a snapshot is the state it was taken of");
    }

    /// Some of the newest actions there were, open or not. Counted ids sort by age.
    pub(super) fn recent_actions(&self) -> impl Iterator<Item = ActionId> + '_ {
        self.actions.keys().rev().take(4).cloned()
    }
}

pub(super) fn check_invariants(world: &mut World, before: &SessionState, events: &[Event], changes: &[IndexChange]) {
    replay(world, before, events);
    events.iter().for_each(|event| watch(&mut world.watch, event));
    turns_are_in_one_place(&world.state);
    actions_belong_to_waiting_calls(&world.state);
    threads_rest_when_their_work_is_over(&world.state);
    turns_name_whom_they_are_for(before, events);
    index_mirrors_state(world, events);
    index_changes_once(before, &world.state, changes);
}

/// Whoever follows a task, an item or a child agent sees all of its turn.
fn turns_name_whom_they_are_for(before: &SessionState, events: &[Event]) {
    for event in events.iter().filter(|event| owners::is_of_turn(&event.scope, &event.fact)) {
        let (Some(turn_id), Some(thread_id)) = (&event.scope.turn_id, &event.scope.thread_id) else { continue };
        let scope = &event.scope;
        if let Some(owner) = before.tasks.owner_of(turn_id) {
            assert_eq!((&scope.task_id, &scope.run_id), (&owner.task_id, &owner.run_id), "{event:?}");
        } else if let Some(owner) = before.jobs.owner_of(turn_id) {
            assert_eq!((&scope.job_item_id, &scope.run_id), (&owner.job_item_id, &owner.run_id), "{event:?}");
        } else if let Some(one) = before.subagents.in_thread(thread_id) {
            assert_eq!(scope.subagent_id.as_ref(), Some(one.id()), "{event:?}");
        }
    }
}

/// Sequences are contiguous, and the bytes give back the events and, folded, the state.
fn replay(world: &mut World, before: &SessionState, events: &[Event]) {
    let stored = world.log.last().expect("a commit was stored");
    for ((sequence, event), bytes) in (before.sequence + 1..).zip(events).zip(stored) {
        assert_eq!(event.sequence, sequence, "no gap, no reuse");
        let decoded = Event::decode(bytes).expect("events decode");
        assert_eq!(decoded, *event, "an event survives its encoding");
        apply(&mut world.watch.shadow, &decoded);
    }
    assert_eq!(world.watch.shadow, world.state, "fold(decoded events) == state");
}

/// Threads are at rest exactly while what they were opened for has ended and nothing is under way in them.
fn threads_rest_when_their_work_is_over(state: &SessionState) {
    let mut rest = 0;
    for thread in &state.threads {
        let open = match thread.owner.as_deref() {
            None => true,
            Some(Owner::Task(task_id)) => state.tasks.is_open(task_id),
            Some(Owner::Job(job_id)) => state.jobs.is_open(job_id),
            Some(Owner::Subagent(subagent_id)) => state.subagents.is_open(subagent_id),
        };
        let asked = state.actions.iter().any(|action| action.thread_id == thread.thread_id);
        let over = !open && !asked && thread.active.is_none() && thread.queue.is_empty();
        assert_eq!(state.resting.contains(&thread.thread_id), over, "{:?}", thread.owner);
        rest += usize::from(over);
    }
    assert_eq!(state.resting.len(), rest, "those at rest are among the session's");
    assert!(rest <= 2, "{rest} threads at rest did not leave");
}

/// Follows the facts themselves: which calls may run, which turns are over, which actions are decided.
fn watch(watch: &mut Watch, event: &Event) {
    let call = event.scope.tool_call_id.clone();
    match &event.fact {
        Fact::TurnSubmitted(_) => *watch.submitted.entry(turn(event)).or_default() += 1,
        Fact::TurnCompleted(_) | Fact::TurnFailed(_) => {
            *watch.ended.entry(turn(event)).or_default() += 1;
            let counts = (watch.ended.get(&turn(event)), watch.submitted.get(&turn(event)));
            assert!(counts.0 <= counts.1, "{} ended more often than it was submitted", turn(event));
        }
        Fact::ActionRequired(_) => {
            let action_id = event.scope.action_id.clone().expect("an action has an id");
            assert_eq!(watch.actions.insert(action_id, false), None, "an action is asked for once");
            watch.barred.extend(call);
        }
        Fact::ActionResolved(fact) => {
            let action_id = event.scope.action_id.clone().expect("an action has an id");
            assert_eq!(watch.actions.insert(action_id, true), Some(false), "an action is resolved once");
            let word = fact.decision.trim().to_ascii_lowercase();
            let goes_on = ["allow", "approve", "yes", "retry"].contains(&word.as_str());
            if let Some(call) = call.filter(|_| goes_on && fact.source == ResolutionSource::Response) {
                watch.barred.remove(&call);
            }
        }
        Fact::ToolProgress(fact) if fact.state == ToolState::Lost => watch.barred.extend(call),
        Fact::ToolProgress(fact) if fact.state == ToolState::Running => {
            let call = call.expect("a call has an id");
            assert!(!watch.barred.contains(&call), "{call} runs although nobody allowed it");
        }
        _ => {}
    }
}

fn turn(event: &Event) -> TurnId {
    event.scope.turn_id.clone().expect("a fact of a turn names it")
}

fn turns_are_in_one_place(state: &SessionState) {
    let active = state.threads.iter().filter_map(|thread| thread.active.as_ref()).map(|turn| &turn.turn_id);
    let queued = state.threads.iter().flat_map(|thread| &thread.queue).map(|turn| &turn.entry.turn_id);
    let mut seen = BTreeSet::new();
    for turn_id in active.chain(queued) {
        assert!(seen.insert(turn_id), "{turn_id} stands in two places");
    }
}

/// Every open action stands in front of an open call that waits, and every call that waits has exactly one; or it is the
/// question of a peer, which has at most one.
fn actions_belong_to_waiting_calls(state: &SessionState) {
    let turns = || state.threads.iter().filter_map(|thread| thread.active.as_ref());
    let waiting: Vec<_> = turns()
        .flat_map(|turn| turn.calls.iter().map(move |call| (turn, call)))
        .filter(|(_, call)| call.state == CallState::Waiting)
        .map(|(turn, call)| (Some(turn.turn_id.clone()), Some(call.tool_call_id.clone())))
        .collect();
    let asked: Vec<_> = state.delegations.all().filter_map(|delegation| delegation.action.as_ref()).collect();
    assert!(asked.iter().all(|action_id| state.action(action_id).is_some()), "what a peer asks is open");
    let own = state.actions.iter().filter(|action| !asked.contains(&&action.action_id));
    let mut acted: Vec<_> = own.map(|action| (action.turn_id.clone(), action.tool_call_id.clone())).collect();
    let mut waiting = waiting;
    waiting.sort();
    acted.sort();
    assert_eq!(acted, waiting, "open actions and waiting calls are the same set");
}

/// The small tables are compared as a whole, the row of an action whenever a fact is about it.
fn index_mirrors_state(world: &World, events: &[Event]) {
    let state = &world.state;
    let shell = state.shell.as_ref().expect("a commit made the session");
    let unfinished: Vec<_> = table(world, "unfinished").map(keys::read_unfinished).collect();
    let expected = state.unfinished().then(|| Some((ACCOUNT.to_owned(), shell.session_id.clone())));
    assert_eq!(unfinished, expected.into_iter().collect::<Vec<_>>(), "unfinished");

    let timers = table(world, "timer").map(|key| keys::read_timer(key).expect("a timer"));
    let timers: Vec<Timer> = timers.filter(|timer| timer.kind == TimerKind::Action).collect();
    let mut due: Vec<Timer> = state.actions.iter().filter_map(|action| timer(shell, action)).collect();
    due.sort();
    assert_eq!(timers, due, "timers are the open actions whose time can run out");

    assert_eq!(table(world, "session").count(), 1);
    for action_id in events.iter().filter_map(|event| event.scope.action_id.as_ref()) {
        let row: ActionRow =
            serde_json::from_slice(&world.index[&keys::action(ACCOUNT, action_id)]).expect("an action row");
        let resolved = world.watch.actions[action_id];
        assert_eq!((row.decision.is_some(), state.action(action_id).is_none()), (resolved, resolved), "{action_id}");
    }
}

fn table<'a>(world: &'a World, name: &str) -> impl Iterator<Item = &'a [u8]> {
    let prefix = [name.as_bytes(), &[0]].concat();
    let end = [name.as_bytes(), &[1]].concat();
    world.index.range(prefix..end).map(|(key, _)| key.as_slice())
}

fn timer(shell: &Shell, action: &OpenAction) -> Option<Timer> {
    let due = action.required.timeout_at.filter(|_| action.required.on_timeout != OnTimeout::Wait)?;
    let (session_id, action_id) = (shell.session_id.clone(), action.action_id.clone());
    Some(Timer {
        due,
        account: ACCOUNT.to_owned(),
        session_id,
        kind: TimerKind::Action,
        id: action_id.as_str().to_owned(),
    })
}

/// The `unfinished` key is written when the answer changes and only then.
fn index_changes_once(before: &SessionState, after: &SessionState, changes: &[IndexChange]) {
    let table = keys::all_unfinished();
    let changed = changes.iter().filter(|change| {
        let (IndexChange::Put { key, .. } | IndexChange::Delete { key }) = change;
        key.starts_with(&table)
    });
    assert_eq!(changed.count(), usize::from(before.unfinished() != after.unfinished()), "unfinished written");
}
