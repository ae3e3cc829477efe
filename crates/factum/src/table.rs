//! Lists as columns, each as wide as its widest cell.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::glyphs::Glyphs;
use crate::render::{Breaks, clean};

/// Rows of a table. Cells may come from strangers and are cleaned; styles are for the caller to put around lines.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| clean(&cell, Breaks::Shown)).into());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cells = |column| self.rows.iter().filter_map(move |row| row.get(column));
        let widths: Vec<usize> =
            (0..columns).map(|column| cells(column).map(|cell| cell.width()).max().unwrap_or(0)).collect();
        self.rows.iter().map(|row| line(row, &widths)).collect()
    }
}

fn line(row: &[String], widths: &[usize]) -> String {
    // A column without content takes no room.
    let cells = row.iter().zip(widths).filter(|(_, width)| **width > 0);
    let padded = cells.map(|(cell, width)| pad(cell, *width));
    padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

/// The text with spaces behind it.
pub(crate) fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// The text in so many columns, with a sign where something is left out.
pub(crate) fn fit(text: &str, width: usize, glyphs: Glyphs) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let sign = if width > 3 { glyphs.ellipsis() } else { "" };
    let (mut fitting, mut room) = (String::new(), width.saturating_sub(sign.width()));
    for c in text.chars() {
        let Some(left) = room.checked_sub(c.width().unwrap_or(0)) else { break };
        room = left;
        fitting.push(c);
    }
    fitting.truncate(fitting.trim_end().len());
    fitting + sign
}

/// `1 message`, `2 messages`.
pub(crate) fn count(number: u64, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_look() {
        let mut table = Table::default();
        table.row(["日本".into(), String::new(), "1".into()]);
        table.row(["a\u{1b}".into(), String::new(), "2".into()]);
        assert_eq!(table.lines(), ["日本     1", "a\\u{1b}  2"]);
        assert_eq!(fit("日本語", 5, Glyphs::Unicode), "日本…");
        assert_eq!(fit("a long name", 8, Glyphs::Ascii), "a lon...");
        assert_eq!(fit("fits", 4, Glyphs::Ascii), "fits");
        assert_eq!((count(1, "message"), count(0, "message")), ("1 message".into(), "0 messages".into()));
    }
}
