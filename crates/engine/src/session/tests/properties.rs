//! Properties: whatever is done in whatever order, the invariants hold and the log alone gives everything back.

use std::collections::BTreeSet;

use factum_model::Event;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::moves::{Move, any_json, any_move, play};
use super::read_models::models_as_bytes;
use super::world::World;
use crate::session::SessionState;
use crate::{Limits, digest_of};

/// Moves of the long run; its state may not grow with them.
const LONG_RUN_MOVES: usize = 12_000;

/// What the state of the bounded session below may take, as JSON: two threads with 4 queued turns and 16 incidents each,
/// and 4 open actions.
const STATE_BYTES_MAX: usize = 16 << 10;

/// Small bounds, so that they are met.
fn bounded() -> World {
    let mut world = World::idle();
    world.start_side_thread();
    world.limits = Limits { queue_turns_max: 4, open_actions_max: 4, model_rounds_max: 12, ..Limits::default() };
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// The world checks its invariants after every commit; here the whole past is folded again.
    #[test]
    fn whatever_is_done_the_log_gives_everything_back(moves in proptest::collection::vec(any_move(), 0..250)) {
        let mut world = bounded();
        for next in moves {
            play(&mut world, next);
        }
        let folded = world.replayed();
        prop_assert_eq!(&folded, &world.state);
        prop_assert_eq!(world.reindexed(), world.index.clone());
        let events: Vec<Event> =
            world.log.iter().flatten().map(|bytes| Event::decode(bytes).expect("events decode")).collect();
        prop_assert_eq!(models_as_bytes(&world.state, &events), models_as_bytes(&folded, &events));
    }

    /// A snapshot of any moment and the events behind it give the state.
    #[test]
    fn a_snapshot_and_the_rest_of_the_log_give_the_state(
        moves in proptest::collection::vec(any_move(), 1..120),
        at in any::<proptest::sample::Index>(),
    ) {
        let mut world = bounded();
        let at = at.index(moves.len());
        let mut snapshot = Vec::new();
        let mut stored = 0;
        for (n, next) in moves.into_iter().enumerate() {
            if n == at {
                snapshot = serde_json::to_vec(&world.state).expect("a state serializes");
                stored = world.log.len();
            }
            play(&mut world, next);
        }
        let mut state: SessionState = serde_json::from_slice(&snapshot).expect("a snapshot parses");
        for bytes in world.log[stored..].iter().flatten() {
            crate::session::apply(&mut state, &Event::decode(bytes).expect("events decode"));
        }
        prop_assert_eq!(state, world.state);
    }

    /// What an approval is bound to is the same for whoever reads the arguments back from the log.
    #[test]
    fn a_digest_survives_the_log(value in any_json()) {
        let bytes = serde_json::to_vec(&value).expect("JSON serializes");
        let read: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON parses");
        prop_assert_eq!(digest_of(&read), digest_of(&value));
    }
}

/// A long life in a bounded state. It also sees every kind of end, so the properties above are not about nothing.
#[test]
fn a_long_session_stays_small_and_sees_everything() {
    let mut runner = TestRunner::deterministic();
    let mut world = bounded();
    let mut seen = BTreeSet::new();
    let mut largest = 0;
    for n in 0..LONG_RUN_MOVES {
        let next: Move = any_move().new_tree(&mut runner).expect("a move").current();
        seen.extend(play(&mut world, next).into_iter().map(without_names));
        if n % 50 == 0 {
            largest = largest.max(serde_json::to_vec(&world.state).expect("a state serializes").len());
        }
    }
    assert!(largest < STATE_BYTES_MAX, "{largest} bytes of state");
    assert!(world.state.turn_count > 500, "{} turns", world.state.turn_count);
    for line in [
        "turn.completed end_turn",
        "turn.failed cancelled interrupted",
        "turn.failed cancelled removed_from_queue",
        "turn.failed failed model_error",
        "turn.failed failed tool_lost",
        "turn.failed timed_out timeout",
        "action.required review",
        "action.resolved Retry by response",
        "action.resolved timeout by timeout",
        "action.resolved cancelled by superseded",
        "tool.failed lost",
        "tool.failed denied",
        "tool.failed timed_out",
        "tool.progress interrupted",
        "refused limit_exceeded: queue_turns is 5, the limit is 4",
        "refused limit_exceeded: open_actions is 5, the limit is 4",
        "refused precondition_failed: the arguments are not the ones that were decided on",
        "refused precondition_failed: this run of the turn is over",
    ] {
        assert!(seen.contains(line), "{line} never happened; there was {seen:#?}");
    }
}

/// A line without the names of turns.
fn without_names(line: String) -> String {
    let named = |word: &&str| word.len() == 2 && word.starts_with('t');
    line.split(' ').filter(|word| !named(word)).collect::<Vec<_>>().join(" ")
}
