//! Markdown, the little of it that the pages need.

use std::fmt::Write;

/// A page under construction.
pub(super) struct Page(String);

impl Page {
    pub(super) fn new(title: &str, about: &str) -> Self {
        Self(format!(
            "<!-- Written by `cargo xtask docs`. Change the registry, not this page. -->\n\n# {title}\n\n{about}\n"
        ))
    }

    pub(super) fn heading(&mut self, level: usize, text: &str) {
        let _ = write!(self.0, "\n{} {text}\n", "#".repeat(level));
    }

    pub(super) fn text(&mut self, text: &str) {
        let _ = write!(self.0, "\n{text}\n");
    }

    pub(super) fn code(&mut self, language: &str, code: &str) {
        let _ = write!(self.0, "\n```{language}\n{code}\n```\n");
    }

    pub(super) fn list(&mut self, items: impl IntoIterator<Item = String>) {
        self.0.push('\n');
        for item in items {
            let _ = writeln!(self.0, "- {item}");
        }
    }

    pub(super) fn table<const N: usize>(&mut self, head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) {
        let line = |cells: [String; N]| format!("| {} |\n", cells.join(" | "));
        self.0.push('\n');
        self.0 += &line(head.map(str::to_owned));
        self.0 += &line(head.map(|_| "---".to_owned()));
        for row in rows {
            self.0 += &line(row.map(|cell| cell_text(&cell)));
        }
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// Text that stays within its cell.
fn cell_text(text: &str) -> String {
    text.replace('|', "\\|").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Where a heading is found: GitHub's rule, as far as our headings need it.
pub(super) fn anchor(heading: &str) -> String {
    let keep = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    heading.to_lowercase().chars().filter(|c| keep(*c)).collect::<String>().replace(' ', "-")
}

pub(super) fn code(text: &str) -> String {
    format!("`{text}`")
}
