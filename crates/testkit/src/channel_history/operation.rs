//! What clients record. Instants are durations since the test began, all read from one clock: an operation's start before it
//! is sent, its end after it was answered.

use std::fmt;
use std::time::Duration;

/// One attempt to publish.
#[derive(Clone, Debug)]
pub struct Publish {
    pub channel: String,
    /// Who recorded it.
    pub client: String,
    /// As whom: an idempotency key belongs to a channel and an author.
    pub author: String,
    pub started_at: Duration,
    pub key: Option<String>,
    /// In the one form that equal messages share.
    pub content: String,
    pub outcome: Outcome,
}

/// What came of a publish.
#[derive(Clone, Debug)]
pub enum Outcome {
    Acknowledged {
        at: Duration,
        sequence: u64,
        message_id: String,
    },
    /// The server said no, so nothing may have been written.
    Refused {
        at: Duration,
    },
    /// Nobody answered. It may be there, it may still arrive, or it may never have been heard of.
    Unknown,
}

/// One read.
#[derive(Clone, Debug)]
pub struct Read {
    pub channel: String,
    pub reader: String,
    pub started_at: Duration,
    pub ended_at: Duration,
    /// It asked for what comes behind this sequence; 0 is the beginning.
    pub after: u64,
    pub kind: ReadKind,
    /// In the order they came.
    pub seen: Vec<Seen>,
}

/// What a read is, which decides how far it has to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadKind {
    /// A page of history that says others follow: it ends where it is full.
    Page,
    /// The last page of a history: everything acknowledged before it began.
    LastPage,
    /// A stream, over all its reconnects: everything acknowledged before it began.
    Stream,
    /// A stream the test saw fall silent: everything acknowledged before this instant.
    SettledStream { settled_at: Duration },
    /// A stream that was lost before it could catch up, and never resumed.
    CutStream,
}

/// A message as a reader saw it.
#[derive(Clone, Debug)]
pub struct Seen {
    pub sequence: u64,
    pub message_id: String,
    pub content: String,
}

impl Read {
    /// What was known to anyone before this instant has to be in it; `None` where it may end anywhere.
    pub(super) fn covers_before(&self) -> Option<Duration> {
        match self.kind {
            ReadKind::LastPage | ReadKind::Stream => Some(self.started_at),
            ReadKind::SettledStream { settled_at } => Some(settled_at),
            ReadKind::Page | ReadKind::CutStream => None,
        }
    }
}

impl fmt::Display for Publish {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, started_at, content, outcome, .. } = self;
        write!(out, "the publish of {content:?} by {client}")?;
        if let Some(key) = &self.key {
            write!(out, " under key {key:?}")?;
        }
        match outcome {
            Outcome::Acknowledged { at, sequence, .. } => {
                write!(out, " (from {started_at:?}, acknowledged as {sequence} at {at:?})")
            }
            Outcome::Refused { at } => write!(out, " (from {started_at:?}, refused at {at:?})"),
            Outcome::Unknown => write!(out, " (from {started_at:?}, outcome unknown)"),
        }
    }
}

impl fmt::Display for Read {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            ReadKind::Page | ReadKind::LastPage => "page",
            ReadKind::Stream | ReadKind::SettledStream { .. } | ReadKind::CutStream => "stream",
        };
        let Self { reader, started_at, ended_at, after, .. } = self;
        write!(out, "the {kind} of {reader} behind {after} (from {started_at:?} to {ended_at:?})")
    }
}
