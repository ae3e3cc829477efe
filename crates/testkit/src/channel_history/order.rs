//! Real time: what someone was told before a publish began cannot stand behind what that publish made.

use super::message::Message;
use super::slot::{Slot, Witness};
use super::violation::{Kind, Violation};

pub(super) fn check(messages: &[Message<'_>], slots: &[Slot<'_>], found: &mut Vec<Violation>) {
    for slot in slots {
        let Some(message) = slot.message.and_then(|index| messages.get(index)) else { continue };
        if message.started_at <= slot.known.at {
            continue;
        }
        let (publish, sequence, known) = (message.attempts[0], slot.sequence, slot.known);
        let kind = match known.by {
            Witness::Publish(_) => Kind::OrderReversed,
            Witness::Read(_) => Kind::SeenBeforePublished,
        };
        let told = known.sequence;
        let sentence = format!("sequence {sequence} went to {publish}, which began after {} had {told}", known.by);
        found.push(Violation::new(kind, known.by.channel(), sentence));
    }
}
