//! What is stored on both sides in the end, and whether they agree.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use factum_testkit::Client;
use serde_json::{Value, json};

use super::super::read::{events, pages};
use super::Accepted;
use super::side::Side;

/// How long both may take to settle once everything is restored: a driver that met trouble again and again waits a minute.
const SETTLE_PATIENCE: Duration = Duration::from_secs(240);
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// Everything that one side has.
pub(super) struct Found {
    name: &'static str,
    /// What it gave away, by its text.
    given: BTreeMap<String, Vec<Given>>,
    /// What it was given, by its text.
    taken: BTreeMap<String, Vec<Taken>>,
}

struct Given {
    row: Value,
    /// The last word on the peer's task.
    known: Value,
    /// The events of its session.
    events: Vec<Value>,
}

struct Taken {
    row: Value,
    /// How often somebody was set to work on it.
    turns: usize,
}

/// Waits until neither side has anything at work, and reads everything.
pub(super) async fn come_to_rest(sides: &[Side; 2], seed: u64) -> [Found; 2] {
    let began = Instant::now();
    let mut look = tokio::time::interval(LOOK_INTERVAL);
    loop {
        look.tick().await;
        let mut open = Vec::new();
        for side in sides {
            open.extend(at_work(side).await);
        }
        // What was given up here may still have to be stopped there.
        if open.is_empty() {
            open.extend(found(&sides[0]).await.unsettled());
            open.extend(found(&sides[1]).await.unsettled());
        }
        if open.is_empty() {
            return [found(&sides[0]).await, found(&sides[1]).await];
        }
        assert!(began.elapsed() < SETTLE_PATIENCE, "seed {seed}: still at work: {open:#?}");
    }
}

impl Found {
    /// What the other side has not been asked about to the end.
    fn unsettled(&self) -> impl Iterator<Item = Value> {
        let settled = |given: &&Given| given.known["recovery"] == "reconciled" || given.known["recovery"] == "missing";
        let open = self.given.values().flatten().filter(move |given| !settled(given));
        open.map(|given| json!({ "side": self.name, "text": given.row["objective"], "known": given.known }))
    }
}

/// What has not ended, tasks and turns.
async fn at_work(side: &Side) -> Vec<Value> {
    let http = side.http();
    let brief = |task: &Value| {
        let (text, status, id) = (&task["objective"], &task["status"], &task["task_id"]);
        json!({ "side": side.name, "text": text, "status": status, "task_id": id, "native": task["native_status"] })
    };
    let ended = ["completed", "failed", "cancelled", "timed_out", "lost"];
    let tasks = pages(&http, "list_tasks", json!({ "limit": 200 }), "tasks").await;
    let open = tasks.iter().filter(|task| !ended.contains(&task["status"].as_str().unwrap())).map(brief);
    let mut open: Vec<Value> = open.collect();
    for session in pages(&http, "list_sessions", json!({ "limit": 200 }), "sessions").await {
        if session["status"] == "running" {
            open.push(json!({ "side": side.name, "session": session }));
        }
    }
    open
}

async fn found(side: &Side) -> Found {
    let http = side.http();
    let (mut given, mut taken): (BTreeMap<String, Vec<Given>>, BTreeMap<String, Vec<Taken>>) = Default::default();
    for row in pages(&http, "list_tasks", json!({ "limit": 200 }), "tasks").await {
        let text = row["objective"].as_str().unwrap().to_owned();
        let events = events(&http, row["session_id"].as_str().unwrap()).await;
        let row = http.call("get_task", json!({ "task_id": row["task_id"] })).await.unwrap();
        if row["peer"] == "other" {
            let of_task = |event: &&Value| event["task_id"] == row["task_id"];
            let news = events.iter().filter(of_task).rfind(|event| event["type"] == "channel.peer_task.updated");
            let known = news.map(|event| event["payload"].clone()).unwrap_or_default();
            given.entry(text).or_default().push(Given { row, known, events });
        } else {
            let turns = events.iter().filter(|event| event["type"] == "turn.submitted").count();
            taken.entry(text).or_default().push(Taken { row, turns });
        }
    }
    Found { name: side.name, given, taken }
}

/// Holds both sides against each other and against what was asked. `settled` where cancelled work was waited for however
/// long it took, so that even its attempts have to agree.
pub(super) fn check(accepted: &[Accepted], found: &[Found; 2], settled: bool, seed: u64) {
    let mut faults = Vec::new();
    for one in accepted {
        check_accepted(one, &found[one.from], &mut faults);
    }
    for (here, there) in [(&found[0], &found[1]), (&found[1], &found[0])] {
        for (text, given) in &here.given {
            match given.as_slice() {
                [given] => check_given(text, given, here, there, settled, &mut faults),
                several => faults.push(format!("{}: {text:?} was given away {} times", here.name, several.len())),
            }
        }
        for (text, taken) in &there.taken {
            if taken.len() != 1 || !here.given.contains_key(text) {
                let names: Vec<&Value> = taken.iter().map(|one| &one.row["task_id"]).collect();
                faults.push(format!("{}: {text:?} is there as {names:?}", there.name));
            }
        }
    }
    assert!(faults.is_empty(), "seed {seed}: {} faults: {:#?}", faults.len(), &faults[..faults.len().min(20)]);
    tell(accepted, found);
}

