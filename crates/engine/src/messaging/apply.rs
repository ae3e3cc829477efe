//! The fold: how each fact changes the state. Total: it never fails and never asks the clock.
//!
//! A fact that does not fit (which `decide` never produces) changes nothing but the counters, so that a log written by a
//! newer version still loads as far as it is understood.

use factum_model::events::*;
use factum_model::{Event, Fact, NewEvent, Timestamp};

use super::own_messages::OwnMessages;
use super::state::{ChannelState, Member, Shell};

/// Applies one event.
pub fn apply(state: &mut ChannelState, event: &Event) {
    state.sequence = event.sequence;
    fold(state, event.timestamp, &event.fact);
}

/// The state as it will be with these facts, for an answer that is given together with them. Only what an answer shows is
/// right in it: the facts have no numbers yet.
pub(super) fn after(state: &ChannelState, events: &[NewEvent], now: Timestamp) -> ChannelState {
    let mut state = state.clone();
    events.iter().for_each(|event| fold(&mut state, now, &event.fact));
    state
}

fn fold(state: &mut ChannelState, at: Timestamp, fact: &Fact) {
    match fact {
        Fact::MessagePublished(fact) => {
            let before = state.message_count;
            state.message_count += 1;
            if let Some(author) = state.members.get_mut(&fact.author) {
                // Who had read everything has read this one too: it is their own.
                if author.read_sequence == before {
                    author.read_sequence = state.message_count;
                } else {
                    author.own.add(state.message_count);
                }
            }
        }
        other => {
            state.other_count += 1;
            change(state, at, other);
        }
    }
    if let Some(shell) = &mut state.shell {
        shell.updated_at = at;
    }
}

fn change(state: &mut ChannelState, at: Timestamp, fact: &Fact) {
    match fact {
        Fact::MessagingChannelCreated(fact) => create(state, at, fact),
        Fact::MessagingChannelUpdated(fact) => update(state, fact),
        Fact::MessagingChannelDeleted(fact) => {
            state.deleted = true;
            state.members.clear();
            set_version(state, fact.version);
        }
        Fact::MessagingMemberAdded(fact) => {
            let member = Member { role: fact.role, joined_at: at, read_sequence: 0, own: OwnMessages::default() };
            state.members.insert(fact.principal.clone(), member);
            set_version(state, fact.version);
        }
        Fact::MessagingMemberChanged(fact) => {
            if let Some(member) = state.members.get_mut(&fact.principal) {
                member.role = fact.role;
            }
            set_version(state, fact.version);
        }
        Fact::MessagingMemberRemoved(fact) => {
            state.members.remove(&fact.principal);
            set_version(state, fact.version);
        }
        Fact::MessagingReadMarked(fact) => {
            if let Some(member) = state.members.get_mut(&fact.principal) {
                member.read_sequence = fact.sequence;
                member.own.read(fact.sequence);
            }
        }
        _ => {}
    }
}

fn create(state: &mut ChannelState, at: Timestamp, fact: &MessagingChannelCreated) {
    state.shell = Some(Shell {
        account: fact.account_ref.clone(),
        channel_id: fact.channel_id.clone(),
        direct: fact.direct,
        name: fact.name.clone(),
        visibility: fact.visibility,
        created_by: fact.created_by.clone(),
        created_at: at,
        updated_at: at,
        metadata: fact.metadata.clone(),
        version: 1,
    });
    let member = |member: &MessagingMember| {
        (
            member.principal.clone(),
            Member { role: member.role, joined_at: at, read_sequence: 0, own: OwnMessages::default() },
        )
    };
    state.members = fact.members.iter().map(member).collect();
}

fn update(state: &mut ChannelState, fact: &MessagingChannelUpdated) {
    let Some(shell) = &mut state.shell else { return };
    if fact.name.is_some() {
        shell.name = fact.name.clone();
    }
    for key in &fact.metadata_removed {
        // The other keys keep their order.
        shell.metadata.shift_remove(key);
    }
    shell.metadata.extend(fact.metadata_set.clone());
    shell.version = fact.version;
}

fn set_version(state: &mut ChannelState, version: u64) {
    if let Some(shell) = &mut state.shell {
        shell.version = version;
    }
}
