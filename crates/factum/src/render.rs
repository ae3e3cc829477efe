//! An event as a line for people: time, type, the few words that matter. Text that streams is joined on one line.
//!
//! Everything in an event may come from a model, a tool or a stranger, so control characters never reach the terminal.

use anstyle::Style;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::output::{DIM, GREEN, RED, YELLOW};

/// The most characters of an event's text on one line.
const TEXT_CHARS_MAX: usize = 160;

/// Remembers whether a streamed text is on the line.
pub(crate) struct Renderer {
    zone: TimeZone,
    /// The type whose pieces are being joined.
    open: Option<String>,
}

impl Renderer {
    pub(crate) fn new(zone: TimeZone) -> Self {
        Self { zone, open: None }
    }

    /// What to print for an event, line breaks included.
    pub(crate) fn event(&mut self, event: &Value) -> String {
        let kind = event["type"].as_str().unwrap_or("?");
        if let Some(text) = delta(kind, event) {
            let text = clean(text, Breaks::Kept);
            if self.open.as_deref() == Some(kind) {
                return text;
            }
            let line = format!("{}{}{text}", self.finish(), self.head(kind, event));
            self.open = Some(kind.to_owned());
            return line;
        }
        format!("{}{}{}\n", self.finish(), self.head(kind, event), shorten(&summary(kind, event)))
    }

    /// Ends a line that is still open.
    pub(crate) fn finish(&mut self) -> String {
        if self.open.take().is_some() { "\n".to_owned() } else { String::new() }
    }

    fn head(&self, kind: &str, event: &Value) -> String {
        let time = event["timestamp"].as_str().and_then(|text| text.parse::<Timestamp>().ok());
        let time =
            time.map_or_else(String::new, |at| at.to_zoned(self.zone.clone()).strftime("%H:%M:%S%.3f").to_string());
        let (sequence, style, kind) =
            (event["sequence"].as_u64().unwrap_or(0), style(kind), clean(kind, Breaks::Shown));
        format!("{DIM}{time} {sequence:>5}{DIM:#}  {style}{kind:<18}{style:#}  ")
    }
}

/// The text of a piece of a stream.
fn delta<'a>(kind: &str, event: &'a Value) -> Option<&'a str> {
    matches!(kind, "model.delta" | "reasoning.delta").then(|| event["payload"]["text"].as_str()).flatten()
}

fn style(kind: &str) -> Style {
    match kind {
        "turn.completed" | "task.completed" | "tool.result" => GREEN,
        "action.required" | "permission.requested" | "runtime.warning" => YELLOW,
        _ if kind.ends_with(".failed") || kind.ends_with(".lost") || kind == "runtime.error" => RED,
        "model.delta" => Style::new(),
        _ => DIM,
    }
}

/// The few words that matter.
fn summary(kind: &str, event: &Value) -> String {
    let payload = &event["payload"];
    let text = |name: &str| payload[name].as_str().unwrap_or_default();
    match kind {
        "session.created" => format!("agent {} by {}", text("agent"), text("created_by")),
        "turn.submitted" => format!("{}: {}", text("source"), input(payload)),
        "turn.started" => format!("agent {}", text("agent")),
        "turn.completed" => join(&[text("stop_reason"), text("preview")]),
        "turn.failed" => join(&[text("status"), failure(payload)]),
        "model.completed" => text("stop_reason").to_owned(),
        "model.failed" | "tool.failed" | "task.failed" => join(&[text("outcome"), failure(payload)]),
        "run.status" => join(&[text("phase"), text("title")]),
        "tool.started" => text("tool_name").to_owned(),
        "tool.args" => payload["arguments"].to_string(),
        "tool.result" => text("preview").to_owned(),
        "tool.progress" => join(&[text("state"), text("message")]),
        "action.required" => {
            let (prompt, decisions) = (text("prompt"), decisions(payload));
            format!("{prompt} [{}{decisions}]", event["action_id"].as_str().unwrap_or_default())
        }
        "action.resolved" => format!("{} by {}", text("decision"), text("resolved_by")),
        "artifact.changed" => join(&[text("name"), payload["content"]["media_type"].as_str().unwrap_or_default()]),
        "queue.changed" => {
            format!("{} ({} waiting)", text("change"), payload["entries"].as_array().map_or(0, Vec::len))
        }
        _ => payload.as_object().filter(|fields| !fields.is_empty()).map_or_else(String::new, |_| payload.to_string()),
    }
}