/// What was accepted is there, and came to what it had to come to unless it was cancelled.
fn check_accepted(one: &Accepted, here: &Found, faults: &mut Vec<String>) {
    let Some([given]) = here.given.get(&one.work.text).map(Vec::as_slice) else {
        // A turn may be interrupted before it gives anything away.
        if !(one.cancelled && one.work.session_id().is_some()) {
            faults.push(format!("{}: {:?} was accepted and is not there", here.name, one.work.text));
        }
        return;
    };
    let expected = if one.work.fails() { "failed" } else { "completed" };
    let status = given.row["status"].as_str().unwrap();
    if status != expected && !(one.cancelled && status == "cancelled") {
        let error = &given.row["last_error"];
        faults.push(format!("{}: {:?} is {status}, not {expected}: {error}", here.name, one.work.text));
    }
}

/// Both sides say the same of something that one gave to the other.
fn check_given(text: &str, given: &Given, here: &Found, there: &Found, settled: bool, faults: &mut Vec<String>) {
    let mut fault = |problem: String| faults.push(format!("{}: {text:?}: {problem}", here.name));
    let status = given.row["status"].as_str().unwrap();
    let attempt = &given.row["attempts"][0];
    if given.row["attempts"].as_array().map(Vec::len) != Some(1) {
        fault(format!("took other than one attempt: {}", given.row["attempts"]));
    }
    let Some(taken) = there.taken.get(text).and_then(|taken| taken.first()) else {
        // It was cancelled before it was sent.
        if status != "cancelled" || given.known["recovery"] != "missing" {
            fault(format!("is {status} here and unknown there: {}", given.known));
        }
        return;
    };
    if taken.turns != 1 {
        fault(format!("was begun {} times there", taken.turns));
    }
    let theirs = &taken.row["status"];
    if given.known["recovery"] != "reconciled" || given.known["remote_status"] != *theirs {
        fault(format!("is {theirs} there, and known as {} ({status})", given.known));
    }
    let agrees = attempt["status"] == *theirs || (!settled && attempt["status"] == "unknown");
    if !agrees {
        fault(format!("is {theirs} there, and the attempt {} here", attempt["status"]));
    }
    if status != "cancelled" && *theirs != status {
        fault(format!("is {theirs} there and {status} here"));
    }
    if status == "completed" {
        check_made(text, given, &mut fault);
    }
}

/// What the other made is here.
fn check_made(text: &str, given: &Given, fault: &mut impl FnMut(String)) {
    let own = |event: &&Value| event["task_id"] == given.row["task_id"] && event["type"] == "artifact.changed";
    let made: BTreeMap<&str, &str> = given
        .events
        .iter()
        .filter(own)
        .filter_map(|event| {
            let payload = &event["payload"];
            Some((payload["name"].as_str()?, payload["content"]["preview"].as_str()?))
        })
        .collect();
    let mark = text.rsplit(' ').next().unwrap();
    let expected: &[&str] = if text.starts_with("made:") { &["response", "made.txt"] } else { &["response"] };
    for name in expected {
        if !made.get(name).is_some_and(|content| content.ends_with(mark)) {
            fault(format!("{name} is missing or something else: {made:?}"));
        }
    }
    if given.row["attempts"][0]["output_refs"].as_array().map_or(0, Vec::len) != expected.len() {
        fault(format!("has {} to show", given.row["attempts"][0]["output_refs"]));
    }
}

fn tell(accepted: &[Accepted], found: &[Found; 2]) {
    let all = || found.iter().flat_map(|side| side.given.values().flatten());
    let with = |status: &str| all().filter(|given| given.row["status"] == status).count();
    let facts = |name: &str| all().flat_map(|given| &given.events).filter(|event| event["type"] == name).count();
    let (completed, failed, cancelled) = (with("completed"), with("failed"), with("cancelled"));
    let (cut, resumed) = (facts("channel.disconnected"), facts("channel.resumed"));
    eprintln!(
        "{} accepted, {} given away: {completed} completed, {failed} failed as asked, {cancelled} cancelled; \
         cut off {cut} times, resumed {resumed} times",
        accepted.len(),
        all().count(),
    );
    assert!(completed > 0, "nothing was tried");
}
