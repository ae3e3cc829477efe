//! How figures are shown: a table for people, the same rows as JSON for machines. Pure.

use std::fmt::Write;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// The rows of one benchmark. All have the same names in the same order.
#[derive(Serialize)]
pub(crate) struct Report {
    benchmark: &'static str,
    /// What is compared with what.
    what: &'static str,
    rows: Vec<Row>,
}

/// One line: names with what was found.
pub(crate) struct Row(Vec<(&'static str, Cell)>);

/// A figure with its unit, which decides how it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell {
    Count(u64),
    PerSecond(f64),
    Millis(f64),
    Micros(f64),
    Number(f64),
    /// Ours as a part of the reference, or of how much more.
    Ratio(f64),
    Word(&'static str),
}

impl Report {
    pub(crate) fn new(benchmark: &'static str, what: &'static str) -> Self {
        Self { benchmark, what, rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl Into<Vec<(&'static str, Cell)>>) {
        self.rows.push(Row(cells.into()));
    }

    /// The table, with the columns as wide as they need to be.
    pub(crate) fn table(&self) -> String {
        let mut lines: Vec<Vec<String>> = Vec::new();
        let names = self.rows.first().map(|row| row.0.iter().map(|(name, _)| name.replace('_', " ")).collect());
        lines.extend(names);
        lines.extend(self.rows.iter().map(|row| row.0.iter().map(|(_, cell)| cell.text()).collect()));
        let columns = lines.first().map_or(0, Vec::len);
        let width = |column: usize| lines.iter().map(|line| line.get(column).map_or(0, String::len)).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = format!("{}: {}\n", self.benchmark, self.what);
        for line in &lines {
            for (cell, width) in line.iter().zip(&widths) {
                let _ = write!(text, "  {cell:>width$}");
            }
            text.push('\n');
        }
        text
    }
}

impl Cell {
    fn text(self) -> String {
        match self {
            Self::Count(count) => grouped(count),
            Self::PerSecond(rate) => grouped(rate.round() as u64),
            Self::Millis(value) | Self::Micros(value) | Self::Number(value) if value >= 100.0 => format!("{value:.0}"),
            Self::Millis(value) => format!("{value:.2}"),
            Self::Micros(value) | Self::Number(value) => format!("{value:.1}"),
            Self::Ratio(ratio) => format!("{ratio:.2}"),
            Self::Word(word) => word.to_owned(),
        }
    }
}

/// `1234567` as `1 234 567`.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, cell) in &self.0 {
            map.serialize_entry(name, cell)?;
        }
        map.end()
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => serializer.serialize_u64(*count),
            Self::PerSecond(value)
            | Self::Millis(value)
            | Self::Micros(value)
            | Self::Number(value)
            | Self::Ratio(value) => serializer.serialize_f64((value * 1e4).round() / 1e4),
            Self::Word(word) => serializer.serialize_str(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut report = Report::new("http", "a command beside an echo");
        let row = |clients, rate| {
            [("clients", Cell::Count(clients)), ("per_s", Cell::PerSecond(rate)), ("ratio", Cell::Ratio(0.5))]
        };
        report.row(row(8, 12_345.6));
        report.row(row(512, 7.0));
        report
    }

    #[test]
    fn columns_line_up() {
        let expected = "http: a command beside an echo\n  clients   per s  ratio\n        8  12 346   0.50\n      512       7   0.50\n";
        assert_eq!(report().table(), expected);
    }

    #[test]
    fn rows_are_objects_for_machines() {
        let json = serde_json::to_value(report()).unwrap();
        assert_eq!(json["rows"][0], serde_json::json!({ "clients": 8, "per_s": 12345.6, "ratio": 0.5 }));
    }
}
