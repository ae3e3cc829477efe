//! How a chat looks: a screen with a line that is being typed, or lines in and lines out.

use anyhow::{Context, Result};
use factum_model::messaging::MessageEvent;
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};

use super::super::render::Printer;
use super::screen::Screen;
use crate::client::Entry;
use crate::output::Output;

/// What came from stdin.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    Line(String),
    End,
}

pub(super) enum Face {
    Screen(Box<Screen>),
    Lines(Box<Plain>),
}

/// Messages on stdout as they come, notices on stderr, lines from stdin.
pub(super) struct Plain {
    output: Output,
    printer: Printer,
    lines: Lines<BufReader<Stdin>>,
}

impl Face {
    pub(super) fn screen(output: Output, name: &str) -> Result<Self> {
        Ok(Self::Screen(Box::new(Screen::open(output, name)?)))
    }

    pub(super) fn lines(output: Output) -> Self {
        let lines = BufReader::new(tokio::io::stdin()).lines();
        Self::Lines(Box::new(Plain { output, printer: Printer::new(output), lines }))
    }

    /// What is typed next. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Result<Typed> {
        match self {
            Self::Screen(screen) => screen.next().await,
            Self::Lines(plain) => {
                let line = plain.lines.next_line().await.context("stdin cannot be read")?;
                Ok(line.map_or(Typed::End, Typed::Line))
            }
        }
    }

    /// Leaves room for these authors from the beginning.
    pub(super) fn expect<'a>(&mut self, authors: impl IntoIterator<Item = &'a str>) {
        match self {
            Self::Screen(screen) => screen.expect(authors),
            Self::Lines(plain) => plain.printer.expect(authors),
        }
    }

    pub(super) fn entry(&mut self, entry: &Entry) -> Result<()> {
        match self {
            Self::Screen(screen) => screen.entry(entry)?,
            Self::Lines(plain) => plain.printer.entry(entry)?,
        }
        Ok(())
    }

    /// A message from before.
    pub(super) fn message(&mut self, message: &MessageEvent) -> Result<()> {
        match self {
            Self::Screen(screen) => screen.message(message)?,
            Self::Lines(plain) => plain.printer.message(message)?,
        }
        Ok(())
    }

    /// Something that is not in the channel.
    pub(super) fn notice(&mut self, text: &str) -> Result<()> {
        match self {
            Self::Screen(screen) => screen.notice(text)?,
            Self::Lines(plain) => plain.output.note(text),
        }
        Ok(())
    }

    /// A line that came to nothing, to be changed and tried again.
    pub(super) fn give_back(&mut self, line: &str) -> Result<()> {
        match self {
            Self::Screen(screen) => screen.give_back(line)?,
            Self::Lines(_) => {}
        }
        Ok(())
    }
}
