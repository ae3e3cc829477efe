//! Who may do what in a channel, and what they are told otherwise. The one place where this is decided.
//!
//! Scopes are not here: whether a credential may use messaging at all is asked before anything is looked up.

use factum_model::messaging::{ChannelRole, ChannelVisibility};
use factum_model::{ErrorCode, Refusal};

use super::state::{ChannelState, Shell};

/// Everything that can be wanted of a channel that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Get,
    History,
    Stream,
    Presence,
    Publish,
    MarkRead,
    Update,
    Delete,
    AddMember,
    RemoveMember,
}

/// What an operation needs.
enum Need {
    Read,
    TakePart,
    Manage,
}

/// What somebody is to a channel.
enum Standing {
    Owner,
    /// Also a moderator: the seed reserves the word for later.
    Member,
    /// One of the two of a direct channel.
    OneOfTwo,
    /// No member, and the channel is public.
    Reader,
    /// No member of a private channel; or there is no channel. Nobody can tell the two apart (seed 002 §10).
    Nobody,
}

/// Refuses what `principal` may not do: `not_found` where they may not know of the channel, else `permission_denied`.
pub fn allow(state: &ChannelState, principal: &str, operation: Operation) -> Result<(), Refusal> {
    admit(state, principal, operation).map(|_| ())
}

/// The channel, for somebody who may do this with it.
pub(super) fn admit<'a>(state: &'a ChannelState, principal: &str, operation: Operation) -> Result<&'a Shell, Refusal> {
    let shell = state.existing().ok_or_else(Refusal::not_found)?;
    match (standing(state, shell, principal), need(operation)) {
        (Standing::Nobody, _) => Err(Refusal::not_found()),
        (_, Need::Read) => Ok(shell),
        (Standing::Reader, _) => Err(denied("you are not a member of this channel; one of its owners can add you")),
        (_, Need::TakePart) => Ok(shell),
        (Standing::Owner, Need::Manage) => Ok(shell),
        (Standing::Member, Need::Manage) => Err(denied("only an owner of this channel may do this")),
        (Standing::OneOfTwo, Need::Manage) => {
            Err(denied("a direct channel belongs to its two members as it is; create a channel for more than that"))
        }
    }
}

fn need(operation: Operation) -> Need {
    match operation {
        Operation::Get | Operation::History | Operation::Stream | Operation::Presence => Need::Read,
        Operation::Publish | Operation::MarkRead => Need::TakePart,
        Operation::Update | Operation::Delete | Operation::AddMember | Operation::RemoveMember => Need::Manage,
    }
}

fn standing(state: &ChannelState, shell: &Shell, principal: &str) -> Standing {
    match (state.members.get(principal), shell.visibility) {
        (Some(_), _) if shell.direct => Standing::OneOfTwo,
        (Some(member), _) => match member.role {
            ChannelRole::Owner => Standing::Owner,
            ChannelRole::Member | ChannelRole::Moderator => Standing::Member,
        },
        (None, ChannelVisibility::Public) => Standing::Reader,
        (None, ChannelVisibility::Private) => Standing::Nobody,
    }
}

fn denied(message: &str) -> Refusal {
    Refusal::new(ErrorCode::PermissionDenied, message)
}
