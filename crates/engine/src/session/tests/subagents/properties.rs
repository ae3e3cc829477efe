//! Properties: whatever is done to child agents in whatever order, their promises hold and the log gives all of it back.

use std::collections::{BTreeMap, BTreeSet};

use factum_model::subagent::SubagentState;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::json;

use super::super::world::*;
use super::family::*;
use crate::Limits;
use crate::session::subagents::Within;

const LONG_RUN_MOVES: usize = 6_000;
const OPEN_MAX: usize = 5;
/// As many threads of closed ones as stay, in tests.
const CLOSED_THREADS_KEPT: usize = 2;
const DEPTH_MAX: u32 = 3;

#[derive(Clone, Debug)]
enum Move {
    Spawn { parent: Option<usize>, mode: Option<&'static str>, idle: bool },
    Send { child: usize },
    Resume { child: usize },
    Close { child: usize, grace_ms: Option<u64> },
    Submit { child: usize },
    Finish { child: usize, well: bool },
    Ask { child: usize },
    Respond,
    Interrupt { child: usize },
    Wait { ms: i64 },
    Fire,
    Restart,
    Snapshot,
}

fn any_move() -> impl Strategy<Value = Move> {
    let child = || 0..8_usize;
    prop_oneof![
        12 => (proptest::option::of(child()), proptest::option::of(prop_oneof!["plan", "default", "bypass"]), any::<bool>())
            .prop_map(|(parent, mode, idle)| Move::Spawn { parent, mode: mode.map(word), idle }),
        4 => child().prop_map(|child| Move::Send { child }),
        3 => child().prop_map(|child| Move::Resume { child }),
        2 => (child(), proptest::option::of(1..400_u64)).prop_map(|(child, grace_ms)| Move::Close { child, grace_ms }),
        2 => child().prop_map(|child| Move::Submit { child }),
        8 => (child(), any::<bool>()).prop_map(|(child, well)| Move::Finish { child, well }),
        4 => child().prop_map(|child| Move::Ask { child }),
        3 => Just(Move::Respond),
        1 => child().prop_map(|child| Move::Interrupt { child }),
        3 => (0..200_i64).prop_map(|ms| Move::Wait { ms }),
        3 => Just(Move::Fire),
        1 => Just(Move::Restart),
        1 => Just(Move::Snapshot),
    ]
}

fn word(mode: String) -> &'static str {
    ["plan", "default", "bypass"].into_iter().find(|one| *one == mode).unwrap_or("plan")
}

/// What the test remembers by itself: who was spawned below whom, and who was ever closed.
#[derive(Default)]
struct Reference {
    spawned: Vec<String>,
    parents: BTreeMap<String, Option<String>>,
    closed: BTreeSet<String>,
}

impl Reference {
    /// One of the newest, so that open ones are met often.
    fn name(&self, nth: usize) -> Option<String> {
        self.spawned.iter().rev().nth(nth).cloned()
    }

    fn is_below(&self, child: &str, ancestor: &str) -> bool {
        let mut next = self.parents[child].as_deref();
        while let Some(parent) = next {
            if parent == ancestor {
                return true;
            }
            next = self.parents[parent].as_deref();
        }
        false
    }
}

struct Play {
    world: World,
    reference: Reference,
}

impl Play {
    fn new() -> Self {
        let mut world = World::idle();
        let (subagents_open_max, subagent_depth_max, threads_max) = (OPEN_MAX, DEPTH_MAX, usize::MAX);
        world.limits =
            Limits { subagents_open_max, subagent_depth_max, threads_max, queue_turns_max: 2, ..Limits::default() };
        Self { world, reference: Reference::default() }
    }

    fn play(&mut self, next: Move) -> Vec<String> {
        let lines = self.act(next).unwrap_or_default();
        for line in &lines {
            if let Some(id) = line.strip_prefix("subagent.closed ").and_then(|rest| rest.split(' ').next()) {
                assert!(self.reference.closed.insert(id.to_owned()), "{id} is closed once");
            }
        }
        self.check();
        lines
    }

    fn act(&mut self, next: Move) -> Option<Vec<String>> {
        let (world, reference) = (&mut self.world, &mut self.reference);
        Some(match next {
            Move::Spawn { parent, mode, idle } => {
                let parent = parent.and_then(|nth| reference.name(nth));
                let name = format!("s{}", reference.spawned.len());
                let mut params = json!({ "subagent_id": name, "parent_subagent_id": parent, "permission_mode": mode });
                if !idle {
                    params["input"] = hello();
                }
                let lines = spawn_with(world, params);
                if !lines[0].starts_with("refused") {
                    reference.spawned.push(name.clone());
                    reference.parents.insert(name, parent);
                }
                lines
            }
            Move::Send { child } => send(world, &reference.name(child)?),
            Move::Resume { child } => resume(world, &reference.name(child)?, None),
            Move::Close { child, grace_ms } => close(world, &reference.name(child)?, grace_ms),
            Move::Submit { child } => submit_to(world, &reference.name(child)?),
            Move::Finish { child, well } => finish(world, &reference.name(child)?, well),
            Move::Ask { child } => {
                let name = reference.name(child)?;
                let fresh = active(world, &name).is_some_and(|turn| turn.rounds == 0 && turn.model_request.is_none());
                if !fresh {
                    return None;
                }
                answer(world, &name, vec![gated("rm")])
            }
            Move::Respond => {
                world.state.actions.first()?;
                without_ids(world.respond(0, "deny"))
            }
            Move::Interrupt { child } => {
                let thread_id = record(world, &reference.name(child)?).thread_id;
                without_ids(world.interrupt(json!({ "thread_id": thread_id })))
            }
            Move::Wait { ms } => {
                world.later(ms);
                Vec::new()
            }
            Move::Fire => fire(world),
            Move::Restart => without_ids(world.recover()),
            Move::Snapshot => {
                let state = world.state.clone();
                world.watch.restore_from_snapshot(&state);
                Vec::new()
            }
        })
    }

