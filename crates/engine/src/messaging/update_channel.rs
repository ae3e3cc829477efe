//! `channels/update`: name and metadata, by somebody who says which version they saw.

use factum_model::commands::{ChannelResult, UpdateChannel};
use factum_model::events::MessagingChannelUpdated;
use factum_model::messaging::MetadataPatch;
use factum_model::value::Metadata;
use factum_model::{NewEvent, Refusal, Scope};
use serde_json::json;

use super::access::{Operation, admit};
use super::apply::after;
use super::create_channel::check_name;
use super::state::{ChannelState, Shell};
use super::view::channel_result;
use crate::context::{Context, Decision, Limits};

pub fn update_channel(
    state: &ChannelState,
    command: &UpdateChannel,
    context: &mut Context<'_>,
) -> Result<Decision<ChannelResult>, Refusal> {
    let shell = admit(state, context.caller, Operation::Update)?;
    check_name(command.name.as_deref(), context.limits)?;
    check_version(shell, command.expected_version)?;
    let MetadataPatch { set, remove } = match &command.metadata_patch {
        Some(patch) => effective(shell, patch)?,
        None => MetadataPatch { set: Metadata::new(), remove: Vec::new() },
    };
    check_merged(shell, &set, &remove, context.limits)?;
    let name = command.name.clone().filter(|name| shell.name.as_ref() != Some(name));
    let mut events = Vec::new();
    // What changes nothing is not a change: the version stays.
    if name.is_some() || !set.is_empty() || !remove.is_empty() {
        let fact = MessagingChannelUpdated {
            channel_id: shell.channel_id.clone(),
            name,
            metadata_set: set,
            metadata_removed: remove,
            version: shell.version + 1,
            after_sequence: state.message_count,
            actor: context.caller.to_owned(),
        };
        events.push(NewEvent::new(Scope::default(), fact));
    }
    let output = channel_result(&after(state, &events, context.now), context.caller)?;
    Ok(Decision { events, output })
}

/// Seed 002 §7.4: another version than the expected one is a conflict.
fn check_version(shell: &Shell, expected: u64) -> Result<(), Refusal> {
    if shell.version == expected {
        return Ok(());
    }
    let message = format!(
        "the channel is at version {}, not {expected}; get it again and decide whether your change still fits",
        shell.version
    );
    Err(Refusal::conflict(message).with("version", shell.version).with("expectedVersion", expected))
}

/// The part of a patch that changes something.
fn effective(shell: &Shell, patch: &MetadataPatch) -> Result<MetadataPatch, Refusal> {
    if let Some(key) = patch.remove.iter().find(|key| patch.set.contains_key(*key)) {
        return Err(Refusal::invalid("metadataPatch sets and removes the same key").with("key", json!(key)));
    }
    let differs = |(key, value): &(&String, &serde_json::Value)| shell.metadata.get(*key) != Some(*value);
    let set = patch.set.iter().filter(differs).map(|(key, value)| (key.clone(), value.clone())).collect();
    let mut remove: Vec<_> = patch.remove.iter().filter(|key| shell.metadata.contains_key(*key)).cloned().collect();
    remove.sort_unstable();
    remove.dedup();
    Ok(MetadataPatch { set, remove })
}

/// The bound is for the whole of it, not for each patch.
fn check_merged(shell: &Shell, set: &Metadata, remove: &[String], limits: &Limits) -> Result<(), Refusal> {
    if set.is_empty() {
        return Ok(());
    }
    let mut merged = shell.metadata.clone();
    merged.retain(|key, _| !remove.contains(key));
    merged.extend(set.clone());
    limits.check_metadata("metadata_bytes", &merged)
}
