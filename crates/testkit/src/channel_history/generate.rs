//! Histories as channels that keep their promises make them: attempts and reads that overlap, retries under a key, answers
//! that never came, late effects of connections that were given up.
//!
//! A model takes all attempts in the order in which they take effect, which lies between start and answer, and anywhere
//! behind the start where there was no answer.

use std::collections::HashMap;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{ChannelHistory, Outcome, Publish, Read, ReadKind, Seen};

/// How long an operation takes at most, in microseconds; as long as there are tens of others beside it.
const OPERATION_MICROS: u64 = 1_000;
/// How much later than the operation before it one starts, on average.
const STEP_MICROS: u64 = 50;
/// How many messages a page has at most.
const PAGE: usize = 20;

/// What a valid history is made of.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) channels: usize,
    /// Messages of each channel, some of them sent again.
    pub(super) publishes: usize,
    /// Reads of each channel.
    pub(super) reads: usize,
    /// How many messages there are before a content comes again.
    pub(super) contents: usize,
}

pub(super) fn valid(seed: u64, size: Size) -> ChannelHistory {
    let Size { channels, publishes, reads, .. } = size;
    let mut rng = StdRng::seed_from_u64(seed);
    let mut history = ChannelHistory::default();
    for number in 0..channels {
        let channel = format!("chan_{number}");
        let (published, log) = effects(&channel, attempts(&channel, size, &mut rng));
        history.publishes.extend(published);
        let end = STEP_MICROS * publishes as u64 + 10 * OPERATION_MICROS;
        history.reads.extend((0..reads).map(|number| read(&channel, number, end, &log, &mut rng)));
    }
    history
}

/// An attempt, and what becomes of it.
struct Attempt {
    publish: Publish,
    /// When it takes effect; `None` for never.
    effect: Option<u64>,
    /// When its client is told; `None` for never.
    told: Option<u64>,
}

/// A message as the model keeps it, with the instant from which it can be seen.
struct Kept {
    effect: u64,
    seen: Seen,
}

fn attempts(channel: &str, size: Size, rng: &mut StdRng) -> Vec<Attempt> {
    let mut attempts = Vec::new();
    let mut now = 0;
    for number in 0..size.publishes {
        now += rng.random_range(0..2 * STEP_MICROS);
        let client = format!("client_{}", rng.random_range(0..8));
        let key = rng.random_bool(0.6).then(|| format!("key_{number}"));
        let mut start = now;
        loop {
            let publish = Publish {
                channel: channel.to_owned(),
                author: client.clone(),
                client: client.clone(),
                started_at: Duration::from_micros(start),
                key: key.clone(),
                content: format!("message {}", number % size.contents),
                outcome: Outcome::Unknown,
            };
            let attempt = fate(publish, start, rng);
            let retried = key.is_some() && rng.random_bool(if attempt.told.is_none() { 0.7 } else { 0.1 });
            // Who was not answered gives up at some time, which may be before the attempt takes effect.
            start = attempt.told.unwrap_or(start + rng.random_range(0..OPERATION_MICROS)) + 1;
            attempts.push(attempt);
            if !retried {
                break;
            }
        }
    }
    attempts
}

fn fate(mut publish: Publish, start: u64, rng: &mut StdRng) -> Attempt {
    let effect = start + rng.random_range(0..OPERATION_MICROS);
    let told = effect + rng.random_range(0..OPERATION_MICROS);
    match rng.random_range(0..10) {
        0 => {
            publish.outcome = Outcome::Refused { at: Duration::from_micros(told) };
            Attempt { publish, effect: None, told: Some(told) }
        }
        1 => Attempt { publish, effect: None, told: None },
        // A request that stood in a buffer for long.
        2 => Attempt { publish, effect: Some(effect + 3 * OPERATION_MICROS), told: None },
        3 => Attempt { publish, effect: Some(effect), told: None },
        _ => Attempt { publish, effect: Some(effect), told: Some(told) },
    }
}

/// Lets the attempts take effect one after another.
fn effects(channel: &str, mut attempts: Vec<Attempt>) -> (Vec<Publish>, Vec<Kept>) {
    attempts.sort_by_key(|attempt| attempt.effect);
    let mut log: Vec<Kept> = Vec::new();
    let mut keys: HashMap<String, usize> = HashMap::new();
    for Attempt { publish, effect, told } in &mut attempts {
        let Some(effect) = *effect else { continue };
        let known = publish.key.as_ref().and_then(|key| keys.get(key)).copied();
        let index = known.unwrap_or_else(|| {
            let sequence = log.len() as u64 + 1;
            let message_id = format!("msg_{channel}_{sequence}");
            log.push(Kept { effect, seen: Seen { sequence, message_id, content: publish.content.clone() } });
            log.len() - 1
        });
        if let Some(key) = &publish.key {
            keys.insert(key.clone(), index);
        }
        if let Some(told) = *told {
            let Seen { sequence, message_id, .. } = log[index].seen.clone();
            publish.outcome = Outcome::Acknowledged { at: Duration::from_micros(told), sequence, message_id };
        }
    }
    (attempts.into_iter().map(|attempt| attempt.publish).collect(), log)
}

fn read(channel: &str, number: usize, end: u64, log: &[Kept], rng: &mut StdRng) -> Read {
    let start = rng.random_range(0..end);
    let looked = start + rng.random_range(0..OPERATION_MICROS);
    let lasting = looked + rng.random_range(0..end);
    let visible = |instant: u64| log.partition_point(|kept| kept.effect <= instant);
    let after = if rng.random_bool(0.5) { 0 } else { rng.random_range(0..=visible(start)) };
    // The instant up to which it got everything, and how it came to an end there.
    let (until, kind) = match rng.random_range(0..5) {
        0 => (looked, ReadKind::Page),
        1 => (looked, ReadKind::LastPage),
        2 => (lasting, ReadKind::Stream),
        3 => (lasting, ReadKind::SettledStream { settled_at: Duration::from_micros(lasting) }),
        _ => (looked, ReadKind::CutStream),
    };
    let mut seen: Vec<Seen> = log[after..visible(until).max(after)].iter().map(|kept| kept.seen.clone()).collect();
    match kind {
        ReadKind::Page => seen.truncate(PAGE),
        ReadKind::CutStream => seen.truncate(rng.random_range(0..=seen.len())),
        ReadKind::LastPage | ReadKind::Stream | ReadKind::SettledStream { .. } => {}
    }
    let ended_at = Duration::from_micros(until + rng.random_range(0..OPERATION_MICROS));
    let (channel, reader) = (channel.to_owned(), format!("reader_{number}"));
    Read { channel, reader, started_at: Duration::from_micros(start), ended_at, after: after as u64, kind, seen }
}
