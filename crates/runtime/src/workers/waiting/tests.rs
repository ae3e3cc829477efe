//! Who is woken, how often, and that no wake-up is ever lost.

use std::task::Poll;

use factum_model::Timestamp;
use factum_model::task::Priority;
use futures::poll;
use proptest::prelude::*;

use super::*;

fn wake(queue: &str, capabilities: &[&str], run: &str) -> Wake {
    let key = keys::ready(&ReadyKey {
        account: "acme".to_owned(),
        queue: queue.to_owned(),
        capabilities: capabilities.iter().map(|name| (*name).to_owned()).collect(),
        priority: Priority::Normal,
        since: Timestamp::UNIX_EPOCH,
        sequence: 1,
        run_id: run.parse().unwrap(),
    });
    Wake::of(&key).unwrap()
}

fn enter<'a>(waiting: &'a Waiting, queues: &[&str], capabilities: &[&str]) -> Place<'a> {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let mut place = waiting.enter(&"acme".into(), names(queues), &names(capabilities).into()).unwrap();
    place.stand();
    place
}

async fn is_woken(place: &Place<'_>) -> bool {
    poll!(std::pin::pin!(place.woken())) == Poll::Ready(())
}

async fn woken(places: &[Place<'_>]) -> Vec<bool> {
    let mut woken = Vec::new();
    for place in places {
        woken.push(is_woken(place).await);
    }
    woken
}

#[tokio::test]
async fn one_run_wakes_one_worker_the_first_in_line() {
    let waiting = Waiting::new(10);
    let places = [enter(&waiting, &["q"], &[]), enter(&waiting, &["q"], &[]), enter(&waiting, &["other"], &[])];
    waiting.wake(wake("q", &[], "run_1"));
    assert_eq!(woken(&places).await, [true, false, false]);
    waiting.wake(wake("q", &[], "run_2"));
    assert_eq!(woken(&places).await, [false, true, false]);
    waiting.wake(wake("q", &[], "run_3"));
    assert_eq!(woken(&places).await, [false, false, false], "nobody is left in this line");
    drop(places);
    assert!(waiting.is_empty());
}

#[tokio::test]
async fn only_who_can_do_it_is_woken() {
    let waiting = Waiting::new(10);
    let places =
        [enter(&waiting, &["q"], &[]), enter(&waiting, &["q"], &["cpu"]), enter(&waiting, &["q"], &["cpu", "gpu"])];
    waiting.wake(wake("q", &["gpu"], "run_1"));
    assert_eq!(woken(&places).await, [false, false, true]);
    waiting.wake(wake("q", &["tpu"], "run_2"));
    assert_eq!(woken(&places).await, [false, false, false]);
    waiting.wake(wake("q", &[], "run_3"));
    assert_eq!(woken(&places).await, [true, false, false]);
}

#[tokio::test]
async fn who_leaves_passes_its_wake_up_on() {
    let waiting = Waiting::new(10);
    let (first, second) = (enter(&waiting, &["q"], &[]), enter(&waiting, &["q"], &[]));
    waiting.wake(wake("q", &[], "run_1"));
    drop(first);
    assert!(is_woken(&second).await);
}

#[tokio::test]
async fn who_leaves_while_it_looks_passes_it_on_too() {
    let waiting = Waiting::new(10);
    let (mut first, second) = (enter(&waiting, &["q"], &[]), enter(&waiting, &["q"], &[]));
    waiting.wake(wake("q", &[], "run_1"));
    assert!(is_woken(&first).await);
    // It looks at the index, and in the middle of that its client goes.
    first.stand();
    drop(first);
    assert!(is_woken(&second).await);
}

#[tokio::test]
async fn who_got_what_it_was_woken_for_wakes_nobody() {
    let waiting = Waiting::new(10);
    let (mut first, second) = (enter(&waiting, &["q"], &[]), enter(&waiting, &["q"], &[]));
    let one = wake("q", &[], "run_1");
    waiting.wake(one.clone());
    first.found(&[one.key]);
    drop(first);
    assert!(!is_woken(&second).await);
}

#[tokio::test]
async fn who_got_another_run_passes_its_wake_up_on() {
    let waiting = Waiting::new(10);
    let (mut first, second) = (enter(&waiting, &["q", "p"], &[]), enter(&waiting, &["q"], &[]));
    waiting.wake(wake("q", &[], "run_1"));
    first.found(&[wake("p", &[], "run_2").key]);
    drop(first);
    assert!(is_woken(&second).await);
}

#[tokio::test]
async fn being_woken_in_vain_costs_no_place() {
    let waiting = Waiting::new(10);
    let mut places = [enter(&waiting, &["q"], &[]), enter(&waiting, &["q"], &[])];
    waiting.wake(wake("q", &[], "run_1"));
    assert_eq!(woken(&places).await, [true, false]);
    places[0].stand();
    places[0].found_nothing();
    waiting.wake(wake("q", &[], "run_2"));
    assert_eq!(woken(&places).await, [true, false], "it is still the first");
}

#[test]
fn more_than_the_bound_may_not_wait() {
    let waiting = Waiting::new(1);
    let _place = enter(&waiting, &["q"], &[]);
    let refused = waiting.enter(&"acme".into(), vec!["q".to_owned()], &Arc::from([]));
    assert_eq!(refused.err().map(|refusal| refusal.code), Some(factum_model::ErrorCode::LimitExceeded));
}

/// What may happen to a worker that waits.
#[derive(Clone, Debug)]
enum Move {
    Enter {
        queues: u8,
        gpu: bool,
    },
    Leave(usize),
    /// It looks at the runs that are there, and takes one it can do.
    Look(usize),
    /// A run becomes ready.
    Ready {
        queue: u8,
        gpu: bool,
    },
    /// Somebody who does not wait takes the first run.
    Snatch,
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        (1_u8..4, any::<bool>()).prop_map(|(queues, gpu)| Move::Enter { queues, gpu }),
        (0_usize..8).prop_map(Move::Leave),
        (0_usize..8).prop_map(Move::Look),
        (0_u8..2, any::<bool>()).prop_map(|(queue, gpu)| Move::Ready { queue, gpu }),
        Just(Move::Snatch),
    ]
}

