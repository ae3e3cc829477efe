//! `factum channel publish`: a message out of words, stdin or parts.

use std::io::Read;

use anyhow::{Context, Result};
use clap::Args;
use factum_model::commands::PublishMessage;
use serde_json::{Value, json};

use super::Here;
use super::message::MessageRef;
use super::target::{Target, find};
use crate::failure::Problem;

#[derive(Debug, Args)]
#[command(override_usage = "\
factum channel publish [OPTIONS] <CHANNEL> <TEXT>...
       factum channel publish [OPTIONS] <CHANNEL> -
       factum channel publish [OPTIONS] --peer <PRINCIPAL> <TEXT>...")]
pub(super) struct Publish {
    /// The channel's id, its name, or @PRINCIPAL; then the text, or - for stdin.
    #[arg(value_name = "CHANNEL TEXT", required = true)]
    words: Vec<String>,
    /// The direct channel with this principal, instead of CHANNEL.
    #[arg(long, value_name = "PRINCIPAL")]
    peer: Option<String>,
    /// Repeating the command with the same key publishes nothing more.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// The message this one answers, by its number or id.
    #[arg(long, value_name = "MESSAGE")]
    reply_to: Option<MessageRef>,
    /// An artifact the message is about; may be given several times.
    #[arg(long = "artifact", value_name = "REF")]
    artifacts: Vec<String>,
    /// A task the message is about; may be given several times.
    #[arg(long = "task", value_name = "REF")]
    tasks: Vec<String>,
    /// Parts behind the text, or instead of it: a JSON array, @FILE, or - for stdin.
    #[arg(long, value_name = "PARTS")]
    json: Option<String>,
}

pub(super) async fn run(publish: Publish, here: &Here) -> Result<()> {
    let (channel, words) = split(publish.peer.as_deref(), &publish.words);
    // Before anybody is asked, so that a mistake costs nothing.
    let parts = parts(words, publish.json.as_deref())?;
    let target = match channel {
        Some(channel) => find(channel, here).await?,
        None => Target::with(publish.peer.as_deref().unwrap_or_default(), here),
    };
    let reply_to_id = match &publish.reply_to {
        Some(message) => Some(message.find(&target, here).await?),
        None => None,
    };
    let some = |refs: Vec<String>| (!refs.is_empty()).then_some(refs);
    let command = PublishMessage {
        artifact_refs: some(publish.artifacts),
        task_refs: some(publish.tasks),
        idempotency_key: publish.key,
        reply_to_id,
        ..message(&target, parts)
    };
    let event = here.run(&command).await?.event;
    if here.output.is_json() {
        return Ok(here.output.json(&event)?);
    }
    here.output.line(&event.id)?;
    here.output.note(format_args!("message {} of {}", event.sequence, event.channel_id));
    Ok(())
}

/// A message of these parts and nothing else.
pub(super) fn message(target: &Target, parts: Vec<Value>) -> PublishMessage {
    PublishMessage {
        channel_id: target.channel_id(),
        peer: target.peer(),
        parts: parts.into(),
        artifact_refs: None,
        task_refs: None,
        metadata: None,
        idempotency_key: None,
        reply_to_id: None,
        thread_id: None,
    }
}

/// A part that is a text.
pub(super) fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// The channel and the text. With a peer there is no channel to name.
fn split<'a>(peer: Option<&str>, words: &'a [String]) -> (Option<&'a str>, &'a [String]) {
    match (peer, words) {
        (None, [channel, text @ ..]) => (Some(channel), text),
        (_, text) => (None, text),
    }
}

fn parts(words: &[String], json: Option<&str>) -> Result<Vec<Value>> {
    let mut parts = Vec::new();
    match words {
        [] if json.is_none() => {
            let problem = Problem::cannot_run("there is nothing to publish");
            return Err(problem.advice("write the text behind the channel, or - to read it from stdin").into());
        }
        [] => {}
        [one] if one == "-" => parts.push(text(&stdin()?)),
        words => parts.push(text(&words.join(" "))),
    }
    if let Some(json) = json {
        parts.extend(read_parts(json)?);
    }
    Ok(parts)
}

/// Stdin without the line break at its end, which belongs to the file and not to the message.
fn stdin() -> Result<String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("stdin cannot be read")?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.is_empty() {
        return Err(Problem::cannot_run("there is nothing to publish").because("stdin is empty").into());
    }
    Ok(text.to_owned())
}

fn read_parts(json: &str) -> Result<Vec<Value>> {
    let text = match json.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(path).with_context(|| format!("{path} cannot be read"))?,
        None if json == "-" => stdin()?,
        None => json.to_owned(),
    };
    let wrong =
        || Problem::cannot_run("the parts are not a JSON array of parts").advice("[{\"data\": {\"answer\": 42}}]");
    match serde_json::from_str(&text).map_err(|error| wrong().because(error))? {
        Value::Array(parts) => Ok(parts),
        part @ Value::Object(_) => Ok(vec![part]),
        _ => Err(wrong().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn words_are_one_text_and_parts_stand_behind_it() {
        let parts = |list: &[&str], json| parts(&words(list), json).map_err(|error| error.to_string());
        assert_eq!(parts(&["hello", "there"], None), Ok(vec![text("hello there")]));
        assert_eq!(parts(&["see"], Some("{\"data\":1}")), Ok(vec![text("see"), json!({ "data": 1 })]));
        assert_eq!(parts(&[], Some("[{\"text\":\"a\"}]")), Ok(vec![json!({ "text": "a" })]));
        assert_eq!(parts(&[], None), Err("there is nothing to publish".to_owned()));
        assert_eq!(parts(&[], Some("1")), Err("the parts are not a JSON array of parts".to_owned()));
    }

    #[test]
    fn with_a_peer_every_word_is_text() {
        let list = words(&["a", "b"]);
        assert_eq!(split(None, &list), (Some("a"), &list[1..]));
        assert_eq!(split(Some("agent://bob"), &list), (None, &list[..]));
    }
}
