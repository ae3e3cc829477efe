//! The checker passes every valid history and names what was done to each that was made wrong.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::generate::{Size, valid};
use super::*;

const SEEDS: u64 = 60;
const SMALL: Size = Size { channels: 1, publishes: 80, reads: 20, contents: usize::MAX };
/// Later than everything in a history.
const LAST: Duration = Duration::from_secs(3_600);

#[test]
fn valid_histories_have_no_violations() {
    for seed in 0..SEEDS {
        let history = valid(seed, Size { channels: 1 + seed as usize % 3, ..SMALL });
        assert_eq!(history.violations(), [], "seed {seed}");
        let repeating = valid(seed, Size { contents: 1 + seed as usize % 9, ..SMALL });
        assert_eq!(repeating.violations(), [], "seed {seed}, with contents that come again");
    }
    assert_eq!(ChannelHistory::default().violations(), []);
}

#[test]
fn a_long_history_is_walked_once() {
    // Anything quadratic in this would not come to an end.
    let history = valid(1, Size { channels: 2, publishes: 25_000, reads: 4, contents: 20_000 });
    assert!(history.publishes().len() > 50_000);
    assert_eq!(history.violations(), []);
}

/// Makes a valid history wrong in one way; `None` where it has nothing to which that could be done.
type Mutation = fn(&mut ChannelHistory, &mut StdRng) -> Option<()>;

const MUTATIONS: &[(Kind, Mutation)] = &[
    (Kind::SequenceZero, acknowledge_zero),
    (Kind::SequenceTwice, acknowledge_another_under_the_same_sequence),
    (Kind::SequenceSkipped, leave_sequences_out),
    (Kind::OrderReversed, reverse_two_in_time),
    (Kind::SeenBeforePublished, read_earlier),
    (Kind::SeenBeforePublished, read_an_unknown_one_earlier),
    (Kind::ContentDiffers, show_another_content),
    (Kind::IdDiffers, show_another_id),
    (Kind::IdTwice, give_an_id_twice),
    (Kind::KeyTwice, acknowledge_a_key_twice),
    (Kind::KeyTwice, show_two_contents_of_a_key),
    (Kind::KeyWithOtherContent, acknowledge_other_content),
    (Kind::PresentTwice, show_an_acknowledged_one_twice),
    (Kind::PresentTwice, show_an_unknown_one_twice),
    (Kind::NeverPublished, show_what_nobody_published),
    (Kind::RefusedPresent, show_a_refused_one),
    (Kind::ReaderSkipped, leave_one_out),
    (Kind::ReaderSkipped, begin_too_late),
    (Kind::ReaderReordered, swap_two),
    (Kind::ReaderRepeated, repeat_one),
    (Kind::ReaderRepeated, repeat_what_it_had),
    (Kind::ReaderBehind, stop_too_early),
    (Kind::ReaderBehind, forget_what_was_seen),
];

#[test]
fn every_kind_of_violation_is_found_and_named() {
    for (number, (kind, mutate)) in MUTATIONS.iter().enumerate() {
        let mut done = 0;
        for seed in 0..SEEDS {
            let mut history = valid(seed, SMALL);
            let mut rng = StdRng::seed_from_u64(seed);
            if mutate(&mut history, &mut rng).is_some() {
                let found = history.violations();
                assert!(found.iter().any(|one| one.kind == *kind), "{number} {kind:?}, seed {seed}: {found:#?}");
                done += 1;
            }
        }
        assert!(done > SEEDS / 3, "{number} {kind:?} was done only {done} times");
    }
}

#[test]
fn what_is_wrong_in_one_channel_is_said_of_that_one() {
    let mut history = valid(3, Size { channels: 3, ..SMALL });
    let read = history.reads.iter_mut().find(|read| read.channel == "chan_1" && read.seen.len() > 2).unwrap();
    read.seen.remove(1);
    let found = history.violations();
    assert!(!found.is_empty() && found.iter().all(|one| one.channel == "chan_1"), "{found:#?}");
}

#[test]
fn a_sentence_names_the_operations() {
    let mut history = ChannelHistory::default();
    history.published(publish("a", 1, acknowledged(1, 2)));
    history.published(publish("b", 3, acknowledged(1, 4)));
    let found: Vec<String> = history.violations().iter().map(Violation::to_string).collect();
    let expected = [
        "c (SequenceTwice): sequence 1 was acknowledged to two: the publish of \"a\" by w (from 1ms, acknowledged as 1 at 2ms) \
         and the publish of \"b\" by w (from 3ms, acknowledged as 1 at 4ms)",
    ];
    assert_eq!(found[..1], expected);
}