fn input(payload: &Value) -> String {
    let parts = payload["input"].as_array().into_iter().flatten();
    let words = parts.map(|part| part["text"].as_str().map_or_else(|| format!("<{}>", part["type"]), str::to_owned));
    words.collect::<Vec<_>>().join(" ")
}

fn failure(payload: &Value) -> &str {
    payload["error"]["message"].as_str().unwrap_or_default()
}

fn decisions(payload: &Value) -> String {
    let decisions: Vec<&str> =
        payload["decisions"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if decisions.is_empty() { String::new() } else { format!(": {}", decisions.join(" or ")) }
}

fn join(words: &[&str]) -> String {
    words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(": ")
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Breaks {
    Kept,
    Shown,
}

/// The text without anything a terminal would obey.
pub(crate) fn clean(text: &str, breaks: Breaks) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' if breaks == Breaks::Kept => clean.push(c),
            '\n' | '\t' => clean.push(' '),
            c if is_obeyed(c) => clean.extend(c.escape_unicode()),
            c => clean.push(c),
        }
    }
    clean
}

/// Whether a terminal would do something for a character instead of showing it.
pub(crate) fn is_obeyed(c: char) -> bool {
    c.is_control() || is_direction(c) || is_break(c)
}

/// Marks that turn the reading direction around and can make a text look like another.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Separators of lines and paragraphs: one line could look like two, the second said by somebody else.
fn is_break(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}')
}

pub(crate) fn shorten(text: &str) -> String {
    let clean = clean(text, Breaks::Shown);
    match clean.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None => clean,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(events: &[(&str, Value)]) -> String {
        let mut renderer = Renderer::new(TimeZone::UTC);
        let mut text = String::new();
        for (sequence, (kind, payload)) in events.iter().enumerate() {
            text += &renderer.event(&json!({
                "type": kind, "sequence": sequence + 1, "timestamp": "2026-11-15T10:00:00.5Z", "payload": payload,
            }));
        }
        text += &renderer.finish();
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn deltas_are_joined_and_everything_else_is_a_line() {
        let text = lines(&[
            ("turn.submitted", json!({ "source": "agent://local", "input": [{ "type": "text", "text": "hi\nyou" }] })),
            ("model.delta", json!({ "text": "Hel" })),
            ("model.delta", json!({ "text": "lo" })),
            ("turn.completed", json!({ "stop_reason": "end_turn" })),
            ("model.delta", json!({ "text": "open" })),
        ]);
        let expected = "10:00:00.500     1  turn.submitted      agent://local: hi you\n\
                        10:00:00.500     2  model.delta         Hello\n\
                        10:00:00.500     4  turn.completed      end_turn\n\
                        10:00:00.500     5  model.delta         open\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_terminal_is_never_told_what_to_do() {
        let mut renderer = Renderer::new(TimeZone::UTC);
        let event = |kind: &str| json!({ "type": kind, "sequence": 1, "payload": { "text": "\u{1b}]0;x\u{7}\u{202e}", "title": "\u{1b}[2J" } });
        for kind in ["model.delta", "run.status", "other\u{1b}[2J"] {
            let text = anstream::adapter::strip_str(&renderer.event(&event(kind))).to_string();
            assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
            assert!(text.contains("\\u{1b}"), "{text:?}");
        }
    }

    #[test]
    fn letters_are_shown_and_what_is_obeyed_is_spelled_out() {
        for c in [
            '\u{0}', '\u{1b}', '\u{7f}', '\u{9b}', '\u{61c}', '\u{200e}', '\u{200f}', '\u{2028}', '\u{202e}',
            '\u{2066}',
        ] {
            assert_eq!(clean(&c.to_string(), Breaks::Kept), format!("\\u{{{:x}}}", u32::from(c)));
        }
        // Emoji and several scripts are joined by marks that turn nothing around.
        let shown = "é 日本語 שלום می\u{200c}خواهم 👩\u{200d}🚀";
        assert_eq!(clean(shown, Breaks::Kept), shown);
    }

    #[test]
    fn long_texts_are_cut() {
        let text = lines(&[("run.status", json!({ "title": "ü".repeat(500) }))]);
        assert!(text.ends_with("…\n"));
        assert_eq!(text.chars().filter(|c| *c == 'ü').count(), TEXT_CHARS_MAX);
    }
}
