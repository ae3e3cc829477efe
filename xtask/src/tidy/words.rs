//! Words that are not committed: promises to finish later, tests that do not run, and waiting for time to pass.
//!
//! A test waits for an event; one that sleeps is slow when it passes and wrong when the machine is. Where a wait is the
//! product's own behaviour, `tidy-allow.toml` says so.

use super::Finding;
use super::tree::File;

/// What not to write and what to do. Each is spelled in two halves, so that this file does not find itself.
const WORDS: &[(&str, &str)] = &[
    (concat!("todo", "!("), "finish it, or leave it out and say so in the documentation"),
    (concat!("unimplemented", "!("), "finish it, or return an error that says what is missing"),
    (concat!("FIX", "ME"), "fix it, or write down why it stays"),
    (concat!("#[ign", "ore"), "make the test run, or delete it"),
    (concat!("thread::", "sleep"), "wait for what you are waiting for: a channel, a condition, a file"),
    (concat!("time::", "sleep("), SLEEP),
    (concat!("time::", "sleep;"), SLEEP),
];

const SLEEP: &str = "wait for an event; a delay that is the product's own gets a reason in xtask/tidy-allow.toml";

pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let rust = files.iter().filter(|file| file.is_rust());
    let lines = rust.flat_map(|file| file.lines().map(move |(number, line)| (file, number, line)));
    lines
        .flat_map(|(file, number, line)| words_in(line).map(move |(word, what)| finding(file, number, word, what)))
        .collect()
}

fn words_in(line: &str) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    WORDS.iter().filter(move |(word, _)| line.contains(word))
}

fn finding(file: &File, line: usize, word: &str, what: &str) -> Finding {
    Finding::new(&file.path, line, format!("`{word}` is not committed; {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_found_where_it_stands() {
        for (word, _) in WORDS {
            let files = [File::new("crates/store/tests/it.rs", &format!("//! Fine.\n    {word}\n"))];
            let found = check(&files);
            assert_eq!(found.len(), 1, "{word}");
            assert_eq!(found[0].line, 2, "{word}");
        }
    }

    #[test]
    fn a_deadline_is_not_a_delay_and_prose_is_not_code() {
        let files = [
            File::new("crates/runtime/src/timer.rs", "tokio::time::sleep_until(deadline).await;\n"),
            File::new("CONTRIBUTING.md", concat!("No `FIX", "ME`.\n")),
        ];
        assert!(check(&files).is_empty());
    }
}
