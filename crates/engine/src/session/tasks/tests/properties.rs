//! Properties: engine and reference model agree whatever is done, and the log alone gives everything back.

use std::collections::BTreeSet;

use factum_model::task::TaskStatus;
use factum_model::{Event, Fact};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::any_move::{Move, any_move};
use super::invariants::check_index;
use super::model::open;
use super::play::Both;
use super::read_models::{events, record, record_as_of};

/// Moves of one run.
const MOVES_MAX: usize = 160;

/// Runs in one go; many more where the tests were built with `FACTUM_LONG=1`.
const CASES: u32 = if option_env!("FACTUM_LONG").is_some() { 4_000 } else { 120 };

/// Plays them all, and folds everything again at the end.
fn play(moves: &[Move]) -> Both {
    let mut both = Both::new();
    moves.iter().for_each(|next| both.play(next));
    check_index(&both.board);
    both.board.crash_without_a_snapshot();
    both
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn engine_and_model_agree(moves in proptest::collection::vec(any_move(), 1..MOVES_MAX * 2)) {
        play(&moves);
    }
}

/// The same moves every time: between them they see every status, every move a task can make by itself, and recall.
#[test]
fn the_moves_of_the_property_see_everything() {
    let mut runner = TestRunner::deterministic();
    let (mut moved, mut reached, mut facts) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut waited = 0;
    for _ in 0..40 {
        let moves = proptest::collection::vec(any_move(), MOVES_MAX).new_tree(&mut runner).expect("moves").current();
        let both = play(&moves);
        reached.extend(both.model.tasks.values().map(|task| task.status));
        moved.extend(both.board.watch.moved.iter().copied());
        let log = events(&both.board);
        facts.extend(log.iter().map(|event| event.fact.type_name()));
        waited += log
            .iter()
            .filter(|event| matches!(&event.fact, Fact::TaskStarted(fact) if fact.started_by == "runtime://queue"))
            .count();
        both.model.tasks.keys().for_each(|name| reads_the_same(&both, &log, name));
    }
    reached.extend(moved.iter().flat_map(|(from, to)| [*from, *to]));
    assert_eq!(reached, TaskStatus::ALL.into_iter().collect(), "every status");
    assert!(moved.len() > 60, "{} moves", moved.len());
    assert!(waited > 0, "no agent's turn ever waited behind another");
    for fact in ["task.recalled", "run.released", "task.lost", "task.timed_out", "task.retrying", "task.archived"] {
        assert!(facts.contains(fact), "{fact} never happened");
    }
}

/// What the log tells of a task is what the index does. Of one that ended the index keeps the root it had then.
fn reads_the_same(both: &Both, log: &[Event], name: &str) {
    let mut known = record(&both.board, name);
    let told = record_as_of(log, name, u64::MAX).expect("a record");
    if !open(known.status) {
        known.root_task_id.clone_from(&told.root_task_id);
    }
    assert_eq!(told, known, "{name}");
}
