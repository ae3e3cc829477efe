//! The killing itself, and the check of the store afterwards.
//!
//! The short form kills a few times; `FACTUM_LONG=1` kills hundreds of times, `FACTUM_KILLS` says how often exactly. The
//! seed is printed; `FACTUM_SEED` sets it. It decides when to kill and what to repeat; what the machine does in between is
//! its own affair, so a seed makes a run similar, not the same.

use std::path::Path;
use std::time::Duration;

use factum_testkit::{Server, run_for, within};
use rand::RngExt;
use rand::rngs::StdRng;
use tokio::sync::watch;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_factum");
const KILLS_SHORT: u64 = 8;
const KILLS_LONG: u64 = 300;
/// The most acknowledgements between two kills.
const ACKS_BETWEEN_MAX: usize = 300;

/// A store takes as long to check as it is large.
const VERIFY_PATIENCE: Duration = Duration::from_secs(600);

/// The generation that ends the writers.
pub(crate) const END: u64 = u64::MAX;

/// Generations count the starts: even while the server is up, odd while it is down.
pub(crate) fn is_up(generation: &u64) -> bool {
    generation.is_multiple_of(2) || *generation == END
}

/// The seed, and how often to kill.
pub(crate) fn plan() -> (u64, u64) {
    let long = std::env::var("FACTUM_LONG").is_ok_and(|text| text == "1");
    let kills = number("FACTUM_KILLS").unwrap_or(if long { KILLS_LONG } else { KILLS_SHORT });
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let seed = number("FACTUM_SEED").unwrap_or(now.as_secs());
    eprintln!("seed {seed}, {kills} kills; FACTUM_SEED={seed} gives the same again");
    (seed, kills)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

/// Kills after a random number of acknowledgements, none among them: also in the middle of a recovery.
pub(crate) async fn kill_in_a_loop(
    generation: &watch::Sender<u64>,
    acknowledged: &watch::Sender<usize>,
    server: &mut Server,
    kills: u64,
    mut rng: StdRng,
) {
    let mut acknowledged = acknowledged.subscribe();
    for kill in 0..kills {
        let more = if rng.random_bool(0.1) { 0 } else { rng.random_range(1..ACKS_BETWEEN_MAX) };
        let target = *acknowledged.borrow() + more;
        reach(&mut acknowledged, target).await;
        server.kill().await;
        generation.send_replace(kill * 2 + 1);
        server.restart().await;
        generation.send_replace(kill * 2 + 2);
    }
    // The last start is written to as well.
    let target = *acknowledged.borrow() + ACKS_BETWEEN_MAX;
    reach(&mut acknowledged, target).await;
}

/// Waits for so many acknowledgements. A server that answers slowly is not one that stands still.
async fn reach(acknowledged: &mut watch::Receiver<usize>, target: usize) {
    while *acknowledged.borrow_and_update() < target {
        within("an acknowledgement", acknowledged.changed()).await.unwrap();
    }
}

/// The store of a server that has ended has to be sound. Gives what was said of it.
pub(crate) async fn verify(data: &Path, seed: u64) -> String {
    let verified = run_for(VERIFY_PATIENCE, BINARY, ["verify", "--data-dir", data.to_str().unwrap()]).await;
    assert_eq!((verified.code, verified.stdout.lines().last()), (Some(0), Some("sound")), "seed {seed}: {verified:?}");
    verified.stdout
}