/// Unknown outcomes fill what nobody saw, as many as there are and as early as they began.
#[test]
fn gaps_are_filled_by_unknown_outcomes_that_began_in_time() {
    let check = |unknown_from: &[u64], expected: &[Kind]| {
        let mut history = ChannelHistory::default();
        history.published(publish("a", 1, acknowledged(1, 2)));
        history.published(publish("b", 10, acknowledged(4, 11)));
        for &from in unknown_from {
            history.published(publish(&format!("u{from}"), from, Outcome::Unknown));
        }
        let kinds: Vec<Kind> = history.violations().iter().map(|one| one.kind).collect();
        assert_eq!(kinds, expected, "{unknown_from:?}");
    };
    check(&[2, 3], &[]);
    check(&[2, 3, 4, 20], &[]);
    check(&[2], &[Kind::SequenceSkipped]);
    check(&[2, 12], &[Kind::SequenceSkipped]);
}

/// Two that say the same: the later one can only be what was seen at last, so the earlier one is left for the gap.
#[test]
fn what_was_seen_leaves_the_earliest_for_what_was_not() {
    let mut history = ChannelHistory::default();
    history.published(publish("a", 1, acknowledged(1, 2)));
    history.published(publish("b", 10, acknowledged(3, 11)));
    history.published(publish("u", 2, Outcome::Unknown));
    history.published(publish("u", 20, Outcome::Unknown));
    let (channel, reader, at) = ("c".into(), "r".into(), Duration::from_millis(30));
    let seen = vec![Seen { sequence: 4, message_id: "m4".into(), content: "u".into() }];
    history.read(Read { channel, reader, started_at: at, ended_at: at, after: 3, kind: ReadKind::Stream, seen });
    assert_eq!(history.violations(), []);
}

fn publish(content: &str, from_ms: u64, outcome: Outcome) -> Publish {
    Publish {
        channel: "c".into(),
        client: "w".into(),
        author: "w".into(),
        started_at: Duration::from_millis(from_ms),
        key: None,
        content: content.into(),
        outcome,
    }
}

fn acknowledged(sequence: u64, at_ms: u64) -> Outcome {
    Outcome::Acknowledged { at: Duration::from_millis(at_ms), sequence, message_id: format!("m{sequence}-{at_ms}") }
}

fn acknowledge_zero(history: &mut ChannelHistory, rng: &mut StdRng) -> Option<()> {
    let at = some(history, rng, |publish| told(publish).is_some())?;
    retell(history, at, 0);
    Some(())
}

fn acknowledge_another_under_the_same_sequence(history: &mut ChannelHistory, rng: &mut StdRng) -> Option<()> {
    let one = some(history, rng, |publish| told(publish).is_some())?;
    let (key, sequence) = (history.publishes[one].key.clone(), told(&history.publishes[one])?);
    let other = some(history, rng, |publish| told(publish).is_some_and(|told| told != sequence) && publish.key != key)?;
    retell(history, other, sequence);
    Some(())
}

fn leave_sequences_out(history: &mut ChannelHistory, rng: &mut StdRng) -> Option<()> {
    let from = rng.random_range(1..=head(history));
    for publish in &mut history.publishes {
        if let Outcome::Acknowledged { sequence, .. } = &mut publish.outcome {
            *sequence += if *sequence >= from { 1_000 } else { 0 };
        }
    }
    for seen in history.reads.iter_mut().flat_map(|read| &mut read.seen) {
        seen.sequence += if seen.sequence >= from { 1_000 } else { 0 };
    }
    Some(())
}

/// Swaps two messages for everyone, so that nothing but time shows it.
fn reverse_two_in_time(history: &mut ChannelHistory, rng: &mut StdRng) -> Option<()> {
    history.reads.clear();
    let first = some(history, rng, |publish| told(publish).is_some() && publish.key.is_none())?;
    let Outcome::Acknowledged { at, sequence, .. } = history.publishes[first].outcome else { return None };
    let second =
        some(history, rng, |publish| publish.started_at > at && told(publish).is_some() && publish.key.is_none())?;
    let higher = told(&history.publishes[second])?;
    retell(history, first, higher);
    retell(history, second, sequence);
    Some(())
}

