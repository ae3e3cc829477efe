//! Deadlines: what is due when, what a heartbeat moves, and that nothing is forgotten before it is settled.

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn key(run: &str) -> Key {
    ("acme".to_owned(), run.parse().unwrap())
}

fn row(token: u64, lease: Duration) -> LeaseRow {
    LeaseRow { session_id: "sess_1".parse().unwrap(), token, lease_ms: u64::try_from(lease.as_millis()).unwrap() }
}

fn due(leases: &Leases) -> Vec<(String, u64)> {
    let (due, _) = leases.due(Instant::now(), 100);
    due.iter().map(|due| (due.run_id.to_string(), due.token)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_due_when_its_time_is_over_and_not_before() {
    let leases = Leases::default();
    leases.begin(key("a"), row(1, 3 * SECOND));
    leases.begin(key("b"), row(2, SECOND));
    assert_eq!(due(&leases), []);
    tokio::time::advance(SECOND).await;
    assert_eq!(due(&leases), [("b".to_owned(), 2)]);
    tokio::time::advance(2 * SECOND).await;
    leases.end(&key("b"));
    assert_eq!(due(&leases), [("a".to_owned(), 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_moves_the_deadline() {
    let leases = Leases::default();
    leases.begin(key("a"), row(1, 2 * SECOND));
    for _ in 0..10 {
        tokio::time::advance(SECOND).await;
        assert!(leases.keep(key("a"), row(1, 2 * SECOND)));
        assert_eq!(due(&leases), []);
    }
    leases.keep_if_held(key("a"), 7);
    tokio::time::advance(2 * SECOND).await;
    assert_eq!(due(&leases), [("a".to_owned(), 1)]);
}

#[tokio::test(start_paused = true)]
async fn too_late_is_too_late_however_long_recording_it_takes() {
    let leases = Leases::default();
    leases.begin(key("a"), row(1, SECOND));
    tokio::time::advance(SECOND).await;
    let (first, next) = leases.due(Instant::now(), 100);
    assert_eq!((first.len(), next), (1, Some(Instant::now() + SECOND / 2)), "it comes again until it is settled");
    assert!(!leases.keep(key("a"), row(1, SECOND)), "it may be lost any moment, so it cannot be promised");
    leases.keep_if_held(key("a"), 1);
    tokio::time::advance(SECOND / 2).await;
    assert_eq!(due(&leases), [("a".to_owned(), 1)]);
    let (_, next) = leases.due(Instant::now(), 100);
    assert_eq!(next, Some(Instant::now() + SECOND), "what could not be recorded twice waits longer");
    leases.settled(&first[0]);
    tokio::time::advance(SECOND).await;
    assert_eq!(due(&leases), []);
}

#[tokio::test(start_paused = true)]
async fn a_newer_hold_is_not_settled_with_the_older_one() {
    let leases = Leases::default();
    leases.begin(key("a"), row(1, SECOND));
    tokio::time::advance(SECOND).await;
    let (first, _) = leases.due(Instant::now(), 100);
    leases.begin(key("a"), row(2, SECOND));
    leases.settled(&first[0]);
    tokio::time::advance(SECOND).await;
    assert_eq!(due(&leases), [("a".to_owned(), 2)]);
}

#[tokio::test(start_paused = true)]
async fn what_a_start_finds_does_not_replace_what_is_known() {
    let leases = Leases::default();
    leases.begin(key("a"), row(2, 5 * SECOND));
    leases.begin_again(key("a"), row(1, SECOND));
    leases.begin_again(key("b"), row(1, SECOND));
    tokio::time::advance(SECOND).await;
    assert_eq!(due(&leases), [("b".to_owned(), 1)]);
}

#[tokio::test(start_paused = true)]
async fn the_keeper_hears_of_what_is_due_sooner_only() {
    let leases = Leases::default();
    leases.begin(key("a"), row(1, 2 * SECOND));
    leases.sooner().await;
    leases.begin(key("b"), row(1, 3 * SECOND));
    let pending = futures::poll!(std::pin::pin!(leases.sooner()));
    assert!(pending.is_pending());
    leases.begin(key("c"), row(1, SECOND));
    leases.sooner().await;
}
