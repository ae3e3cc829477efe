//! Attempts that are one message: those of one author under one key, or one attempt without a key.

use std::collections::HashMap;
use std::time::Duration;

use super::operation::{Outcome, Publish};
use super::violation::{Kind, Violation};

/// What should be in the channel once, or not at all if nobody was told that it is.
pub(super) struct Message<'a> {
    /// Never empty. Refused attempts wrote nothing and are not among them.
    pub(super) attempts: Vec<&'a Publish>,
    /// When the first attempt began: before that it cannot have been there.
    pub(super) started_at: Duration,
}

/// An attempt that was acknowledged.
#[derive(Clone, Copy)]
pub(super) struct Acknowledgement<'a> {
    pub(super) publish: &'a Publish,
    pub(super) at: Duration,
    pub(super) sequence: u64,
    pub(super) message_id: &'a str,
}

impl<'a> Message<'a> {
    pub(super) fn acknowledgements(&self) -> impl Iterator<Item = Acknowledgement<'a>> {
        self.attempts.iter().filter_map(|publish| acknowledgement(publish))
    }

    pub(super) fn is_acknowledged(&self) -> bool {
        self.acknowledgements().next().is_some()
    }

    /// What it may say, each once. More than one only where a key was used for several.
    pub(super) fn contents(&self) -> Vec<&'a str> {
        let mut contents: Vec<&str> = self.attempts.iter().map(|publish| publish.content.as_str()).collect();
        contents.sort_unstable();
        contents.dedup();
        contents
    }
}

pub(super) fn acknowledgement(publish: &Publish) -> Option<Acknowledgement<'_>> {
    match &publish.outcome {
        Outcome::Acknowledged { at, sequence, message_id } => {
            Some(Acknowledgement { publish, at: *at, sequence: *sequence, message_id })
        }
        Outcome::Refused { .. } | Outcome::Unknown => None,
    }
}

pub(super) fn messages<'a>(publishes: &[&'a Publish]) -> Vec<Message<'a>> {
    let mut messages: Vec<Message<'a>> = Vec::new();
    let mut by_key: HashMap<(&str, &str), usize> = HashMap::new();
    for &publish in publishes.iter().filter(|publish| !matches!(publish.outcome, Outcome::Refused { .. })) {
        let new = messages.len();
        let index = match &publish.key {
            Some(key) => *by_key.entry((&publish.author, key)).or_insert(new),
            None => new,
        };
        if index == new {
            messages.push(Message { attempts: Vec::new(), started_at: publish.started_at });
        }
        let message = &mut messages[index];
        message.started_at = message.started_at.min(publish.started_at);
        message.attempts.push(publish);
    }
    messages
}

/// One key, one sequence, one content.
pub(super) fn check(messages: &[Message<'_>], found: &mut Vec<Violation>) {
    for message in messages {
        let mut acknowledged = message.acknowledgements();
        let Some(first) = acknowledged.next() else { continue };
        for other in acknowledged {
            let both = format!("{} and {}", first.publish, other.publish);
            if first.sequence != other.sequence {
                let sentence = format!("one key has two sequences: {both}");
                found.push(Violation::new(Kind::KeyTwice, &first.publish.channel, sentence));
            }
            if first.publish.content != other.publish.content {
                let sentence = format!("one key was acknowledged with two contents: {both}");
                found.push(Violation::new(Kind::KeyWithOtherContent, &first.publish.channel, sentence));
            }
        }
    }
}
