//! What stands at each sequence, as far as anyone was told, and since when that was known.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::time::Duration;

use super::message::Message;
use super::operation::{Publish, Read};
use super::violation::{Kind, Violation};

/// A sequence somebody was told of.
pub(super) struct Slot<'a> {
    pub(super) sequence: u64,
    pub(super) content: &'a str,
    message_id: &'a str,
    /// The message it was acknowledged to; `None` where readers saw it and nobody was told that it is theirs.
    pub(super) message: Option<usize>,
    /// The first to be told of this sequence or of a higher one, which is as good: sequences have no gaps.
    pub(super) known: Known<'a>,
}

/// That a sequence exists, and who was told when.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) at: Duration,
    pub(super) sequence: u64,
    pub(super) by: Witness<'a>,
}

#[derive(Clone, Copy)]
pub(super) enum Witness<'a> {
    Publish(&'a Publish),
    Read(&'a Read),
}

/// What one client was told of one sequence.
struct Claim<'a> {
    known: Known<'a>,
    content: &'a str,
    message_id: &'a str,
    message: Option<usize>,
}

/// All of them by rising sequence, with what is contradictory about each.
pub(super) fn slots<'a>(messages: &[Message<'a>], reads: &[&'a Read], found: &mut Vec<Violation>) -> Vec<Slot<'a>> {
    let mut claims = claims(messages, reads);
    // Acknowledgements first: where readers differ from one, it is they who are shown to be wrong.
    claims.sort_by_key(|claim| (claim.known.sequence, claim.message.is_none(), claim.known.at));
    let mut slots: Vec<Slot<'a>> = claims.chunk_by(same_sequence).map(|claims| slot(claims, found)).collect();
    for at in (1..slots.len()).rev() {
        let later = slots[at].known;
        let earlier = &mut slots[at - 1].known;
        if later.at < earlier.at {
            *earlier = later;
        }
    }
    check_ids(&slots, found);
    slots
}

fn claims<'a>(messages: &[Message<'a>], reads: &[&'a Read]) -> Vec<Claim<'a>> {
    let mut claims = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        claims.extend(message.acknowledgements().map(|told| Claim {
            known: Known { at: told.at, sequence: told.sequence, by: Witness::Publish(told.publish) },
            content: &told.publish.content,
            message_id: told.message_id,
            message: Some(index),
        }));
    }
    for &read in reads {
        claims.extend(read.seen.iter().map(|seen| Claim {
            known: Known { at: read.ended_at, sequence: seen.sequence, by: Witness::Read(read) },
            content: &seen.content,
            message_id: &seen.message_id,
            message: None,
        }));
    }
    claims
}

fn same_sequence(one: &Claim<'_>, other: &Claim<'_>) -> bool {
    one.known.sequence == other.known.sequence
}

/// One slot of all claims about it, which have to agree with the first.
fn slot<'a>(claims: &[Claim<'a>], found: &mut Vec<Violation>) -> Slot<'a> {
    let first = &claims[0];
    let Known { sequence, by, .. } = first.known;
    let mut report = |kind, sentence| found.push(Violation::new(kind, by.channel(), sentence));
    if sequence == 0 {
        report(Kind::SequenceZero, format!("{by} was told of sequence 0"));
    }
    let mut known = first.known;
    for claim in &claims[1..] {
        let other = claim.known.by;
        if claim.known.at < known.at {
            known = claim.known;
        }
        if claim.message.is_some() && claim.message != first.message {
            report(Kind::SequenceTwice, format!("sequence {sequence} was acknowledged to two: {by} and {other}"));
        } else if claim.content != first.content {
            let (one, two) = (first.content, claim.content);
            report(Kind::ContentDiffers, format!("sequence {sequence} is {one:?} to {by} and {two:?} to {other}"));
        } else if claim.message_id != first.message_id {
            let (one, two) = (first.message_id, claim.message_id);
            report(Kind::IdDiffers, format!("sequence {sequence} has id {one} to {by} and id {two} to {other}"));
        }
    }
    Slot { sequence, content: first.content, message_id: first.message_id, message: first.message, known }
}

fn check_ids(slots: &[Slot<'_>], found: &mut Vec<Violation>) {
    let mut sequences: HashMap<&str, u64> = HashMap::with_capacity(slots.len());
    for slot in slots {
        match sequences.entry(slot.message_id) {
            Entry::Vacant(entry) => drop(entry.insert(slot.sequence)),
            Entry::Occupied(entry) => {
                let (id, one, two) = (slot.message_id, entry.get(), slot.sequence);
                let sentence = format!("id {id} stands at sequence {one} and at {two}, which {} shows", slot.known.by);
                found.push(Violation::new(Kind::IdTwice, slot.known.by.channel(), sentence));
            }
        }
    }
}

impl<'a> Witness<'a> {
    pub(super) fn channel(self) -> &'a str {
        match self {
            Self::Publish(publish) => &publish.channel,
            Self::Read(read) => &read.channel,
        }
    }
}

impl fmt::Display for Witness<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Publish(publish) => publish.fmt(out),
            Self::Read(read) => read.fmt(out),
        }
    }
}
