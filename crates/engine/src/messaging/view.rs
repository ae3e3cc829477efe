//! What callers see of a channel, its messages and its changes: from state and facts to the seed's objects.

use factum_model::commands::ChannelResult;
use factum_model::events::MessagingMember;
use factum_model::id::MessagingChannelId;
use factum_model::messaging::*;
use factum_model::value::Metadata;
use factum_model::{Event, Fact, Refusal};

use super::state::{ChannelState, Member};

/// The channel as `caller` sees it; `None` where there is none. Whether they may see it is asked before, by `allow`.
pub fn channel_view(state: &ChannelState, caller: &str) -> Option<Channel> {
    let shell = state.existing()?;
    let read = state.members.get(caller).map(|member| state.read_cursor(Some(member), member.read_sequence));
    Some(Channel {
        id: shell.channel_id.clone(),
        name: shell.name.clone(),
        visibility: shell.visibility,
        created_at: shell.created_at.as_millisecond(),
        created_by: shell.created_by.clone(),
        members: state.members.iter().map(member_view).collect(),
        metadata: shell.metadata.clone(),
        version: shell.version,
        kind: ChannelKind::Channel,
        direct: shell.direct.then_some(true),
        message_count: state.message_count,
        read_cursor: read,
    })
}

/// The answer of the commands that show the channel.
pub(super) fn channel_result(state: &ChannelState, caller: &str) -> Result<ChannelResult, Refusal> {
    channel_view(state, caller).map(|channel| ChannelResult { channel }).ok_or_else(Refusal::not_found)
}

fn member_view((principal, member): (&String, &Member)) -> ChannelMember {
    ChannelMember { principal_id: principal.clone(), role: member.role, joined_at: member.joined_at.as_millisecond() }
}

/// The message of a fact that is one.
pub fn message_view(event: &Event) -> Option<MessageEvent> {
    let Fact::MessagePublished(fact) = &event.fact else { return None };
    Some(MessageEvent {
        id: fact.message_id.clone(),
        channel_id: fact.channel_id.clone(),
        sequence: fact.sequence,
        timestamp: event.timestamp.as_millisecond(),
        author: fact.author.clone(),
        parts: fact.parts.clone(),
        artifact_refs: fact.artifact_refs.clone(),
        task_refs: fact.task_refs.clone(),
        metadata: fact.metadata.clone(),
        idempotency_key: fact.idempotency_key.clone(),
        reply_to_id: fact.reply_to_id.clone(),
        thread_id: fact.thread_id.clone(),
        kind: MessageEventKind::MessageEvent,
    })
}

/// The change of a fact that changes the channel itself. Reading is nobody else's business and no change.
pub fn control_view(event: &Event) -> Option<ControlEvent> {
    let view = |channel_id: &MessagingChannelId, action, actor: &String, version, after_sequence| ControlEvent {
        id: event.event_id.clone(),
        channel_id: channel_id.clone(),
        after_sequence,
        version,
        timestamp: event.timestamp.as_millisecond(),
        actor: actor.clone(),
        action,
        principal_id: None,
        role: None,
        members: Vec::new(),
        name: None,
        metadata_patch: None,
        kind: ControlEventKind::ControlEvent,
    };
    let about = |view: ControlEvent, principal: &String, role| ControlEvent {
        principal_id: Some(principal.clone()),
        role: Some(role),
        ..view
    };
    Some(match &event.fact {
        Fact::MessagingChannelCreated(fact) => ControlEvent {
            members: fact.members.iter().map(first_member).collect(),
            name: fact.name.clone(),
            metadata_patch: patch(&fact.metadata, &[]),
            ..view(&fact.channel_id, ControlAction::ChannelCreated, &fact.created_by, 1, 0)
        },
        Fact::MessagingChannelUpdated(fact) => {
            let action = ControlAction::ChannelUpdated;
            ControlEvent {
                name: fact.name.clone(),
                metadata_patch: patch(&fact.metadata_set, &fact.metadata_removed),
                ..view(&fact.channel_id, action, &fact.actor, fact.version, fact.after_sequence)
            }
        }
        Fact::MessagingChannelDeleted(fact) => {
            view(&fact.channel_id, ControlAction::ChannelDeleted, &fact.actor, fact.version, fact.after_sequence)
        }
        Fact::MessagingMemberAdded(fact) => {
            let action = ControlAction::MemberAdded;
            let view = view(&fact.channel_id, action, &fact.actor, fact.version, fact.after_sequence);
            about(view, &fact.principal, fact.role)
        }
        Fact::MessagingMemberChanged(fact) => {
            let action = ControlAction::MemberRoleChanged;
            let view = view(&fact.channel_id, action, &fact.actor, fact.version, fact.after_sequence);
            about(view, &fact.principal, fact.role)
        }
        Fact::MessagingMemberRemoved(fact) => {
            let action = ControlAction::MemberRemoved;
            let view = view(&fact.channel_id, action, &fact.actor, fact.version, fact.after_sequence);
            about(view, &fact.principal, fact.role)
        }
        _ => return None,
    })
}

fn first_member(member: &MessagingMember) -> FirstMember {
    FirstMember { principal_id: member.principal.clone(), role: member.role }
}

/// Nothing where nothing changes.
fn patch(set: &Metadata, remove: &[String]) -> Option<MetadataPatch> {
    let changes = !set.is_empty() || !remove.is_empty();
    changes.then(|| MetadataPatch { set: set.clone(), remove: remove.to_vec() })
}

/// Whose alone a fact of a channel's stream is: how far somebody has read, and what was answered to a key of theirs, is
/// nobody else's. `None` where it is for everybody who may read the channel.
pub fn private_to(fact: &Fact) -> Option<&str> {
    match fact {
        Fact::MessagingReadMarked(fact) => Some(&fact.principal),
        Fact::CommandAccepted(fact) => Some(&fact.principal),
        _ => None,
    }
}

/// Who did what, for the audit (seed 002 §10). Content is not in it.
pub fn audit_view(event: &Event) -> Option<ChannelAuditEntry> {
    let view = |channel_id: &MessagingChannelId, action, actor: &String| ChannelAuditEntry {
        channel_id: channel_id.clone(),
        event_id: event.event_id.to_string(),
        timestamp: event.timestamp.as_millisecond(),
        actor: actor.clone(),
        action,
        principal_id: None,
        role: None,
        members: Vec::new(),
        message_id: None,
        sequence: None,
    };
    match &event.fact {
        Fact::MessagePublished(fact) => Some(ChannelAuditEntry {
            // To its readers a message is the event, by this id.
            event_id: fact.message_id.to_string(),
            message_id: Some(fact.message_id.clone()),
            sequence: Some(fact.sequence),
            ..view(&fact.channel_id, ChannelAuditAction::MessagePublished, &fact.author)
        }),
        Fact::MessagingReadMarked(fact) => Some(ChannelAuditEntry {
            sequence: Some(fact.sequence),
            ..view(&fact.channel_id, ChannelAuditAction::ReadMarked, &fact.principal)
        }),
        _ => {
            let control = control_view(event)?;
            Some(ChannelAuditEntry {
                principal_id: control.principal_id,
                role: control.role,
                members: control.members,
                ..view(&control.channel_id, control.action.into(), &control.actor)
            })
        }
    }
}