fn read_earlier(history: &mut ChannelHistory, rng: &mut StdRng) -> Option<()> {
    let read = some_read(history, rng, |read| read.seen.len() > 20)?;
    (history.reads[read].started_at, history.reads[read].ended_at) = (Duration::ZERO, Duration::ZERO);
    Some(())
}

/// The newest message is one of unknown outcome, and was seen before its publish began.
fn read_an_unknown_one_earlier(history: &mut ChannelHistory, _: &mut StdRng) -> Option<()> {
    show_all_and(history, "too early");
    let read = history.reads.last_mut()?;
    (read.started_at, read.ended_at) = (LAST, LAST);
    history.published(Publish { started_at: LAST * 2, ..unknown("too early") });
    Some(())
}

fn show_another_content(history: &mut ChannelHistory, rng: &mut StdRng) -> Option<()> {
    show_all(history);
    some_seen(history, rng)?.content = "something else".into();
    Some(())
}

fn show_another_id(history: &mut ChannelHistory, rng: &mut StdRng) -> Option<()> {
    show_all(history);
    some_seen(history, rng)?.message_id = "msg_other".into();
    Some(())
}

fn give_an_id_twice(history: &mut ChannelHistory, rng: &mut StdRng) -> Option<()> {
    show_all_and(history, "again");
    history.published(unknown("again"));
    let seen = &mut history.reads.last_mut()?.seen;
    let one = rng.random_range(0..seen.len() - 1);
    seen.last_mut()?.message_id = seen[one].message_id.clone();
    Some(())
}

fn acknowledge_a_key_twice(history: &mut ChannelHistory, rng: &mut StdRng) -> Option<()> {
    let one = some(history, rng, |publish| told(publish).is_some() && publish.key.is_some())?;
    let again = history.publishes[one].clone();
    history.published(again);
    let (last, head) = (history.publishes.len() - 1, head(history));
    retell(history, last, head + 1);
    Some(())
}

fn show_two_contents_of_a_key(history: &mut ChannelHistory, _: &mut StdRng) -> Option<()> {
    for content in ["one", "other"] {
        history.published(Publish { key: Some("of two".into()), ..unknown(content) });
        show_all_and(history, content);
    }
    Some(())
}

fn acknowledge_other_content(history: &mut ChannelHistory, rng: &mut StdRng) -> Option<()> {
    let one = some(history, rng, |publish| told(publish).is_some() && publish.key.is_some())?;
    let again = Publish { content: "something else".into(), ..history.publishes[one].clone() };
    history.published(again);
    Some(())
}

fn show_an_acknowledged_one_twice(history: &mut ChannelHistory, rng: &mut StdRng) -> Option<()> {
    let one = some(history, rng, |publish| told(publish).is_some())?;
    show_all_and(history, &history.publishes[one].content.clone());
    Some(())
}

fn show_an_unknown_one_twice(history: &mut ChannelHistory, _: &mut StdRng) -> Option<()> {
    history.published(unknown("twice"));
    show_all_and(history, "twice");
    show_all_and(history, "twice");
    Some(())
}

fn show_what_nobody_published(history: &mut ChannelHistory, _: &mut StdRng) -> Option<()> {
    show_all_and(history, "nobody's");
    Some(())
}

fn show_a_refused_one(history: &mut ChannelHistory, rng: &mut StdRng) -> Option<()> {
    let refused = |publish: &Publish| matches!(publish.outcome, Outcome::Refused { .. }) && publish.key.is_none();
    let one = some(history, rng, refused)?;
    show_all_and(history, &history.publishes[one].content.clone());
    Some(())
}

fn leave_one_out(history: &mut ChannelHistory, rng: &mut StdRng) -> Option<()> {
    let read = some_read(history, rng, |read| read.seen.len() > 2)?;
    let seen = &mut history.reads[read].seen;
    seen.remove(rng.random_range(1..seen.len() - 1));
    Some(())
}

fn begin_too_late(history: &mut ChannelHistory, rng: &mut StdRng) -> Option<()> {
    let read = some_read(history, rng, |read| read.seen.len() > 2)?;
    history.reads[read].seen.remove(0);
    Some(())
}

fn swap_two(history: &mut ChannelHistory, rng: &mut StdRng) -> Option<()> {
    let read = some_read(history, rng, |read| read.seen.len() > 1)?;
    let seen = &mut history.reads[read].seen;
    let at = rng.random_range(1..seen.len());
    seen.swap(at - 1, at);
    Some(())
}

