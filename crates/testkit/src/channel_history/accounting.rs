//! Whose is a sequence that was acknowledged to nobody? It has to be a publish of unknown outcome, each of which can
//! explain one sequence at most.
//!
//! This is a matching, and it is exact. A publish can stand at a sequence if its content is what readers saw there (any, if
//! nobody saw it) and if it began before anyone knew of that sequence. The instants at which sequences were known rise with
//! the sequence, so what can stand at one can stand at every later one too, and going upwards no choice can be regretted.
//! Sequences that were seen choose first, and take of their content the publish that began last: that leaves the earliest,
//! which fit in the most places, for sequences that nobody saw.

use std::collections::{BTreeMap, HashMap};

use super::Channel;
use super::message::Message;
use super::operation::{Outcome, Publish};
use super::slot::Slot;
use super::violation::{Kind, Violation};

pub(super) fn check(channel: &Channel<'_>, messages: &[Message<'_>], slots: &[Slot<'_>], found: &mut Vec<Violation>) {
    let candidates = candidates(messages);
    let mut placed: Vec<Option<&Slot<'_>>> = vec![None; messages.len()];
    let mut strays = Vec::new();
    for (content, open) in open_by_content(slots) {
        let own = candidates.get(content).map_or(&[][..], Vec::as_slice);
        place(own, &open, messages, &mut placed, &mut strays, found);
    }
    check_gaps(messages, slots, &placed, found);
    explain(channel, slots, &placed, &strays, found);
}

/// Messages nobody was told of, by what they may say, the earliest first.
fn candidates<'a>(messages: &[Message<'a>]) -> HashMap<&'a str, Vec<usize>> {
    let mut candidates: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, message) in messages.iter().enumerate().filter(|(_, message)| !message.is_acknowledged()) {
        for content in message.contents() {
            candidates.entry(content).or_default().push(index);
        }
    }
    for indexes in candidates.values_mut() {
        indexes.sort_by_key(|&index| messages[index].started_at);
    }
    candidates
}

/// Sequences that were seen and acknowledged to nobody, by what was seen, the lowest first.
fn open_by_content<'s, 'a>(slots: &'s [Slot<'a>]) -> BTreeMap<&'a str, Vec<&'s Slot<'a>>> {
    let mut open: BTreeMap<&str, Vec<&Slot<'_>>> = BTreeMap::new();
    for slot in slots.iter().filter(|slot| slot.message.is_none()) {
        open.entry(slot.content).or_default().push(slot);
    }
    open
}

/// Gives each sequence of one content a message, and puts those that get none among the strays.
fn place<'s, 'a>(
    own: &[usize],
    open: &[&'s Slot<'a>],
    messages: &[Message<'a>],
    placed: &mut [Option<&'s Slot<'a>>],
    strays: &mut Vec<(&'s Slot<'a>, Stray<'a>)>,
    found: &mut Vec<Violation>,
) {
    let (mut next, mut begun) = (0, Vec::new());
    for &slot in open {
        while next < own.len() && messages[own[next]].started_at <= slot.known.at {
            begun.push(own[next]);
            next += 1;
        }
        let Some(index) = begun.pop() else {
            let late = own.get(next).map(|&index| messages[index].attempts[0]);
            strays.push((slot, late.map_or(Stray::NobodyLeft, Stray::TooEarly)));
            continue;
        };
        // Only a key that was used for two contents is a candidate twice. Where others say the same, it may be theirs.
        if let (Some(other), [_]) = (placed[index], own) {
            found.push(key_twice(&messages[index], slot, other));
        }
        placed[index] = Some(slot);
    }
}

fn key_twice(message: &Message<'_>, one: &Slot<'_>, other: &Slot<'_>) -> Violation {
    let publish = message.attempts[0];
    let sentence = format!("one key stands at sequences {} and {}: {publish}", other.sequence, one.sequence);
    Violation::new(Kind::KeyTwice, &publish.channel, sentence)
}

/// Why a sequence has no message.
#[derive(Clone, Copy)]
enum Stray<'a> {
    NobodyLeft,
    /// This one says the same and began too late.
    TooEarly(&'a Publish),
}

/// Sequences nobody was told anything of, lower than one that somebody was: any message that is left may be there.
fn check_gaps(messages: &[Message<'_>], slots: &[Slot<'_>], placed: &[Option<&Slot<'_>>], found: &mut Vec<Violation>) {
    let is_left = |index: &usize| placed[*index].is_none() && !messages[*index].is_acknowledged();
    let mut left: Vec<usize> = (0..messages.len()).filter(is_left).collect();
    left.sort_by_key(|&index| messages[index].started_at);
    let mut left = left.into_iter().peekable();
    let mut expected = 1;
    for slot in slots.iter().filter(|slot| slot.sequence > 0) {
        let mut missing = slot.sequence - expected;
        while missing > 0 && left.next_if(|&index| messages[index].started_at <= slot.known.at).is_some() {
            missing -= 1;
        }
        if missing > 0 {
            let (last, by) = (slot.sequence - 1, slot.known.by);
            let sentence = format!(
                "nobody was told of {expected} to {last}, while {by} was told of {}, and publishes of unknown outcome \
                 are {missing} too few to fill it",
                slot.known.sequence
            );
            found.push(Violation::new(Kind::SequenceSkipped, by.channel(), sentence));
        }
        expected = slot.sequence.saturating_add(1);
    }
}

/// Says what is wrong with each stray, which depends on who else published the same.
fn explain<'a>(
    channel: &Channel<'a>,
    slots: &[Slot<'a>],
    placed: &[Option<&Slot<'a>>],
    strays: &[(&Slot<'a>, Stray<'a>)],
    found: &mut Vec<Violation>,
) {
    if strays.is_empty() {
        return;
    }
    let mut publishes: HashMap<&str, &Publish> = HashMap::new();
    for &publish in &channel.publishes {
        let kept = publishes.entry(&publish.content).or_insert(publish);
        // A refused one explains least, so any other is named before it.
        if matches!(kept.outcome, Outcome::Refused { .. }) {
            *kept = publish;
        }
    }
    let acknowledged = slots.iter().filter(|slot| slot.message.is_some());
    let rightful: HashMap<&str, u64> =
        acknowledged.chain(placed.iter().copied().flatten()).map(|slot| (slot.content, slot.sequence)).collect();
    for (slot, stray) in strays {
        let (sequence, content, by) = (slot.sequence, slot.content, slot.known.by);
        let (kind, why) = match (publishes.get(content), stray) {
            (None, _) => (Kind::NeverPublished, "nobody published it".to_owned()),
            (_, Stray::TooEarly(publish)) => (Kind::SeenBeforePublished, format!("{publish} began only after that")),
            (Some(publish), _) if matches!(publish.outcome, Outcome::Refused { .. }) => {
                (Kind::RefusedPresent, format!("there is only {publish}"))
            }
            (Some(publish), _) => {
                let other = rightful.get(content).map_or_else(|| "elsewhere".to_owned(), |at| format!("at {at}"));
                (Kind::PresentTwice, format!("{publish} is {other} already"))
            }
        };
        let sentence = format!("{content:?} stands at sequence {sequence}, known from {by}, and {why}");
        found.push(Violation::new(kind, by.channel(), sentence));
    }
}
