//! What can be wrong, each with a name to test for and a sentence to read.

use std::fmt;

/// Something that cannot have happened to a channel that keeps its promises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub kind: Kind,
    pub channel: String,
    /// What happened, with the operations involved.
    pub sentence: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A message without a place: sequences begin at 1.
    SequenceZero,
    /// Two messages were acknowledged under one sequence.
    SequenceTwice,
    /// Nobody was told of a sequence, and no publish of unknown outcome can stand there.
    SequenceSkipped,
    /// Who was acknowledged before another began has the higher sequence.
    OrderReversed,
    /// A message was seen before anyone began to publish it.
    SeenBeforePublished,
    /// Two clients were told different contents of one sequence.
    ContentDiffers,
    /// Two clients were told different ids of one sequence.
    IdDiffers,
    /// One id stands at two sequences.
    IdTwice,
    /// One key was given two sequences.
    KeyTwice,
    /// One key was acknowledged with two contents.
    KeyWithOtherContent,
    /// A message stands at more sequences than it was published.
    PresentTwice,
    /// A message nobody published.
    NeverPublished,
    /// A message whose publish was refused.
    RefusedPresent,
    /// A reader was shown a later message instead of the next, which it never got.
    ReaderSkipped,
    /// A reader was shown the next message only after a later one.
    ReaderReordered,
    /// A reader was shown what it had already.
    ReaderRepeated,
    /// A reader did not get what others had been told before it began.
    ReaderBehind,
}

impl Violation {
    pub(super) fn new(kind: Kind, channel: &str, sentence: String) -> Self {
        Self { kind, channel: channel.to_owned(), sentence }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({:?}): {}", self.channel, self.kind, self.sentence)
    }
}
