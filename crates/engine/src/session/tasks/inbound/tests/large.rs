//! Messages as large as a request may be: what a commit writes besides the facts does not grow with them.

use factum_model::commands::RetryTask;
use factum_model::events::TurnSubmitted;
use factum_model::report::{Report, TurnReport};

use super::*;
use crate::session::tasks::retry_task;
use crate::session::tests::world::failure;
use crate::size::json_bytes;

/// The facts that give an agent something, with their sequences.
fn given(events: &[Event]) -> Vec<(u64, TurnSubmitted)> {
    let given = events.iter().filter_map(|event| match &event.fact {
        Fact::TurnSubmitted(fact) => Some((event.sequence, (**fact).clone())),
        _ => None,
    });
    given.collect()
}

#[test]
fn what_is_long_is_in_no_row_and_is_given_again_all_the_same() {
    let mut world = World::new();
    let long = text(&"a long text ".repeat(200_000));
    let done = begin(&mut world, "r1", long.clone()).expect("begun");
    let longest = world.index.values().map(Vec::len).max();
    assert!(longest < Some(64 << 10), "a row of {longest:?} bytes");
    let [(_, first)] = &given(&done.events)[..] else { panic!("one turn") };
    assert_eq!((&first.input, first.input_sequence), (&long, None));

    let failed = Report::TurnFinished { outcome: TurnReport::Failed { error: failure("broken") } };
    world.report(failed);
    assert_eq!(row(&world, "r1").status, TaskStatus::Failed);
    let params = json!({ "task_id": done.output.task_id, "reason": "again" });
    let rows = world.task_rows(&params);
    let command: RetryTask = serde_json::from_value(params).expect("params");
    let again = world.decide(|state, context| retry_task(state, &rows, &command, context)).expect("tried again");
    let [(sequence, second)] = &given(&again.events)[..] else { panic!("one turn") };
    let said_in = second.input_sequence.expect("where it is said in full");
    assert!(said_in < *sequence);
    let events: Vec<Event> = world.log.iter().flatten().map(|bytes| Event::decode(bytes).expect("an event")).collect();
    assert_eq!(given(&events[said_in as usize - 1..][..1]), given(&done.events), "where it was given first");
    let written: usize = world.log[0].iter().map(Vec::len).sum();
    assert!(written < json_bytes(&long) + (64 << 10), "{written} bytes to say it once");
    assert_eq!(world.replayed(), world.state);
}

/// What is heard at the end of a turn is heard in one commit, which has room for so much.
#[test]
fn more_than_a_commit_takes_is_refused_while_it_works() {
    let mut world = World::new();
    let task_id = begin(&mut world, "r1", text("hello")).expect("begun").output.task_id;
    let long = text(&"x".repeat(3 << 20));
    say(&mut world, &task_id, &long).expect("taken");
    let refusal = say(&mut world, &task_id, &long).err().expect("a refusal");
    assert_eq!(refusal.code, ErrorCode::LimitExceeded);
    say(&mut world, &task_id, &text("a short one")).expect("taken");
    model_asks(&mut world, Vec::new());
    world.complete();
    let both: Vec<Part> = long.into_iter().chain(text("a short one")).collect();
    assert_eq!(asked(&world), both);
}