    /// What always holds.
    fn check(&self) {
        let (world, reference) = (&self.world, &self.reference);
        let mut open = 0;
        let mut closing = Vec::new();
        for name in &reference.spawned {
            let record = record(world, name);
            let thread = world.state.thread(&record.thread_id);
            let closed = reference.closed.contains(name);
            assert_eq!(closed, record.status == SubagentState::Closed, "{name}");
            if closed {
                let rests = thread.is_none_or(|thread| thread.active.is_none() && thread.queue.is_empty());
                assert!(rests, "{name} is closed and works");
                continue;
            }
            let thread = thread.expect("an open one has its thread");
            let works = thread.active.is_some();
            open += 1;
            let parent = reference.parents[name].as_ref();
            assert!(!parent.is_some_and(|parent| reference.closed.contains(parent)), "{name} outlived its parent");
            assert!(record.depth <= DEPTH_MAX, "{name} is too deep");
            match record.status {
                SubagentState::Running | SubagentState::WaitingInput | SubagentState::WaitingPermission => {
                    assert!(works, "{name} is said to run and nobody runs it")
                }
                SubagentState::Closing => closing.push((record.close_at, name.clone())),
                SubagentState::Unknown => panic!("{name} is unknown"),
                _ => assert!(!works && thread.queue.is_empty(), "{name} works and is said to rest"),
            }
            let narrow = |name: &String| json!(self::record(world, name).permission_mode) == json!("plan");
            assert!(parent.is_none_or(|parent| !narrow(parent) || narrow(name)), "{name} may more than its parent");
        }
        assert!(open <= OPEN_MAX, "{open} are open");
        let kept = reference.closed.len().min(CLOSED_THREADS_KEPT);
        assert_eq!(world.state.threads.len(), 1 + open + kept, "threads of those closed long ago leave");
        for (_, name) in &closing {
            let family = reference.spawned.iter().filter(|one| *one == name || reference.is_below(one, name));
            let works = family.into_iter().any(|one| active(world, one).is_some());
            assert!(works, "{name} waits for nobody and is not closed");
        }
        closing.sort();
        let mut due: Vec<_> = timers(world).into_iter().map(|timer| (Some(timer.due), timer.id)).collect();
        due.sort();
        assert_eq!(due, closing, "exactly the closing ones have a timer");
    }

    /// The lists against the test's own memory of who stands below whom.
    fn check_lists(&self) {
        let (world, reference) = (&self.world, &self.reference);
        let names = |within: &Within, descendants| -> Vec<String> {
            list(world, within, descendants).iter().map(|id| id.as_str().to_owned()).collect()
        };
        assert_eq!(names(&Within::Session, true), reference.spawned);
        for name in &reference.spawned {
            let within = Within::Subagent(id_of(name));
            let all = reference.spawned.iter();
            let below: Vec<String> = all.clone().filter(|child| reference.is_below(child, name)).cloned().collect();
            let direct = all.filter(|child| reference.parents[*child].as_deref() == Some(name.as_str()));
            assert_eq!(names(&within, true), below, "below {name}");
            assert_eq!(names(&within, false), direct.cloned().collect::<Vec<_>>(), "children of {name}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_done_the_promises_hold_and_the_log_gives_it_back(
        moves in proptest::collection::vec(any_move(), 0..200),
    ) {
        let mut play = Play::new();
        for next in moves {
            play.play(next);
        }
        play.check_lists();
        prop_assert_eq!(play.world.replayed(), play.world.state.clone());
        prop_assert_eq!(play.world.reindexed(), play.world.index.clone());
    }
}

/// A long life. It sees every kind of thing, so the property above is not about nothing.
#[test]
fn a_long_family_history_sees_everything() {
    let mut runner = TestRunner::deterministic();
    let mut play = Play::new();
    let mut seen = BTreeSet::new();
    let mut moves = 0;
    // A life is cut before looking at all that were ever closed takes over.
    while moves < LONG_RUN_MOVES {
        for _ in 0..300 {
            let next = any_move().new_tree(&mut runner).expect("a move").current();
            seen.extend(play.play(next).into_iter().map(without_names));
            moves += 1;
        }
        play.check_lists();
        play = Play::new();
    }
    for line in [
        "subagent.spawned running",
        "subagent.spawned idle",
        "subagent.input",
        "subagent.status running",
        "subagent.status closing",
        "subagent.completed completed",
        "subagent.failed failed",
        "subagent.failed cancelled",
        "subagent.closed was completed",
        "subagent.closed was failed",
        "subagent.closed was cancelled",
        "subagent.closed was idle",
        "refused limit_exceeded: subagents_open is 6, the limit is 5",
        "refused limit_exceeded: subagent_depth is 4, the limit is 3",
        "refused precondition_failed: the permission mode is wider than the parent's",
        "refused precondition_failed: the child agent is closed and takes no more input",
        "refused precondition_failed: the child agent is being closed and takes no more input",
    ] {
        assert!(seen.contains(line), "{line} never happened; there was {seen:#?}");
    }
}

fn without_names(line: String) -> String {
    let named = |word: &&str| word.len() > 1 && word.starts_with('s') && word[1..].bytes().all(|b| b.is_ascii_digit());
    line.split(' ').filter(|word| !named(word)).collect::<Vec<_>>().join(" ")
}
