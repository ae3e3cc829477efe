//! Whatever is said, asked, decided and cut off in whatever order: the rows follow, and the log gives everything back.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// The list holds each task once, under its last change.
fn check_rows(world: &World) {
    let prefix = keys::all_changed(ACCOUNT, "a2a", CALLER);
    let listed: Vec<InboundRow> = world
        .index
        .iter()
        .filter(|(key, _)| key.starts_with(&prefix))
        .map(|(_, value)| serde_json::from_slice(value).expect("a row"))
        .collect();
    let by_id: BTreeMap<&str, &InboundRow> = listed.iter().map(|row| (row.remote_task_id.as_str(), row)).collect();
    assert_eq!(by_id.len(), listed.len(), "none twice");
    for listed in &listed {
        assert_eq!(row(world, &listed.remote_task_id), *listed, "both rows say the same");
        if let Some(task) = world.state.tasks.get(&listed.task_id) {
            assert_eq!(task.row.status, listed.status, "and what its task says");
        }
        assert_eq!(world.state.inbound.get(&listed.task_id).is_some(), !listed.status.is_terminal());
    }
}

#[derive(Clone, Debug)]
enum Move {
    Begin,
    Ask,
    Gate,
    Both,
    Say(usize, &'static str),
    Decide(usize, &'static str),
    Complete,
    Cancel(usize),
    Recover,
    Later,
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        2 => Just(Move::Begin),
        3 => Just(Move::Ask),
        3 => Just(Move::Gate),
        1 => Just(Move::Both),
        3 => (0..4usize, prop_oneof![Just("blue"), Just("allow"), Just("deny")]).prop_map(|(at, word)| Move::Say(at, word)),
        3 => (0..4usize, prop_oneof![Just("allow"), Just("deny"), Just("nonsense")]).prop_map(|(at, word)| Move::Decide(at, word)),
        2 => Just(Move::Complete),
        1 => (0..4usize).prop_map(Move::Cancel),
        1 => Just(Move::Recover),
        2 => Just(Move::Later),
    ]
}

/// Reports of the main thread, where its turn is in a state to give them.
fn work(world: &mut World, calls: Vec<factum_model::report::ToolDraft>) {
    let Some(turn) = world.state.threads.first().and_then(|thread| thread.active.clone()) else { return };
    if turn.model_request.is_none() && turn.calls.is_empty() {
        model_asks(world, calls);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_said_the_rows_follow_and_the_log_gives_everything_back(moves in prop::collection::vec(moves(), 1..60)) {
        let mut world = World::new();
        let mut begun: Vec<TaskId> = Vec::new();
        for step in moves {
            match step {
                Move::Begin => {
                    let remote = format!("r{}", begun.len());
                    begun.push(begin(&mut world, &remote, text("hello")).expect("begun").output.task_id);
                }
                Move::Ask => work(&mut world, vec![question("which")]),
                Move::Gate => work(&mut world, vec![gated("delete")]),
                Move::Both => work(&mut world, vec![question("which"), gated("delete")]),
                Move::Say(at, word) => drop(begun.get(at).cloned().map(|task_id| say(&mut world, &task_id, &text(word)).is_ok())),
                Move::Decide(at, word) => {
                    let data = [Part::Data { data: json!({ "decision": word }) }];
                    begun.get(at).cloned().map(|task_id| say(&mut world, &task_id, &data).is_ok());
                }
                Move::Complete => {
                    let turn = world.state.threads.first().and_then(|thread| thread.active.clone());
                    if turn.is_some_and(|turn| turn.model_request.is_none() && turn.calls.is_empty()) {
                        world.complete();
                    }
                }
                Move::Cancel(at) => {
                    if let Some(task_id) = begun.get(at).cloned() {
                        let command = CancelTask { task_id, reason: None, propagation: Propagation::None, idempotency_key: None };
                        let rows = Vec::new();
                        drop(world.decide(|state, context| cancel_task(state, &rows, &command, context)));
                    }
                }
                Move::Recover => if world.state.shell.is_some() { world.recover(); },
                Move::Later => world.later(5),
            }
            check_rows(&world);
        }
        prop_assert_eq!(world.replayed(), world.state.clone());
        prop_assert_eq!(world.reindexed(), world.index.clone());
    }
}
