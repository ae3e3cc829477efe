//! `moves.md`: which status of a task may follow which, from the engine's own table.

use std::fmt::Write;

use factum_engine::session::tasks::moves;
use factum_model::task::TaskStatus;

const INTRODUCTION: &str = "\
<!-- Written by `cargo xtask docs`. Change the engine's table, not this page. -->

# Moves of a task

A task moves from one status to another only where this table has it. A command that would make another move is refused with
`precondition_failed`, and `details.status` says where the task stands. Not every command makes every move: `start_task` begins
an attempt, `retry_task` the next one, `cancel_task` ends, and the reports of whoever does the task make the rest.

| from | to |
|---|---|
";

/// The page.
pub(super) fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for from in TaskStatus::ALL {
        let to: Vec<String> = moves(from).iter().map(|to| format!("`{}`", to.as_str())).collect();
        let to = if to.is_empty() { "nothing: it stays".to_owned() } else { to.join(", ") };
        let _ = writeln!(page, "| `{}` | {to} |", from.as_str());
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_row() {
        let page = page();
        assert!(page.contains("| `cancelling` | `cancelled`, `timed_out`, `failed`, `completed` |\n"), "{page}");
        assert_eq!(page.lines().filter(|line| line.starts_with("| `")).count(), TaskStatus::ALL.len());
    }
}