/// A worker of the model: asleep in line, or with something to look at.
struct Worker<'a> {
    place: Place<'a>,
    queues: u8,
    gpu: bool,
}

impl Worker<'_> {
    fn can_do(&self, (queue, gpu, _): &(u8, bool, Wake)) -> bool {
        self.queues & (1 << queue) != 0 && (self.gpu || !gpu)
    }

    fn asleep(&self) -> bool {
        let lines = self.place.waiting.lines.lock();
        lines.waiters[&self.place.ticket].woken.is_none()
    }
}

proptest! {
    /// Whenever a run is ready and somebody sleeps who could do it, somebody else is awake who will look at it.
    #[test]
    fn no_run_is_forgotten(moves in proptest::collection::vec(moves(), 1..80)) {
        let waiting = Waiting::new(100);
        let mut workers: Vec<Worker<'_>> = Vec::new();
        let mut ready: Vec<(u8, bool, Wake)> = Vec::new();
        for (number, one) in moves.into_iter().enumerate() {
            match one {
                Move::Enter { queues, gpu } => {
                    let names: Vec<&str> = ["q0", "q1"].into_iter().enumerate().filter(|(at, _)| queues & (1 << at) != 0).map(|(_, name)| name).collect();
                    let place = enter(&waiting, &names, if gpu { &["gpu"] } else { &[] });
                    workers.push(Worker { place, queues, gpu });
                    let last = workers.len() - 1;
                    look(&mut workers, last, &mut ready);
                }
                Move::Leave(at) if at < workers.len() => drop(workers.remove(at)),
                Move::Look(at) if at < workers.len() && !workers[at].asleep() => {
                    workers[at].place.stand();
                    look(&mut workers, at, &mut ready);
                }
                Move::Ready { queue, gpu } => {
                    let wake = wake(["q0", "q1"][usize::from(queue)], if gpu { &["gpu"] } else { &[] }, &format!("run_{number}"));
                    ready.push((queue, gpu, wake.clone()));
                    waiting.wake(wake);
                }
                Move::Snatch if !ready.is_empty() => drop(ready.remove(0)),
                _ => {}
            }
            for run in &ready {
                let able: Vec<&Worker<'_>> = workers.iter().filter(|worker| worker.can_do(run)).collect();
                prop_assert!(able.is_empty() || able.iter().any(|worker| !worker.asleep()), "{run:?} is forgotten");
            }
        }
        drop(workers);
        prop_assert!(waiting.is_empty());
    }
}

/// A look at what is ready. Whoever gets a run goes.
fn look(workers: &mut Vec<Worker<'_>>, at: usize, ready: &mut Vec<(u8, bool, Wake)>) {
    match ready.iter().position(|run| workers[at].can_do(run)) {
        Some(found) => {
            let (_, _, wake) = ready.remove(found);
            let mut worker = workers.remove(at);
            worker.place.found(&[wake.key]);
        }
        None => workers[at].place.found_nothing(),
    }
}
