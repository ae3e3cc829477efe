//! What a channel's entries look like to people: time, number, author, text.
//!
//! Everything in a message may come from a stranger, so control characters never reach the terminal. A message is never
//! cut, since it is what was asked for; data inside of it is.

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Style};
use factum_model::id::MessageId;
use factum_model::messaging::{
    ControlAction, ControlEvent, MessageEvent, PresenceEvent, PresenceState, StreamEnvelope,
};
use jiff::tz::TimeZone;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::describe::{at, role};
use crate::client::Entry;
use crate::output::{DIM, Output};
use crate::render::{Breaks, clean, shorten};
use crate::table::pad;
use crate::when::now;

/// Authors take so much room at least, and at most before texts no longer stand below each other.
const AUTHOR_WIDTH_MIN: usize = 12;
const AUTHOR_WIDTH_MAX: usize = 28;
/// How many messages are remembered, to say which one a reply answers.
const REMEMBERED_MAX: usize = 2_000;

/// What authors are told apart by. Red is for errors.
const COLORS: [AnsiColor; 9] = [
    AnsiColor::Cyan,
    AnsiColor::Green,
    AnsiColor::Yellow,
    AnsiColor::Blue,
    AnsiColor::Magenta,
    AnsiColor::BrightCyan,
    AnsiColor::BrightGreen,
    AnsiColor::BrightBlue,
    AnsiColor::BrightMagenta,
];

/// Prints entries, as text or as they came.
pub(super) struct Printer {
    output: Output,
    renderer: Renderer,
}

impl Printer {
    pub(super) fn new(output: Output) -> Self {
        Self { output, renderer: Renderer::new(TimeZone::system(), now().as_millisecond()) }
    }

    /// Leaves room for these authors from the beginning.
    pub(super) fn expect<'a>(&mut self, authors: impl IntoIterator<Item = &'a str>) {
        self.renderer.expect(authors);
    }

    pub(super) fn entry(&mut self, entry: &Entry) -> std::io::Result<()> {
        if self.output.is_json() {
            return self.output.json_text(&entry.json);
        }
        self.output.text(self.renderer.entry(entry))
    }

    pub(super) fn message(&mut self, message: &MessageEvent) -> std::io::Result<()> {
        if self.output.is_json() {
            return self.output.json(message);
        }
        self.output.text(self.renderer.message(message))
    }
}

/// Remembers the day, the width of names and which message had which number.
pub(super) struct Renderer {
    zone: TimeZone,
    day: String,
    author_width: usize,
    remembered: BTreeMap<u64, MessageId>,
}

impl Renderer {
    /// What is of the day of `today_ms` goes without saying.
    pub(super) fn new(zone: TimeZone, today_ms: i64) -> Self {
        let day = day(today_ms, &zone);
        Self { zone, day, author_width: AUTHOR_WIDTH_MIN, remembered: BTreeMap::new() }
    }

    /// Leaves room for these authors from the beginning.
    pub(super) fn expect<'a>(&mut self, authors: impl IntoIterator<Item = &'a str>) {
        for author in authors {
            let width = clean(author, Breaks::Shown).width();
            self.author_width = self.author_width.max(width.min(AUTHOR_WIDTH_MAX));
        }
    }

    /// The lines of an entry; nothing for one that says nothing.
    pub(super) fn entry(&mut self, entry: &Entry) -> String {
        match &entry.envelope {
            StreamEnvelope::MessageEvent { event } => self.message(event),
            StreamEnvelope::ControlEvent { event } => self.aside(event.timestamp, &control(event)),
            StreamEnvelope::PresenceEvent { event } => self.aside(event.timestamp, &presence(event)),
            StreamEnvelope::Heartbeat { .. } => String::new(),
        }
    }

    pub(super) fn message(&mut self, message: &MessageEvent) -> String {
        self.expect([message.author.as_str()]);
        let author = clean(&message.author, Breaks::Shown);
        let (time, style) = (at(message.timestamp, &self.zone, "%H:%M:%S"), color(&message.author));
        let (number, author) = (format!("{:>5}", message.sequence), pad(&author, self.author_width));
        let indent = " ".repeat(time.width() + number.width() + author.width() + 5);
        let body = self.body(message).replace('\n', &format!("\n{indent}"));
        let day = self.turn_page(message.timestamp);
        self.remember(message);
        format!("{day}{DIM}{time} {number}{DIM:#}  {style}{author}{style:#}  {body}\n")
    }

    /// The text, and what the message refers to.
    fn body(&self, message: &MessageEvent) -> String {
        let mut pieces = Vec::new();
        if let Some(id) = &message.reply_to_id {
            let known = self.remembered.iter().rev().find(|(_, known)| *known == id);
            let answered = known.map_or_else(|| "an earlier message".to_owned(), |(sequence, _)| sequence.to_string());
            pieces.push(format!("{DIM}(to {answered}){DIM:#}"));
        }
        pieces.extend(message.parts.values().iter().map(part));
        let refs = message.artifact_refs.iter().map(|id| ("artifact", id));
        let refs = refs.chain(message.task_refs.iter().map(|id| ("task", id)));
        pieces.extend(refs.map(|(kind, id)| format!("{DIM}[{kind} {}]{DIM:#}", clean(id, Breaks::Shown))));
        pieces.join(" ")
    }

    /// Something that is no message, on a line of its own.
    fn aside(&mut self, timestamp_ms: i64, what: &str) -> String {
        let (day, time) = (self.turn_page(timestamp_ms), at(timestamp_ms, &self.zone, "%H:%M:%S"));
        format!("{day}{DIM}{time}     *  {}{DIM:#}\n", clean(what, Breaks::Shown))
    }

    /// A line with the day, where another one begins.
    fn turn_page(&mut self, timestamp_ms: i64) -> String {
        let day = day(timestamp_ms, &self.zone);
        if day == self.day {
            return String::new();
        }
        self.day = day;
        format!("{DIM}{}{DIM:#}\n", self.day)
    }

    fn remember(&mut self, message: &MessageEvent) {
        self.remembered.insert(message.sequence, message.id.clone());
        if self.remembered.len() > REMEMBERED_MAX {
            self.remembered.pop_first();
        }
    }
}

