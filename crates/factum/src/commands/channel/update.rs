//! `factum channel update`: the name and metadata, changed only if nobody else changed them meanwhile.

use anyhow::Result;
use clap::Args;
use factum_model::ErrorCode;
use factum_model::commands::UpdateChannel;
use factum_model::messaging::MetadataPatch;
use factum_model::registry::Command;
use serde_json::Value;

use super::Here;
use super::members::report;
use super::target::find_to_manage;
use crate::failure::{Problem, refusal_of};

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("change").required(true).multiple(true).args(["name", "set", "unset"]))]
pub(super) struct Update {
    /// The channel's id or name.
    #[arg(value_name = "CHANNEL")]
    channel: String,
    /// The version you saw, from `factum channel show`. Another one now is a conflict.
    #[arg(long, value_name = "VERSION")]
    expect_version: u64,
    /// The new name.
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// A field of the metadata and its new value; may be given several times.
    #[arg(long, value_name = "KEY=JSON", value_parser = parse_field)]
    set: Vec<(String, Value)>,
    /// A field to take out of the metadata; may be given several times.
    #[arg(long, value_name = "KEY")]
    unset: Vec<String>,
}

pub(super) async fn run(update: Update, here: &Here) -> Result<()> {
    let channel_id = find_to_manage(&update.channel, here).await?;
    let patch = MetadataPatch { set: update.set.into_iter().collect(), remove: update.unset };
    let command = UpdateChannel {
        channel_id,
        expected_version: update.expect_version,
        name: update.name,
        metadata_patch: (!patch.set.is_empty() || !patch.remove.is_empty()).then_some(patch),
        idempotency_key: None,
    };
    let outcome = here.run(&command).await;
    let channel = outcome.map_err(|error| explain(error, &update.channel))?.channel;
    report(&channel, here, "changed")
}

/// A conflict is somebody else's change, which wants to be looked at.
fn explain(error: anyhow::Error, channel: &str) -> anyhow::Error {
    match refusal_of(&error) {
        Some(refusal) if refusal.code == ErrorCode::Conflict => Problem::refusal(UpdateChannel::NAME, refusal)
            .advice(format!("`factum channel show {channel}` shows what it is now; then give its version"))
            .into(),
        _ => error,
    }
}

fn parse_field(text: &str) -> Result<(String, Value), String> {
    let (key, json) = text.split_once('=').ok_or("write KEY=JSON")?;
    let value = serde_json::from_str(json);
    let value = value.map_err(|_| format!("the value is not JSON; a text is written {key}='{}'", Value::from(json)))?;
    Ok((key.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_a_key_and_json() {
        assert_eq!(parse_field("a={\"b\":1}"), Ok(("a".to_owned(), json!({ "b": 1 }))));
        assert_eq!(parse_field("a=\"x=y\""), Ok(("a".to_owned(), json!("x=y"))));
        let error = parse_field("topic=fish").unwrap_err();
        assert_eq!(error, "the value is not JSON; a text is written topic='\"fish\"'");
        assert!(parse_field("topic").is_err());
    }
}
