//! A file is a topic. Past 600 lines look for the second topic hiding in it.
//!
//! Longer files are recorded in `tidy-ratchet.toml` with the length they have. They may shrink, and then the record has
//! to follow (`--update`); they may not grow. Adding a record is done by hand, where a reviewer sees it.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::tree::File;
use super::{Finding, manifest};

pub(super) const RATCHET_FILE: &str = "xtask/tidy-ratchet.toml";
const LINES_MAX: usize = 600;
const TABLE: &str = "lines";

const HEADER: &str = "\
# Files longer than the 600 lines a file may have, with the length they have. A length may only shrink:
# `cargo xtask tidy --update` lowers and drops entries, and never adds one.

[lines]
";

pub(super) fn check(files: &[File], recorded: &str) -> Vec<Finding> {
    let mut records = records(recorded);
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let lines = file.text.lines().count();
        let record = records.remove(file.path.as_str());
        findings.extend(judge(file, lines, record));
    }
    let gone = |(path, record): (&str, Record)| {
        Finding::new(RATCHET_FILE, record.line, format!("{path} does not exist; run `cargo xtask tidy --update`"))
    };
    findings.extend(records.into_iter().map(gone));
    findings
}

fn judge(file: &File, lines: usize, record: Option<Record>) -> Option<Finding> {
    match record {
        None if lines > LINES_MAX => Some(Finding::new(
            &file.path,
            LINES_MAX + 1,
            format!("has {lines} lines, the limit is {LINES_MAX}; split off its second topic"),
        )),
        Some(record) if lines > record.lines_max => Some(Finding::new(
            &file.path,
            record.lines_max + 1,
            format!(
                "grew to {lines} lines from {}, and may only shrink; move the addition to a file of its own",
                record.lines_max
            ),
        )),
        Some(record) if lines < record.lines_max => Some(Finding::new(
            RATCHET_FILE,
            record.line,
            format!("{} has shrunk to {lines} lines; run `cargo xtask tidy --update`", file.path),
        )),
        _ => None,
    }
}

/// The record as it should stand now.
pub(super) fn updated(files: &[File], recorded: &str) -> String {
    let mut text = HEADER.to_owned();
    let records = records(recorded);
    for file in files.iter().filter(|file| file.is_rust()) {
        let lines = file.text.lines().count();
        if let Some(record) = records.get(file.path.as_str()).filter(|_| lines > LINES_MAX) {
            let _ = writeln!(text, "\"{}\" = {}", file.path, lines.min(record.lines_max));
        }
    }
    text
}

#[derive(Clone, Copy)]
struct Record {
    line: usize,
    lines_max: usize,
}

fn records(text: &str) -> BTreeMap<&str, Record> {
    let entries = manifest::entries(text).into_iter().filter(|entry| entry.table == TABLE);
    entries.filter_map(|e| Some((e.key, Record { line: e.line, lines_max: e.number()? }))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(lines: usize) -> File {
        File::new("crates/store/src/log.rs", &"//! A line.\n".repeat(lines))
    }

    fn found(lines: usize, recorded: &str) -> Vec<String> {
        check(&[file(lines)], recorded).iter().map(ToString::to_string).collect()
    }

    const AT_700: &str = "[lines]\n\"crates/store/src/log.rs\" = 700\n";

    #[test]
    fn a_long_file_is_found_unless_it_is_recorded() {
        assert!(found(600, "").is_empty());
        assert_eq!(
            found(601, ""),
            ["crates/store/src/log.rs:601: has 601 lines, the limit is 600; split off its second topic"]
        );
        assert!(found(700, AT_700).is_empty());
    }

    #[test]
    fn a_recorded_file_may_not_grow_and_a_shrunk_one_asks_for_an_update() {
        assert!(found(701, AT_700)[0].contains("grew to 701 lines from 700"));
        assert!(found(650, AT_700)[0].starts_with("xtask/tidy-ratchet.toml:2: "));
        assert!(check(&[], AT_700)[0].message.contains("does not exist"));
    }

    #[test]
    fn an_update_lowers_and_drops_and_never_raises_or_adds() {
        let entry = |lines: usize| format!("{HEADER}\"crates/store/src/log.rs\" = {lines}\n");
        assert_eq!(updated(&[file(650)], AT_700), entry(650));
        assert_eq!(updated(&[file(800)], AT_700), entry(700));
        assert_eq!(updated(&[file(600)], AT_700), HEADER);
        assert_eq!(updated(&[file(800)], ""), HEADER);
        assert_eq!(updated(&[], AT_700), HEADER);
    }
}