fn repeat_one(history: &mut ChannelHistory, rng: &mut StdRng) -> Option<()> {
    let read = some_read(history, rng, |read| !read.seen.is_empty())?;
    let seen = &mut history.reads[read].seen;
    let at = rng.random_range(0..seen.len());
    seen.insert(at + 1, seen[at].clone());
    Some(())
}

fn repeat_what_it_had(history: &mut ChannelHistory, rng: &mut StdRng) -> Option<()> {
    let read = some_read(history, rng, |read| !read.seen.is_empty())?;
    history.reads[read].after += 1;
    Some(())
}

fn stop_too_early(history: &mut ChannelHistory, _: &mut StdRng) -> Option<()> {
    show_all(history);
    let read = history.reads.last_mut()?;
    (read.started_at, read.kind) = (LAST, ReadKind::LastPage);
    read.seen.pop().map(drop)
}

/// Of what nobody was told, one reader saw the last message and a later one did not.
fn forget_what_was_seen(history: &mut ChannelHistory, _: &mut StdRng) -> Option<()> {
    history.published(unknown("forgotten"));
    show_all_and(history, "forgotten");
    let mut later = history.reads.last()?.clone();
    later.seen.pop();
    (later.started_at, later.ended_at) = (LAST * 2, LAST * 2);
    history.read(later);
    Some(())
}

fn unknown(content: &str) -> Publish {
    Publish { channel: "chan_0".into(), ..publish(content, 0, Outcome::Unknown) }
}

/// A reader at the end of time sees everything that anyone was told of.
fn show_all(history: &mut ChannelHistory) {
    let mut all: BTreeMap<u64, Seen> = BTreeMap::new();
    for publish in &history.publishes {
        if let Outcome::Acknowledged { sequence, message_id, .. } = &publish.outcome {
            let (message_id, content) = (message_id.clone(), publish.content.clone());
            all.insert(*sequence, Seen { sequence: *sequence, message_id, content });
        }
    }
    for seen in history.reads.iter().flat_map(|read| &read.seen) {
        all.insert(seen.sequence, seen.clone());
    }
    let (channel, reader, seen) = ("chan_0".into(), "last".into(), all.into_values().collect());
    let kind = ReadKind::Stream;
    history.read(Read { channel, reader, started_at: LAST, ended_at: LAST, after: 0, kind, seen });
}

/// The same, and one more message.
fn show_all_and(history: &mut ChannelHistory, content: &str) {
    let sequence = head(history) + 1;
    show_all(history);
    let seen = Seen { sequence, message_id: format!("msg_new_{sequence}"), content: content.to_owned() };
    history.reads.last_mut().unwrap().seen.push(seen);
}

fn head(history: &ChannelHistory) -> u64 {
    let seen = history.reads.iter().flat_map(|read| &read.seen).map(|seen| seen.sequence);
    history.publishes.iter().filter_map(told).chain(seen).max().unwrap_or(0)
}

fn told(publish: &Publish) -> Option<u64> {
    match publish.outcome {
        Outcome::Acknowledged { sequence, .. } => Some(sequence),
        Outcome::Refused { .. } | Outcome::Unknown => None,
    }
}

fn retell(history: &mut ChannelHistory, at: usize, to: u64) {
    if let Outcome::Acknowledged { sequence, .. } = &mut history.publishes[at].outcome {
        *sequence = to;
    }
}

fn some(history: &ChannelHistory, rng: &mut StdRng, fits: impl Fn(&Publish) -> bool) -> Option<usize> {
    let fitting: Vec<usize> = (0..history.publishes.len()).filter(|&at| fits(&history.publishes[at])).collect();
    fitting.choose(rng).copied()
}

fn some_read(history: &ChannelHistory, rng: &mut StdRng, fits: impl Fn(&Read) -> bool) -> Option<usize> {
    let fitting: Vec<usize> = (0..history.reads.len()).filter(|&at| fits(&history.reads[at])).collect();
    fitting.choose(rng).copied()
}

fn some_seen<'a>(history: &'a mut ChannelHistory, rng: &mut StdRng) -> Option<&'a mut Seen> {
    // Not of the last reader, which is what this one is shown to be wrong by.
    let read = some_read(history, rng, |read| !read.seen.is_empty() && read.reader != "last")?;
    let seen = &mut history.reads[read].seen;
    let at = rng.random_range(0..seen.len());
    seen.get_mut(at)
}
