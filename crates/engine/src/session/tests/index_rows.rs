//! Index rows: what each commit puts and deletes, and that the rows read back.

use factum_model::events::{OnTimeout, ResolutionSource};
use factum_model::value::{Effect, OnBusy};
use serde_json::json;

use super::world::*;
use crate::IndexChange;
use crate::session::*;

/// A change in a word or two: `+table` or `-table`.
fn tables(changes: &[IndexChange]) -> Vec<String> {
    let table = |key: &[u8]| crate::KeyReader::new(key).text().map(str::to_owned).expect("a table");
    changes
        .iter()
        .map(|change| match change {
            IndexChange::Put { key, .. } => format!("+{}", table(key)),
            IndexChange::Delete { key } => format!("-{}", table(key)),
        })
        .collect()
}

fn report(world: &mut World, report: factum_model::report::Report) -> Vec<String> {
    let runner = world.runner();
    tables(&world.decide(|state, context| decide_report(state, &runner, report, context)).expect("accepted").changes)
}

#[test]
fn unfinished_is_written_when_it_changes_and_only_then() {
    let mut world = World::new();
    let submit = |world: &mut World, turn: &str| {
        tables(&world.submit_with(json!({ "turn_id": turn })).expect("accepted").changes)
    };
    let none: [&str; 0] = [];
    let finish = || factum_model::report::Report::TurnFinished { outcome: completed() };
    assert_eq!(submit(&mut world, "t1"), ["+session", "+unfinished"]);
    assert_eq!(submit(&mut world, "t2"), none, "more work");
    assert_eq!(report(&mut world, model_requested()), none, "work goes on");
    let open = world.request();
    let answer = model_answer(vec![self::open("read", Effect::Pure)]);
    let (request_id, step_id) = (open.request_id, open.step_id);
    report(&mut world, factum_model::report::Report::ModelCompleted { request_id, step_id, answer });
    world.run_tool("read");
    world.end_tool("read");
    assert_eq!(report(&mut world, finish()), ["+turn"], "the next one starts in the same commit");
    assert_eq!(report(&mut world, finish()), ["+turn", "-unfinished"]);
    assert_eq!(submit(&mut world, "t3"), ["+unfinished"]);
    assert_eq!(world.submit("t4", OnBusy::Interrupt).len(), 3);
    assert!(world.index.contains_key(&keys::unfinished(ACCOUNT, &id("s1"))));
    world.interrupt(json!({}));
    assert!(!world.index.contains_key(&keys::unfinished(ACCOUNT, &id("s1"))));
}

#[test]
fn actions_and_timers_come_and_go_together() {
    let ask = |on_timeout| {
        let mut world = World::idle();
        world.submit("t1", OnBusy::Queue);
        world.ask_model();
        let open = world.request();
        let answer = model_answer(vec![gated_until("rm", Some(5), on_timeout)]);
        let (request_id, step_id) = (open.request_id, open.step_id);
        let told = report(&mut world, factum_model::report::Report::ModelCompleted { request_id, step_id, answer });
        (world, told)
    };
    let respond = |world: &mut World| {
        let command =
            serde_json::from_value(json!({ "action_id": world.action_id(0), "decision": "allow" })).expect("params");
        tables(&world.decide(|state, context| respond_action(state, &command, context)).expect("accepted").changes)
    };
    for on_timeout in [OnTimeout::Deny, OnTimeout::Cancel] {
        let (mut world, told) = ask(on_timeout);
        assert_eq!(told, ["+action", "+timer"]);
        let timer = world.index.keys().find_map(|key| keys::read_timer(key)).expect("a timer");
        let (session_id, action_id) = (id("s1"), world.action_id(0));
        assert_eq!(
            timer,
            Timer {
                due: at(5),
                account: ACCOUNT.into(),
                session_id,
                kind: TimerKind::Action,
                id: action_id.as_str().to_owned()
            }
        );
        assert_eq!(respond(&mut world), ["+action", "-timer"]);
    }
    let (mut world, told) = ask(OnTimeout::Wait);
    assert_eq!(told, ["+action"], "a timer that decides nothing would be due forever");
    assert_eq!(respond(&mut world), ["+action"]);
}

#[test]
fn the_end_of_a_turn_takes_its_timers_along() {
    for after_ms in [0, 5] {
        let mut world = World::idle();
        world
            .with_calls(vec![gated_until("a", Some(5), OnTimeout::Cancel), gated_until("b", Some(9), OnTimeout::Deny)]);
        let (first, second) = (world.action_id(0), world.action_id(1));
        world.later(after_ms);
        if after_ms == 0 {
            world.interrupt(json!({}));
        } else {
            world.expire(&first);
        }
        assert_eq!(world.index.keys().find_map(|key| keys::read_timer(key)), None);
        let row = |action_id| -> ActionRow {
            serde_json::from_slice(&world.index[&keys::action(ACCOUNT, action_id)]).expect("a row")
        };
        let expected = if after_ms == 0 { ResolutionSource::Superseded } else { ResolutionSource::Timeout };
        assert_eq!((row(&first).source, row(&second).source), (Some(expected), Some(ResolutionSource::Superseded)));
    }
}

#[test]
fn a_session_is_listed_under_its_current_title() {
    let mut world = World::idle();
    world.later(10);
    world.update(json!({ "title": "New" }));
    let rows: Vec<SessionRow> = world
        .index
        .range(keys::sessions_of(ACCOUNT)..)
        .take_while(|(key, _)| key.starts_with(&keys::sessions_of(ACCOUNT)))
        .map(|(_, row)| serde_json::from_slice(row).expect("a row"))
        .collect();
    let (session_id, title) = (id("s1"), Some("New".to_owned()));
    let (agent, created_by) = ("demo".to_owned(), CALLER.to_owned());
    assert_eq!(rows, [SessionRow { session_id, title, agent, created_by, created_at: at(0) }]);
    assert_eq!(world.update(json!({})), Vec::<String>::new(), "nothing to change, nothing written");
}

#[test]
fn a_keyed_command_is_found_by_its_key_even_if_it_made_the_session() {
    let mut world = World::new();
    world.key = Some("k1");
    let done = world.submit_with(json!({ "turn_id": "t1" })).expect("accepted");
    assert_eq!(done.events[0].fact.type_name(), "command.accepted");
    assert_eq!(done.output.sequence, world.state.sequence, "the answer counts the event in front");
    assert_eq!(tables(&done.changes), ["+idempotency", "+session", "+unfinished"]);
    let row: IdempotencyRow =
        serde_json::from_slice(&world.index[&keys::idempotency(ACCOUNT, CALLER, "k1")]).expect("a row");
    let expected = ("test".to_owned(), "sha256:00".to_owned(), json!({ "ok": true }));
    assert_eq!((row.command, row.params_digest, row.result), expected);

    world.key = Some("k2");
    world.interrupt(json!({ "turn_id": "unknown" }));
    assert!(world.index.contains_key(&keys::idempotency(ACCOUNT, CALLER, "k2")), "a no-op is remembered too");
    let others = [keys::idempotency("other", CALLER, "k1"), keys::idempotency(ACCOUNT, "agent://bob", "k1")];
    assert!(others.iter().all(|key| !world.index.contains_key(key)), "keys belong to their principal");
}
