//! The same for two servers that give tasks to each other, over wires that are cut, stall and come back, while either or both
//! are killed. In the end both agree: what was accepted was done once, what was cancelled has stopped, nothing is at work
//! any more, and nothing failed because of a wire.
//!
//! A seed decides every choice (what is given, what is cancelled, which wire breaks how, who dies), so the same seed makes
//! the same choices; when they meet the servers is the machine's affair.

mod check;
mod link;
mod plan;
mod side;

use std::time::Duration;

use factum_testkit::within;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::kills::{plan, verify};
use link::Link;
use plan::{Choice, Chooser, Work};
use side::{Asker, Side};

/// How long a moment between two choices is.
const TICK: Duration = Duration::from_millis(10);
/// How long cancelled work may take to settle: until the peer has said so, or hardly at all.
const GRACE_LONG_MS: u64 = 3_600_000;
const GRACE_SHORT_MS: u64 = 200;

/// Something that was asked for.
struct Asked {
    from: usize,
    work: Work,
    cancel: Option<oneshot::Sender<()>>,
    /// Whether it was cancelled in the end.
    done: JoinHandle<bool>,
}

/// Something that was accepted.
struct Accepted {
    from: usize,
    work: Work,
    cancelled: bool,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_that_delegate_to_each_other_agree_in_the_end() {
    let (seed, kills) = plan();
    let mut rng = StdRng::seed_from_u64(seed);
    let grace = if rng.random_bool(0.5) { GRACE_LONG_MS } else { GRACE_SHORT_MS };
    let links = [Link::new().await, Link::new().await];
    let mut sides = [Side::start("north", &links[0], grace).await, Side::start("south", &links[1], grace).await];
    links[0].lead_to(sides[1].address());
    links[1].lead_to(sides[0].address());

    let mut chooser = Chooser::new(rng, kills);
    let mut asked: Vec<Asked> = Vec::new();
    while let Some(choice) = chooser.next() {
        match choice {
            Choice::Give { from, work } => asked.push(ask(&sides[from], from, work)),
            Choice::Cancel { number } => drop(asked[number].cancel.take().map(|cancel| cancel.send(()))),
            Choice::Trouble { link, trouble } => links[link].trouble(trouble),
            Choice::Restore { link } => links[link].restore(),
            Choice::Kill { side } => sides[side].kill().await,
            Choice::Stop { side } => sides[side].stop().await,
            Choice::Start { side } => sides[side].restart().await,
            Choice::Wait { ticks } => pass(ticks).await,
        }
    }
    links.iter().for_each(Link::restore);
    for side in sides.iter_mut().filter(|side| !side.is_up()) {
        side.restart().await;
    }
    let mut accepted = Vec::new();
    for Asked { from, work, cancel, done } in asked {
        drop(cancel);
        let cancelled = within("an answer", done).await.unwrap();
        accepted.push(Accepted { from, work, cancelled });
    }
    let found = check::come_to_rest(&sides, seed).await;
    check::check(&accepted, &found, grace == GRACE_LONG_MS, seed);
    for side in &mut sides {
        side.stop().await;
        verify(&side.data, seed).await;
    }
}

/// Some moments.
async fn pass(ticks: u32) {
    let mut interval = tokio::time::interval(TICK);
    for _ in 0..ticks {
        interval.tick().await;
    }
}

/// Asks a server to give something away, however often it dies meanwhile, and to stop it if somebody says so.
fn ask(side: &Side, from: usize, work: Work) -> Asked {
    let (cancel, cancelled) = oneshot::channel();
    let asker = side.asker();
    let done = tokio::spawn(see_to(asker, work.clone(), cancelled));
    Asked { from, work, cancel: Some(cancel), done }
}

async fn see_to(mut asker: Asker, work: Work, cancelled: oneshot::Receiver<()>) -> bool {
    if let Some(session_id) = work.session_id() {
        asker
            .insist("create_session", &json!({ "session_id": session_id, "idempotency_key": session_id }))
            .await
            .unwrap();
        let turn = json!({
            "session_id": session_id, "turn_id": work.id(), "idempotency_key": work.id(), "agent": "mate",
            "input": [{ "type": "text", "text": format!("boss: {}", work.text) }],
        });
        asker.insist("submit_turn", &turn).await.unwrap();
    } else {
        let task = json!({
            "task_id": work.id(), "objective": work.text, "peer": "other", "auto_complete": true, "status": "queued",
        });
        asker.insist("create_task", &task).await.unwrap();
    }
    if cancelled.await.is_err() {
        return false;
    }
    let answer: Result<Value, Value> = match work.session_id() {
        Some(session_id) => {
            asker.insist("interrupt_turn", &json!({ "session_id": session_id, "turn_id": work.id() })).await
        }
        None => asker.insist("cancel_task", &json!({ "task_id": work.id() })).await,
    };
    // It may have ended first, and an order whose answer was lost is refused when it is repeated.
    if let Err(refusal) = &answer {
        assert_eq!(refusal["code"], "precondition_failed", "{}: {refusal}", work.text);
    }
    true
}