fn day(timestamp_ms: i64, zone: &TimeZone) -> String {
    at(timestamp_ms, zone, "%A, %-d %B %Y")
}

/// The same color for the same author, everywhere and always.
pub(super) fn color(author: &str) -> Style {
    let hash = author
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    COLORS[(hash % COLORS.len() as u64) as usize].on_default()
}

/// Legacy parts and those of A2A 1.0, as far as they are for reading.
fn part(part: &Value) -> String {
    if let Some(text) = part["text"].as_str() {
        return clean(text, Breaks::Kept);
    }
    let file = if part["file"].is_object() { &part["file"] } else { part };
    let word = |names: &[&str]| names.iter().find_map(|name| file[*name].as_str());
    let name = word(&["name", "filename"]).into_iter().chain(word(&["mimeType", "mediaType"]));
    let what = match (word(&["url", "uri"]), word(&["raw", "bytes"]), file.get("data")) {
        (Some(url), ..) => name.chain([url]).collect::<Vec<_>>().join(" "),
        (_, Some(bytes), _) => format!("{} {} bytes", name.collect::<Vec<_>>().join(" "), bytes.len() / 4 * 3),
        (.., Some(data)) => data.to_string(),
        _ => part.to_string(),
    };
    format!("{DIM}<{}>{DIM:#}", shorten(what.trim()))
}

fn control(event: &ControlEvent) -> String {
    let (actor, principal) = (&event.actor, event.principal_id.as_deref().unwrap_or("somebody"));
    let given = event.role.map_or("member", role);
    match event.action {
        ControlAction::ChannelCreated => format!("{actor} created the channel"),
        ControlAction::ChannelUpdated => format!("{actor} changed {}", changes(event)),
        ControlAction::ChannelDeleted => format!("{actor} deleted the channel"),
        ControlAction::MemberAdded => format!("{actor} added {principal} as {given}"),
        ControlAction::MemberRemoved if actor == principal => format!("{actor} left the channel"),
        ControlAction::MemberRemoved => format!("{actor} removed {principal}"),
        ControlAction::MemberRoleChanged => format!("{actor} made {principal} {given}"),
    }
}

fn changes(event: &ControlEvent) -> String {
    let name = event.name.iter().map(|name| format!("the name to {name:?}"));
    let patch = event.metadata_patch.iter();
    let fields = patch.flat_map(|patch| patch.set.keys().chain(&patch.remove)).map(|key| format!("the field {key:?}"));
    let changes: Vec<String> = name.chain(fields).collect();
    if changes.is_empty() { "the channel".to_owned() } else { changes.join(", ") }
}

fn presence(event: &PresenceEvent) -> String {
    match event.state {
        PresenceState::Online => format!("{} came", event.principal_id),
        PresenceState::Offline => format!("{} went", event.principal_id),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(sequence: u64, more: Value) -> MessageEvent {
        let mut event = json!({
            "id": format!("msg_{sequence}"), "channelId": "chan_1", "sequence": sequence, "timestamp": 0,
            "author": "agent://a", "parts": [{ "text": "hi" }], "kind": "messageEvent",
        });
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(event).unwrap()
    }

    fn lines(messages: &[MessageEvent]) -> String {
        let mut renderer = Renderer::new(TimeZone::UTC, 0);
        let text: String = messages.iter().map(|message| renderer.message(message)).collect();
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn a_message_is_a_line_and_says_what_it_answers() {
        let text = lines(&[
            message(1, json!({})),
            message(2, json!({ "author": "agent://somebody", "parts": [{ "type": "text", "text": "two\nlines" }] })),
            message(3, json!({ "replyToId": "msg_1", "artifactRefs": ["art_1"], "timestamp": 86_400_000 })),
        ]);
        let expected = "00:00:00     1  agent://a     hi\n\
                        00:00:00     2  agent://somebody  two\n                                  lines\n\
                        Friday, 2 January 1970\n\
                        00:00:00     3  agent://a         (to 1) hi [artifact art_1]\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn every_form_of_a_part_can_be_read() {
        let shown = |value: Value| anstream::adapter::strip_str(&part(&value)).to_string();
        for (value, expected) in [
            (json!({ "kind": "text", "text": "a" }), "a"),
            (json!({ "data": { "answer": 42 } }), "<{\"answer\":42}>"),
            (json!({ "type": "data", "data": [1] }), "<[1]>"),
            (json!({ "url": "https://a/b", "filename": "b" }), "<b https://a/b>"),
            (json!({ "type": "file", "file": { "name": "b", "uri": "https://a/b" } }), "<b https://a/b>"),
            (json!({ "raw": "AAAA", "mediaType": "image/png" }), "<image/png 3 bytes>"),
        ] {
            assert_eq!(shown(value.clone()), expected, "{value}");
        }
    }

    #[test]
    fn a_terminal_is_never_told_what_to_do() {
        let evil = "\u{1b}[2J\u{202e}";
        let text = lines(&[message(1, json!({ "author": evil, "parts": [{ "text": evil }, { "data": evil }] }))]);
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    }
}
