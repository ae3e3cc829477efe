//! What commands about channels mean, for telling a repeat from something else (seed 002 §6): what is left out and what is said
//! to be as it would be anyway are the same.

use factum_model::commands::{CreateChannel, MarkChannelRead, NewChannelMember, UpdateChannel};
use factum_model::id::MessagingChannelId;
use factum_model::messaging::ChannelRole;

/// Members are a set, and without a role they are plain members. Who creates a channel owns it, named or not.
pub fn meant_to_create(command: &CreateChannel, caller: &str) -> CreateChannel {
    let is_owner_anyway = |member: &NewChannelMember| {
        member.principal_id == caller && matches!(member.role, None | Some(ChannelRole::Owner))
    };
    let named = command.members.iter().flatten();
    let mut members: Vec<NewChannelMember> = named.filter(|member| !is_owner_anyway(member)).cloned().collect();
    for member in &mut members {
        member.role.get_or_insert_default();
    }
    members.sort_by(|one, other| one.principal_id.cmp(&other.principal_id));
    CreateChannel {
        visibility: Some(command.visibility.unwrap_or_default()),
        metadata: command.metadata.clone().filter(|metadata| !metadata.is_empty()),
        members: Some(members).filter(|members| !members.is_empty()),
        ..command.clone()
    }
}

/// A patch that changes nothing is none. The keys it removes are a set.
pub fn meant_to_update(command: &UpdateChannel) -> UpdateChannel {
    let mut patch = command.metadata_patch.clone().filter(|patch| !patch.set.is_empty() || !patch.remove.is_empty());
    if let Some(patch) = &mut patch {
        patch.remove.sort_unstable();
        patch.remove.dedup();
    }
    UpdateChannel { metadata_patch: patch, ..command.clone() }
}

/// The direct channel with a peer is that channel, however it is named.
pub fn meant_to_mark_read(command: &MarkChannelRead, channel_id: &MessagingChannelId) -> MarkChannelRead {
    MarkChannelRead { channel_id: Some(channel_id.clone()), peer: None, ..command.clone() }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::params_digest;

    fn digest(params: Value) -> String {
        let command: CreateChannel = serde_json::from_value(params).expect("params");
        params_digest(&meant_to_create(&command, "agent://me")).expect("a digest")
    }

    #[test]
    fn what_makes_no_difference_is_no_difference() {
        let plain = digest(json!({ "name": "a" }));
        for same in [
            json!({ "name": "a", "visibility": "private" }),
            json!({ "name": "a", "members": [] }),
            json!({ "name": "a", "metadata": {} }),
            json!({ "name": "a", "members": [{ "principalId": "agent://me" }] }),
            json!({ "name": "a", "members": [{ "principalId": "agent://me", "role": "owner" }] }),
            json!({ "name": "a", "idempotencyKey": "k" }),
        ] {
            assert_eq!(digest(same.clone()), plain, "{same}");
        }
        for other in [
            json!({ "name": "b" }),
            json!({ "name": "a", "visibility": "public" }),
            json!({ "name": "a", "members": [{ "principalId": "agent://me", "role": "member" }] }),
        ] {
            assert_ne!(digest(other.clone()), plain, "{other}");
        }
        let two = digest(json!({ "members": [{ "principalId": "x" }, { "principalId": "y", "role": "owner" }] }));
        let turned =
            json!({ "members": [{ "principalId": "y", "role": "owner" }, { "principalId": "x", "role": "member" }] });
        assert_eq!(digest(turned), two);
        assert_ne!(digest(json!({ "members": [{ "principalId": "x" }, { "principalId": "y" }] })), two);
    }

    #[test]
    fn the_keys_that_a_patch_removes_are_a_set() {
        let digest = |remove: Value| {
            let params = json!({ "channelId": "chan_1", "expectedVersion": 1, "metadataPatch": { "remove": remove } });
            let command: UpdateChannel = serde_json::from_value(params).expect("params");
            params_digest(&meant_to_update(&command)).expect("a digest")
        };
        let two = digest(json!(["a", "b"]));
        assert_eq!(digest(json!(["b", "a"])), two);
        assert_eq!(digest(json!(["a", "b", "a"])), two);
        assert_ne!(digest(json!(["a"])), two);
        assert_ne!(digest(json!([])), two);
    }
}
