//! What is printed, and where: data on stdout, messages on stderr. Nothing else in the binary writes to either.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use indicatif::{MultiProgress, ProgressDrawTarget};
use serde::Serialize;

use crate::render::is_obeyed;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();

/// How data is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// One JSON document, on several lines where it goes to a terminal.
    Json,
    /// JSON, one value per line.
    Jsonl,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// The two streams, as the global flags want them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) format: Option<Format>,
    terminal: bool,
    quiet: bool,
}

impl Output {
    pub(crate) fn new(format: Option<Format>, color: Color, quiet: bool) -> Self {
        let choice = match color {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::AlwaysAnsi,
            Color::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
        Self { format, terminal: io::stdout().is_terminal(), quiet }
    }

    /// Whether data is wanted for a machine.
    pub(crate) fn is_json(&self) -> bool {
        matches!(self.format, Some(Format::Json | Format::Jsonl))
    }

    /// A line of data.
    pub(crate) fn line(&self, text: impl Display) -> io::Result<()> {
        self.text(format_args!("{text}\n"))
    }

    /// Data as it is. Flushed at once, for whoever reads along.
    pub(crate) fn text(&self, text: impl Display) -> io::Result<()> {
        let mut stdout = anstream::stdout().lock();
        write!(stdout, "{text}")?;
        stdout.flush()
    }

    /// Whether data goes to somebody who looks at it.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// The text with its styles, or without them where none are wanted: for `screen`.
    pub(crate) fn styled(&self, text: &str) -> String {
        match anstream::AutoStream::choice(&io::stdout()) {
            anstream::ColorChoice::Never => anstream::adapter::strip_str(text).to_string(),
            _ => text.to_owned(),
        }
    }

    /// What a terminal obeys, whether or not colors are wanted. Flushed at once.
    pub(crate) fn screen(&self, text: &str) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    }

    /// Where bars can be drawn: only where somebody looks at both streams, since what is said goes between the bars.
    pub(crate) fn bars(&self) -> Option<MultiProgress> {
        let seen = self.terminal && io::stderr().is_terminal() && !self.is_json() && !self.quiet;
        // A terminal that cannot move its cursor gets lines as well.
        let target = seen.then(ProgressDrawTarget::stderr).filter(|target| !target.is_hidden());
        target.map(MultiProgress::with_draw_target)
    }

    /// A JSON value: readable on a terminal, compact for a pipe.
    pub(crate) fn json(&self, value: &impl Serialize) -> io::Result<()> {
        let pretty = self.terminal && self.format != Some(Format::Jsonl);
        let text = if pretty { serde_json::to_string_pretty(value)? } else { serde_json::to_string(value)? };
        self.json_text(&text)
    }

    /// A JSON value that is a text already. A pipe gets it to the byte, so it goes past everything that knows of styles.
    pub(crate) fn json_text(&self, json: &str) -> io::Result<()> {
        let shown = if self.terminal { harmless(json) } else { Cow::Borrowed(json) };
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{shown}")?;
        stdout.flush()
    }

    /// A list: one document, or one line for each.
    pub(crate) fn rows(&self, rows: &[impl Serialize]) -> io::Result<()> {
        if self.format == Some(Format::Jsonl) {
            rows.iter().try_for_each(|row| self.json(row))
        } else {
            self.json(&rows)
        }
    }

    /// A message. A stderr that is gone is nobody's problem.
    pub(crate) fn note(&self, text: impl Display) {
        if !self.quiet {
            say(text);
        }
    }

    /// A message that `-q` does not silence.
    pub(crate) fn warn(&self, text: impl Display) {
        say(format_args!("{YELLOW}warning:{YELLOW:#} {text}"));
    }
}

/// The same JSON without anything a terminal would obey. What JSON itself does not allow inside of a string stands between
/// values only, and stays.
fn harmless(json: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| c >= '\u{7f}' && is_obeyed(c);
    if !json.contains(is_harmful) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if is_harmful(c) {
            // Writing into a string cannot fail.
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| _ = write!(text, "\\u{unit:04x}"));
        } else {
            text.push(c);
        }
    }
    Cow::Owned(text)
}

/// An error, whatever the flags say.
pub(crate) fn say(text: impl Display) {
    let mut stderr = anstream::stderr().lock();
    let _ = writeln!(stderr, "{text}");
    let _ = stderr.flush();
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn json_on_a_terminal_means_the_same_and_is_not_obeyed() {
        let value = json!({ "\u{9b}31m": "\u{1b}[2J\u{7f}\u{202e}\u{200f}\u{61c} ü 日本 🦀", "list": ["\n", 1] });
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let shown = harmless(&text);
            assert!(!shown.contains(|c| c != '\n' && is_obeyed(c)), "{shown:?}");
            assert!(
                shown.contains(r"\u009b31m") && shown.contains(r"\u202e") && shown.contains("ü 日本 🦀"),
                "{shown}"
            );
            assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
        }
        assert!(matches!(harmless("{\"a\":\"ü\"}"), Cow::Borrowed(_)));
    }
}
