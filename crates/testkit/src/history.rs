//! What writers were told and what readers saw, held against what is stored: nothing lost, no gap, no duplicate, no reorder,
//! and nothing that anybody saw before it was durable.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

/// A writer's acknowledgement.
#[derive(Clone, Debug)]
pub struct Acknowledged {
    pub writer: String,
    pub session_id: String,
    pub turn_id: String,
    pub sequence: u64,
}

/// A reader's observation.
#[derive(Clone, Debug)]
struct Seen {
    sequence: u64,
    event_id: String,
}

/// Everything that was told to anybody.
#[derive(Clone, Debug, Default)]
pub struct History {
    acknowledged: Vec<Acknowledged>,
    seen: BTreeMap<(String, String), Vec<Seen>>,
}

/// The events of each session as they are stored in the end.
pub type Stored = BTreeMap<String, Vec<Value>>;

impl History {
    /// A writer was told that its turn is in. Each writer's acknowledgements come in the order it got them.
    pub fn acknowledged(&mut self, acknowledged: Acknowledged) {
        self.acknowledged.push(acknowledged);
    }

    /// A reader, across all its reconnects, was shown an event.
    pub fn seen(&mut self, reader: &str, session_id: &str, event: &Value) {
        let seen = Seen { sequence: sequence(event), event_id: text(event, "event_id").to_owned() };
        self.seen.entry((reader.to_owned(), session_id.to_owned())).or_default().push(seen);
    }

    pub fn acknowledgements(&self) -> &[Acknowledged] {
        &self.acknowledged
    }

    /// How many events readers were shown, all together.
    pub fn observations(&self) -> usize {
        self.seen.values().map(Vec::len).sum()
    }

    /// Everything that is wrong, in words. Readers are expected to have begun at the beginning.
    pub fn faults(&self, stored: &Stored) -> Vec<String> {
        let mut faults = Vec::new();
        let mut ids = HashSet::new();
        for (session, events) in stored {
            for (event, expected) in events.iter().zip(1..) {
                if sequence(event) != expected {
                    faults.push(format!("{session}: sequence {} is stored where {expected} belongs", sequence(event)));
                }
                if !ids.insert(text(event, "event_id")) {
                    faults.push(format!("{session}: the event {} is stored twice", text(event, "event_id")));
                }
            }
        }
        self.check_writers(stored, &mut faults);
        self.check_readers(stored, &mut faults);
        faults
    }

    fn check_writers(&self, stored: &Stored, faults: &mut Vec<String>) {
        let mut submitted: HashMap<&str, usize> = HashMap::new();
        for event in stored.values().flatten().filter(|event| event["type"] == "turn.submitted") {
            *submitted.entry(text(event, "turn_id")).or_default() += 1;
        }
        for (turn, count) in submitted.iter().filter(|(_, count)| **count > 1) {
            faults.push(format!("the turn {turn} was submitted {count} times"));
        }
        let mut last: HashMap<(&str, &str), u64> = HashMap::new();
        for ack in &self.acknowledged {
            let Acknowledged { writer, session_id, turn_id, sequence } = ack;
            let at = usize::try_from(*sequence).ok().and_then(|at| stored.get(session_id)?.get(at.checked_sub(1)?));
            match at {
                None => {
                    faults.push(format!("{writer}: {turn_id} was acknowledged at {session_id}/{sequence} and is lost"))
                }
                Some(event) if event["turn_id"] != turn_id.as_str() => {
                    faults.push(format!("{writer}: {session_id}/{sequence} is not of {turn_id}: {event}"));
                }
                Some(_) => {}
            }
            if !submitted.contains_key(turn_id.as_str()) {
                faults.push(format!("{writer}: {turn_id} was acknowledged and never submitted"));
            }
            let before = last.insert((writer, session_id), *sequence);
            if before.is_some_and(|before| before >= *sequence) {
                faults.push(format!("{writer}: {session_id}/{sequence} was acknowledged after {before:?}"));
            }
        }
    }

    fn check_readers(&self, stored: &Stored, faults: &mut Vec<String>) {
        for ((reader, session), seen) in &self.seen {
            for (seen, expected) in seen.iter().zip(1..) {
                if seen.sequence != expected {
                    faults.push(format!("{reader}: {session} showed {} where {expected} belongs", seen.sequence));
                    break;
                }
                let kept = stored.get(session).and_then(|events| events.get(expected as usize - 1));
                if kept.map(|event| text(event, "event_id")) != Some(&*seen.event_id) {
                    faults.push(format!(
                        "{reader}: {session}/{expected} was shown as {} and is not stored",
                        seen.event_id
                    ));
                }
            }
        }
    }
}

fn sequence(event: &Value) -> u64 {
    event["sequence"].as_u64().unwrap_or_else(|| panic!("no sequence: {event}"))
}

fn text<'a>(event: &'a Value, name: &str) -> &'a str {
    event[name].as_str().unwrap_or_else(|| panic!("no {name}: {event}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(sequence: u64, turn: &str) -> Value {
        json!({ "sequence": sequence, "event_id": format!("e{sequence}"), "turn_id": turn, "type": "turn.submitted" })
    }

    fn sound() -> (History, Stored) {
        let events = vec![event(1, "a"), event(2, "b"), event(3, "c")];
        let mut history = History::default();
        for (turn, sequence) in [("a", 1), ("c", 3)] {
            history.acknowledged(ack(turn, sequence));
        }
        events.iter().for_each(|event| history.seen("r", "s", event));
        (history, Stored::from([("s".to_owned(), events)]))
    }

    fn ack(turn: &str, sequence: u64) -> Acknowledged {
        Acknowledged { writer: "w".into(), session_id: "s".into(), turn_id: turn.into(), sequence }
    }

    /// What is found after one thing was made wrong.
    fn check(break_it: impl FnOnce(&mut History, &mut Vec<Value>), expected: &str) {
        let (mut history, mut stored) = sound();
        break_it(&mut history, stored.get_mut("s").unwrap());
        let faults = history.faults(&stored);
        assert!(faults.iter().any(|fault| fault.contains(expected)), "{expected}: {faults:?}");
    }

    #[test]
    fn a_sound_history_has_no_faults() {
        let (history, stored) = sound();
        assert_eq!(history.faults(&stored), Vec::<String>::new());
    }

    #[test]
    fn every_kind_of_fault_is_seen() {
        check(|_, stored| drop(stored.pop()), "is lost");
        check(|_, stored| drop(stored.remove(1)), "is stored where 2 belongs");
        check(|_, stored| stored[2]["event_id"] = json!("e1"), "is stored twice");
        check(|_, stored| stored[2]["turn_id"] = json!("a"), "was submitted 2 times");
        check(|_, stored| stored[2]["turn_id"] = json!("d"), "is not of c");
        check(|_, stored| stored[1]["event_id"] = json!("other"), "is not stored");
        check(|history, _| history.acknowledged(ack("a", 1)), "was acknowledged after");
        check(|history, _| history.seen("r", "s", &event(5, "e")), "showed 5 where 4 belongs");
        check(|history, _| history.seen("r", "s", &event(3, "c")), "showed 3 where 4 belongs");
        check(|history, _| history.seen("r", "s", &event(4, "d")), "is not stored");
    }
}
