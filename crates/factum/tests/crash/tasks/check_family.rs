//! Child agents: whoever was spawned is there, what was said to them was said once, and a closed one stays closed.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::book::{Answer, Book, text};
use super::found::Found;

pub(super) fn check(book: &Book, found: &Found, faults: &mut Vec<String>) {
    for (session_id, children) in &found.subagents {
        check_turns(found, session_id, faults);
        check_lives(found, session_id, children, faults);
    }
    for spawned in book.of("spawn_subagent") {
        check_spawned(spawned, found, faults);
        check_said(spawned, found, faults);
    }
    for said in book.of("send_subagent_input").chain(book.of("resume_subagent")) {
        check_said(said, found, faults);
    }
}

fn check_spawned(spawned: &Answer, found: &Found, faults: &mut Vec<String>) {
    let (params, answer) = (&spawned.params, &spawned.answer);
    let children = &found.subagents[text(params, "session_id")];
    let own: Vec<&Value> = children.iter().filter(|child| child["subagent_id"] == params["subagent_id"]).collect();
    let fits = |child: &Value| {
        child["thread_id"] == answer["thread_id"] && child["parent_subagent_id"] == params["parent_subagent_id"]
    };
    if own.len() != 1 || !fits(own[0]) {
        faults.push(format!("{params} was acknowledged as {answer} and is {own:?}"));
    }
}

/// What was acknowledged as said is a turn of the child's thread, once.
fn check_said(said: &Answer, found: &Found, faults: &mut Vec<String>) {
    let Some(turn_id) = said.answer["turn_id"].as_str() else { return };
    let submitted = found.subagents.keys().flat_map(|session_id| found.of(session_id, &["turn.submitted"]));
    let own: Vec<&Value> = submitted.filter(|event| event["turn_id"] == turn_id).collect();
    if own.len() != 1 || own[0]["thread_id"] != said.answer["thread_id"] {
        faults.push(format!("{} was said to {} and is in the log as {own:?}", turn_id, said.answer["subagent_id"]));
    }
}

/// Every turn was submitted once and ended once.
fn check_turns(found: &Found, session_id: &str, faults: &mut Vec<String>) {
    let mut ends: HashMap<&str, usize> = HashMap::new();
    for event in found.of(session_id, &["turn.completed", "turn.failed"]) {
        *ends.entry(text(event, "turn_id")).or_default() += 1;
    }
    let mut submitted = HashSet::new();
    for event in found.of(session_id, &["turn.submitted"]) {
        let turn_id = text(event, "turn_id");
        let ended = ends.get(turn_id).copied().unwrap_or(0);
        if !submitted.insert(turn_id) || ended != 1 {
            faults.push(format!("{session_id}: {turn_id} ended {ended} times, or was submitted twice"));
        }
    }
}

/// Each is spawned once, closed once and behind its children, and nothing begins in its thread from then on.
fn check_lives(found: &Found, session_id: &str, children: &[Value], faults: &mut Vec<String>) {
    let sequences = |kind: &'static [&'static str]| {
        let mut all: HashMap<&str, Vec<u64>> = HashMap::new();
        for event in found.of(session_id, kind) {
            all.entry(text(event, "subagent_id")).or_default().push(event["sequence"].as_u64().unwrap());
        }
        all
    };
    let (spawned, closed) = (sequences(&["subagent.spawned"]), sequences(&["subagent.closed"]));
    if spawned.len() != children.len() {
        faults.push(format!("{session_id}: {} were spawned, {} are listed", spawned.len(), children.len()));
    }
    for child in children {
        let id = text(child, "subagent_id");
        let (Some([_]), Some([end])) = (spawned.get(id).map(Vec::as_slice), closed.get(id).map(Vec::as_slice)) else {
            faults.push(format!("{id} is {child}, spawned at {:?}, closed at {:?}", spawned.get(id), closed.get(id)));
            continue;
        };
        if child["status"] != "closed" {
            faults.push(format!("{id} was closed and is {}", child["status"]));
        }
        let parent = child["parent_subagent_id"].as_str().and_then(|parent| closed.get(parent)?.first());
        if parent.is_some_and(|parent| parent < end) {
            faults.push(format!("{id} outlived its parent"));
        }
        let begins = found.of(session_id, &["turn.submitted", "turn.started"]);
        let late =
            begins.filter(|event| event["thread_id"] == child["thread_id"] && event["sequence"].as_u64() > Some(*end));
        faults.extend(late.map(|event| format!("{id} was closed, and then {event}")));
    }
}
