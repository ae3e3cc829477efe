//! What publishers and readers of messaging channels were told, over load, kills and reconnects, and everything in it that
//! cannot have happened to channels that keep their promises.
//!
//! The checker sees only what clients saw; it never asks the server what is stored. What holds:
//!
//! ```text
//!   sequences    1, 2, 3 … each acknowledged to one message; one that nobody was told of is a publish of unknown outcome
//!   order        who was acknowledged before another began has the lower sequence
//!   content      what is read at a sequence is what was published there, under one id, for everyone
//!   keys         one key of one author is one message, however often it was sent
//!   unknown      a publish of unknown outcome is there once or not at all; a refused one is not there
//!   readers      a run without gap, repetition or reorder, with all that was acknowledged, or seen, before it began
//! ```
//!
//! Whether publishes of unknown outcome explain what nobody was told of is decided exactly, not guessed: see `accounting`.
//! It is sharpest where each message has a content of its own; where contents repeat, the server has the benefit of the
//! doubt. Everything is sorted and walked once, so a million operations take seconds.
//!
//! Deliberately absent: filtered and backward reads, which are no runs, and who may read.

mod accounting;
mod message;
mod operation;
mod order;
mod readers;
mod slot;
mod violation;

#[cfg(test)]
mod generate;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use operation::{Outcome, Publish, Read, ReadKind, Seen};
pub use violation::{Kind, Violation};

/// Everything that clients of one or several channels were told. All instants are of one clock.
#[derive(Clone, Debug, Default)]
pub struct ChannelHistory {
    publishes: Vec<Publish>,
    reads: Vec<Read>,
}

impl ChannelHistory {
    /// One attempt to publish; a retry is another one.
    pub fn published(&mut self, publish: Publish) {
        self.publishes.push(publish);
    }

    /// One page, or one stream with all its reconnects.
    pub fn read(&mut self, read: Read) {
        self.reads.push(read);
    }

    /// What another client recorded.
    pub fn merge(&mut self, other: Self) {
        self.publishes.extend(other.publishes);
        self.reads.extend(other.reads);
    }

    pub fn publishes(&self) -> &[Publish] {
        &self.publishes
    }

    pub fn reads(&self) -> &[Read] {
        &self.reads
    }

    /// Everything that is wrong, channel by channel. One fault of a server may show as several violations.
    pub fn violations(&self) -> Vec<Violation> {
        self.channels().values().flat_map(Channel::violations).collect()
    }

    fn channels(&self) -> BTreeMap<&str, Channel<'_>> {
        let mut channels: BTreeMap<&str, Channel<'_>> = BTreeMap::new();
        for publish in &self.publishes {
            channels.entry(&publish.channel).or_default().publishes.push(publish);
        }
        for read in &self.reads {
            channels.entry(&read.channel).or_default().reads.push(read);
        }
        channels
    }
}

/// The operations of one channel.
#[derive(Default)]
struct Channel<'a> {
    publishes: Vec<&'a Publish>,
    reads: Vec<&'a Read>,
}

impl Channel<'_> {
    fn violations(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        let messages = message::messages(&self.publishes);
        message::check(&messages, &mut found);
        let slots = slot::slots(&messages, &self.reads, &mut found);
        order::check(&messages, &slots, &mut found);
        accounting::check(self, &messages, &slots, &mut found);
        readers::check(self, &mut found);
        found
    }
}
