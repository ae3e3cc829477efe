//! What each reader was shown: a run from where it asked, as far as it had to get.

use std::time::Duration;

use super::Channel;
use super::message::acknowledgement;
use super::operation::Read;
use super::slot::{Known, Witness};
use super::violation::{Kind, Violation};

pub(super) fn check(channel: &Channel<'_>, found: &mut Vec<Violation>) {
    let heads = Heads::of(channel);
    for read in &channel.reads {
        found.extend(broken_run(read));
        found.extend(behind(read, &heads));
    }
}

/// The first place where a run is none; what follows it says nothing more.
fn broken_run(read: &Read) -> Option<Violation> {
    let (at, expected) = (read.seen.iter().zip(read.after + 1..)).enumerate().find_map(|(at, (seen, expected))| {
        let breaks = seen.sequence != expected;
        breaks.then_some((at, expected))
    })?;
    let (rest, shown) = (&read.seen[at..], read.seen[at].sequence);
    let (kind, why) = if shown < expected {
        (Kind::ReaderRepeated, "which it had")
    } else if rest.iter().any(|seen| seen.sequence == expected) {
        (Kind::ReaderReordered, "which came later")
    } else {
        (Kind::ReaderSkipped, "which never came")
    };
    let sentence = match kind {
        Kind::ReaderRepeated => format!("{read} was shown {shown}, {why}, where {expected} belongs"),
        _ => format!("{read} was shown {shown} before {expected}, {why}"),
    };
    Some(Violation::new(kind, &read.channel, sentence))
}

fn behind(read: &Read, heads: &Heads<'_>) -> Option<Violation> {
    let head = heads.before(read.covers_before()?)?;
    let reached = read.seen.iter().map(|seen| seen.sequence).max().unwrap_or(0).max(read.after);
    (reached < head.sequence).then(|| {
        let (sequence, by) = (head.sequence, head.by);
        let sentence = format!("{read} got as far as {reached}, while {by} had shown {sequence} before it");
        Violation::new(Kind::ReaderBehind, &read.channel, sentence)
    })
}

/// The highest sequence anyone had been told of, by instant. A message that was seen counts like one that was
/// acknowledged: what is visible is durable, so nobody may miss it afterwards.
struct Heads<'a>(Vec<Known<'a>>);

impl<'a> Heads<'a> {
    fn of(channel: &Channel<'a>) -> Self {
        let told = channel.publishes.iter().filter_map(|publish| acknowledgement(publish)).map(|told| Known {
            at: told.at,
            sequence: told.sequence,
            by: Witness::Publish(told.publish),
        });
        let seen = channel.reads.iter().filter_map(|&read| {
            let sequence = read.seen.iter().map(|seen| seen.sequence).max()?;
            Some(Known { at: read.ended_at, sequence, by: Witness::Read(read) })
        });
        let mut heads: Vec<Known<'a>> = told.chain(seen).collect();
        heads.sort_by_key(|head| head.at);
        for at in 1..heads.len() {
            let before = heads[at - 1];
            if before.sequence > heads[at].sequence {
                heads[at] = Known { at: heads[at].at, ..before };
            }
        }
        Self(heads)
    }

    fn before(&self, instant: Duration) -> Option<Known<'a>> {
        let count = self.0.partition_point(|head| head.at < instant);
        count.checked_sub(1).map(|last| self.0[last])
    }
}
