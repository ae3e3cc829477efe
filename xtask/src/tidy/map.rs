//! The map is complete and true: every crate is in ARCHITECTURE.md, and every crate named there exists.

use std::collections::BTreeSet;

use super::tree::File;
use super::{Finding, arrows};

const MAP: &str = "ARCHITECTURE.md";

pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let crates: BTreeSet<&str> = files.iter().filter_map(|file| arrows::crate_of(&file.path)).collect();
    let Some(map) = files.iter().find(|file| file.path == MAP) else {
        return vec![Finding::new(MAP, 1, "does not exist; write the map of the codebase")];
    };
    let missing = crates.iter().filter(|name| !map.text.contains(&format!("- **{name}**")));
    let paths = map.lines().flat_map(|(number, line)| crates_in(line).map(move |name| (number, name)));
    let deleted = paths.filter(|(_, name)| !crates.contains(name));
    let not_on_map =
        |name: &&str| Finding::new(MAP, 1, format!("has no entry `- **{name}**: …`; say what that crate is for"));
    let not_there = |(line, name): (usize, &str)| {
        Finding::new(MAP, line, format!("names `crates/{name}`, which does not exist; correct the map"))
    };
    missing.map(not_on_map).chain(deleted.map(not_there)).collect()
}

/// The crates a line names as `crates/NAME`.
fn crates_in(line: &str) -> impl Iterator<Item = &str> {
    let name =
        |rest: &'_ str| rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-')).unwrap_or(rest.len());
    line.match_indices("crates/")
        .map(|(at, word)| &line[at + word.len()..])
        .map(move |rest| &rest[..name(rest)])
        .filter(|n| !n.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(map: &str) -> Vec<String> {
        let files = [File::new("crates/model/Cargo.toml", ""), File::new(MAP, map)];
        check(&files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_crate_on_the_map_is_fine() {
        assert!(found("- **model**: the vocabulary, in `crates/model/src`. See `crates/*`.\n").is_empty());
    }

    #[test]
    fn a_crate_that_is_not_on_the_map_is_found() {
        assert_eq!(
            found("- **models**: in `crates/model`\n"),
            ["ARCHITECTURE.md:1: has no entry `- **model**: …`; say what that crate is for"]
        );
    }

    #[test]
    fn a_crate_that_was_deleted_is_found() {
        assert_eq!(
            found("- **model**\n`crates/old/src`\n"),
            ["ARCHITECTURE.md:2: names `crates/old`, which does not exist; correct the map"]
        );
    }

    #[test]
    fn no_map_is_found() {
        assert_eq!(check(&[]).len(), 1);
    }
}
