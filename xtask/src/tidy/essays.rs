//! Every source file opens with `//!`: what it owns, what it does not, the invariant it keeps.

use super::Finding;
use super::tree::File;

pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let without = |file: &&File| is_source(&file.path) && !file.text.starts_with("//!");
    let finding = |file: &File| {
        Finding::new(
            &file.path,
            1,
            "does not open with `//!`; say in a sentence what this file owns and what it does not",
        )
    };
    files.iter().filter(without).map(finding).collect()
}

fn is_source(path: &str) -> bool {
    let in_crate = path
        .strip_prefix("crates/")
        .and_then(|rest| rest.split_once('/'))
        .is_some_and(|(_, inside)| inside.starts_with("src/"));
    let elsewhere = ["xtask/src/", "fuzz/"].iter().any(|folder| path.starts_with(folder));
    path.ends_with(".rs") && (in_crate || elsewhere)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_file_without_an_essay_is_found() {
        let files = [
            File::new("crates/model/src/id.rs", "use std::fmt;\n//! Too late.\n"),
            File::new("crates/model/src/lib.rs", "//! Words.\n"),
            File::new("crates/model/tests/it.rs", "use std::fmt;\n"),
            File::new("xtask/src/main.rs", "fn main() {}\n"),
            File::new("fuzz/fuzz_targets/event.rs", "#![no_main]\n"),
        ];
        let found: Vec<String> = check(&files).into_iter().map(|f| f.path).collect();
        assert_eq!(found, ["crates/model/src/id.rs", "xtask/src/main.rs", "fuzz/fuzz_targets/event.rs"]);
    }
}
