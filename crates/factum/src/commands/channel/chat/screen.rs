//! A chat on a terminal: messages scroll by above one line, which keeps what is being typed.
//!
//! Everything that is shown first wipes that line and then draws it again, in one write. What does not fit into the
//! line's width is scrolled sideways, so it never takes a second one.

use std::collections::VecDeque;

use anyhow::{Context, Result};
use factum_model::messaging::MessageEvent;
use jiff::tz::TimeZone;
use tokio::io::{AsyncReadExt, Stdin};
use tokio::signal::unix::{Signal, SignalKind, signal};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::super::render::Renderer;
use super::editor::{Editor, Effect};
use super::face::Typed;
use super::keys::{Decoder, Key};
use super::raw::RawMode;
use crate::client::Entry;
use crate::output::{BOLD, DIM, Output};
use crate::terminal::columns;
use crate::when::now;

/// To the beginning of the line, and nothing on it.
const WIPE: &str = "\r\u{1b}[K";
/// An empty screen, and the cursor at its beginning.
const CLEAR: &str = "\u{1b}[2J\u{1b}[H";
/// What is pasted comes marked as such.
const PASTE_ON: &str = "\u{1b}[?2004h";
const PASTE_OFF: &str = "\u{1b}[?2004l";

/// The widest name before the line, where the terminal is wide enough.
const NAME_WIDTH_MAX: usize = 24;
/// What stands between the name and the line.
const SIGN: &str = "> ";

pub(super) struct Screen {
    output: Output,
    renderer: Renderer,
    name: String,
    editor: Editor,
    stdin: Stdin,
    decoder: Decoder,
    /// Keys that were pressed and not yet looked at.
    pressed: VecDeque<Key>,
    resized: Signal,
    // Last, so that the terminal is put back when everything else is said.
    _raw: RawMode,
}

impl Screen {
    pub(super) fn open(output: Output, name: &str) -> Result<Self> {
        let raw = RawMode::enter().context("the terminal cannot be read key by key")?;
        let mut screen = Self {
            output,
            renderer: Renderer::new(TimeZone::system(), now().as_millisecond()),
            name: name.to_owned(),
            editor: Editor::default(),
            stdin: tokio::io::stdin(),
            decoder: Decoder::default(),
            pressed: VecDeque::new(),
            resized: signal(SignalKind::window_change())?,
            _raw: raw,
        };
        screen.draw(PASTE_ON)?;
        Ok(screen)
    }

    /// What is typed next. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Result<Typed> {
        loop {
            while let Some(key) = self.pressed.pop_front() {
                let typed = match self.editor.press(key) {
                    // Keys that come together are drawn together.
                    Effect::Nothing if !self.pressed.is_empty() => continue,
                    Effect::Nothing => None,
                    Effect::Clear => {
                        self.draw(CLEAR)?;
                        continue;
                    }
                    Effect::Submit(line) => Some(Typed::Line(line)),
                    Effect::Quit => Some(Typed::End),
                };
                self.draw("")?;
                if let Some(typed) = typed {
                    return Ok(typed);
                }
            }
            let mut bytes = [0; 1024];
            tokio::select! {
                read = self.stdin.read(&mut bytes) => match read {
                    // A terminal that is gone says so with an error.
                    Ok(0) | Err(_) => return Ok(Typed::End),
                    Ok(read) => self.pressed.extend(self.decoder.feed(&bytes[..read])),
                },
                _ = self.resized.recv() => self.draw("")?,
            }
        }
    }

    /// Leaves room for these authors from the beginning.
    pub(super) fn expect<'a>(&mut self, authors: impl IntoIterator<Item = &'a str>) {
        self.renderer.expect(authors);
    }

    pub(super) fn entry(&mut self, entry: &Entry) -> Result<()> {
        let text = self.renderer.entry(entry);
        self.above(&text)
    }

    pub(super) fn message(&mut self, message: &MessageEvent) -> Result<()> {
        let text = self.renderer.message(message);
        self.above(&text)
    }

    pub(super) fn notice(&mut self, text: &str) -> Result<()> {
        let lines: String = text.lines().map(|line| format!("{DIM}  {line}{DIM:#}\n")).collect();
        self.above(&lines)
    }

    /// Puts a line back to where it was typed, unless the next one is being typed there.
    pub(super) fn give_back(&mut self, line: &str) -> Result<()> {
        self.editor.give_back(line);
        self.draw("")
    }

    fn above(&mut self, lines: &str) -> Result<()> {
        self.draw(&self.output.styled(lines))
    }

    /// Whole lines, and the line below them.
    fn draw(&mut self, lines: &str) -> Result<()> {
        let columns = columns();
        let prompt = prompt(&self.name, columns);
        // The last column stays free: a terminal that has filled it is about to begin a new line.
        let view = self.editor.view(columns.saturating_sub(prompt.width() + 1));
        let cursor = match prompt.width() + view.column {
            // A terminal takes none for one.
            0 => String::new(),
            column => format!("\u{1b}[{column}C"),
        };
        let prompt = self.output.styled(&format!("{BOLD}{prompt}{BOLD:#}"));
        self.output.screen(&format!("{WIPE}{lines}{prompt}{}\r{cursor}", view.text))?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.output.screen(&format!("{WIPE}{PASTE_OFF}"));
    }
}

/// As much of the name as leaves half of the columns to the line; nothing where not even the sign does.
fn prompt(name: &str, columns: usize) -> String {
    let Some(room) = (columns / 2).checked_sub(SIGN.width()) else { return String::new() };
    shorten(name, room.min(NAME_WIDTH_MAX)) + SIGN
}

fn shorten(name: &str, width_max: usize) -> String {
    let mut width = 0;
    let fits = |c: &char| {
        width += c.width().unwrap_or(0);
        width <= width_max
    };
    name.chars().take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_leaves_room_to_type_on_every_terminal() {
        let long = "a channel with a long name";
        for (name, columns, expected) in [
            ("lab", 80, "lab> "),
            (long, 80, "a channel with a long na> "),
            (long, 20, "a channe> "),
            (long, 10, "a c> "),
            (long, 4, "> "),
            (long, 3, ""),
            (long, 0, ""),
            ("日本語", 10, "日> "),
        ] {
            assert_eq!(prompt(name, columns), expected, "{columns}");
        }
    }
}
