//! Something that goes on, shown as it goes: bars on a terminal, a line for each change anywhere else.
//!
//! What goes on is a `Board`, made anew by whoever watches; how it is drawn is decided here and in `bars`.

mod bars;

use anyhow::Result;

use self::bars::Bars;
use crate::glyphs::Glyphs;
use crate::output::Output;

/// What is shown at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Board {
    /// What is being done, one line each.
    pub(super) rows: Vec<Row>,
    /// How many more are being done.
    pub(super) more: usize,
    pub(super) total: Total,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// The same thing has the same key from one board to the next.
    pub(super) key: String,
    pub(super) name: String,
    /// Absent where nobody said.
    pub(super) percent: Option<u8>,
    pub(super) note: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Total {
    pub(super) done: u64,
    pub(super) of: u64,
    pub(super) note: String,
}

/// How much a change matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    /// The bars show it too.
    Step,
    /// Something ended.
    End,
}

/// Where it is shown.
pub(super) enum Live {
    Bars(Box<Bars>),
    Lines(Output),
}

impl Live {
    pub(super) fn new(output: Output, glyphs: Glyphs) -> Self {
        match output.bars() {
            Some(bars) => Self::Bars(Box::new(Bars::new(bars, output, glyphs))),
            None => Self::Lines(output),
        }
    }

    /// How many rows a board should have at most.
    pub(super) fn rows_max(&self) -> usize {
        match self {
            Self::Bars(_) => bars::rows_max(crate::terminal::rows()),
            Self::Lines(_) => 0,
        }
    }

    /// A change, in a line.
    pub(super) fn changed(&self, weight: Weight, line: &str) -> Result<()> {
        match self {
            Self::Bars(bars) if weight == Weight::End => bars.above(line)?,
            Self::Bars(_) => {}
            Self::Lines(output) => output.line(line)?,
        }
        Ok(())
    }

    /// Where it stands now.
    pub(super) fn show(&mut self, board: &Board) {
        match self {
            Self::Bars(bars) => bars.show(board),
            Self::Lines(_) => {}
        }
    }

    /// Takes the bars away; what was said stays.
    pub(super) fn finish(self) {
        if let Self::Bars(bars) = self {
            bars.finish();
        }
    }
}
