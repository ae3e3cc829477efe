//! The core (`model` and `engine`) cannot touch the world: no clock, no disk, no network, no environment, no async.
//!
//! Clippy's `disallowed-methods` names single functions and can be switched off with an attribute. Here whole modules of
//! the standard library are out of reach, the attribute too, and a library gets in by being on a list.

use super::tree::File;
use super::{Finding, arrows};

const CORE: &[&str] = &["model", "engine"];

/// Libraries of values: they compute and do nothing else (or, as with `jiff` and `uuid`, only where clippy forbids it).
const LIBRARIES: &[&str] = &[
    "base64",
    "bytes",
    "factum-model",
    "imbl",
    "itoa",
    "jiff",
    "jsonschema",
    "memchr",
    "rustc-hash",
    "schemars",
    "serde",
    "serde_json",
    "serde_with",
    "sha2",
    "thiserror",
    "uuid",
];

/// What source text of the core does not say, and what to do.
const WORDS: &[(&str, &str)] = &[
    ("std::fs", DATA),
    ("std::net", DATA),
    ("std::env", DATA),
    ("std::process", DATA),
    ("std::thread", DATA),
    ("SystemTime", TIME),
    ("Instant", TIME),
    ("Timestamp::now", TIME),
    ("Zoned::now", TIME),
    ("Uuid::now_v7", IDS),
    ("Uuid::new_v4", IDS),
    ("tokio::", DATA),
    ("async fn", DATA),
    (".await", DATA),
    ("clippy::disallowed_methods", "the core has no room for exceptions"),
];

const DATA: &str = "make it an effect, and let its outcome come back as a command";
const TIME: &str = "take the time from the context";
const IDS: &str = "take ids from the context";

/// Modules of the standard library that may also come in through `use std::{…}`.
const MODULES: &[&str] = &["fs", "net", "env", "process", "thread"];

pub(super) fn check(files: &[File]) -> Vec<Finding> {
    files.iter().flat_map(|file| [check_source(file), check_libraries(file)].concat()).collect()
}

fn check_source(file: &File) -> Vec<Finding> {
    let in_core = CORE.iter().any(|name| file.path.starts_with(&format!("crates/{name}/src/")));
    if !in_core || !file.is_rust() || is_test(&file.path) {
        return Vec::new();
    }
    let code = file.lines().take(lines_before_tests(file)).filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.flat_map(|(number, line)| {
        words_in(line).into_iter().map(move |(word, what)| finding(file, number, &word, what))
    })
    .collect()
}

/// Tests of the core may read what they compare with.
fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// How many lines stand before a test module in the same file.
fn lines_before_tests(file: &File) -> usize {
    let lines: Vec<&str> = file.text.lines().collect();
    let starts_tests =
        |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{');
    lines.windows(2).position(starts_tests).unwrap_or(lines.len())
}

fn finding(file: &File, line: usize, word: &str, what: &str) -> Finding {
    Finding::new(&file.path, line, format!("`{word}` touches the world and the core does not; {what}"))
}

fn words_in(line: &str) -> Vec<(String, &'static str)> {
    let direct =
        WORDS.iter().filter(|(word, _)| stands_alone(line, word)).map(|(word, what)| ((*word).to_owned(), *what));
    let grouped = line.split_once("std::{").map_or("", |(_, names)| names);
    let names = grouped.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|name| MODULES.contains(name));
    direct.chain(names.map(|name| (format!("std::{name}"), DATA))).collect()
}

/// Whether the word is there by itself, not as a part of a longer name.
fn stands_alone(line: &str, word: &str) -> bool {
    let in_name = |c: char| c.is_alphanumeric() || c == '_';
    let joins = |side: Option<char>, edge: Option<char>| side.is_some_and(in_name) && edge.is_some_and(in_name);
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (line[..at].chars().next_back(), line[at + word.len()..].chars().next());
        !joins(before, word.chars().next()) && !joins(after, word.chars().next_back())
    })
}

fn check_libraries(file: &File) -> Vec<Finding> {
    let Some(name) = arrows::crate_of(&file.path).filter(|name| CORE.contains(name)) else { return Vec::new() };
    let unknown =
        arrows::dependencies(&file.text).into_iter().filter(|(_, package)| !LIBRARIES.contains(&package.as_str()));
    let finding = |(line, package): (usize, String)| {
        let message = format!(
            "{name} does not know {package}; if it only computes, add it to LIBRARIES in xtask/src/tidy/core.rs, otherwise keep it out"
        );
        Finding::new(&file.path, line, message)
    };
    // Our own crates are the business of the arrows.
    unknown.filter(|(_, package)| !package.starts_with("factum")).map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&[File::new(path, text)]).len()
    }

    #[test]
    fn each_word_is_found_in_the_core_only() {
        for (word, _) in WORDS {
            let text = format!("//! Essay.\nlet x = {word};\n");
            assert_eq!(found("crates/engine/src/turn.rs", &text), 1, "{word}");
            assert_eq!(found("crates/runtime/src/turn.rs", &text), 0, "{word}");
            assert_eq!(found("crates/engine/tests/it.rs", &text), 0, "{word}");
        }
    }

    #[test]
    fn grouped_imports_are_seen() {
        assert_eq!(found("crates/model/src/a.rs", "use std::{fmt, fs, net};\n"), 2);
        assert_eq!(found("crates/model/src/a.rs", "use std::{fmt, sync::Arc};\n"), 0);
    }

    #[test]
    fn comments_and_longer_names_are_not() {
        assert_eq!(found("crates/model/src/a.rs", "// not std::fs\nthread_local! {}\nstruct Instantly;\n"), 0);
    }

    #[test]
    fn tests_of_the_core_are_let_off() {
        assert_eq!(found("crates/model/src/tests/schema.rs", "std::fs::read(path)\n"), 0);
        assert_eq!(
            found("crates/model/src/a.rs", "fn a() {}\n#[cfg(test)]\nmod tests {\n    std::fs::read(path)\n}\n"),
            0
        );
        assert_eq!(found("crates/model/src/a.rs", "#[cfg(test)]\nmod tests;\nstd::fs::read(path)\n"), 1);
    }

    #[test]
    fn a_library_that_is_not_on_the_list_is_found() {
        assert_eq!(found("crates/engine/Cargo.toml", "[dependencies]\ntokio.workspace = true\nserde = \"1\"\n"), 1);
        assert_eq!(found("crates/engine/Cargo.toml", "[dev-dependencies]\ntokio.workspace = true\n"), 0);
        assert_eq!(found("crates/store/Cargo.toml", "[dependencies]\ntokio.workspace = true\n"), 0);
    }
}
