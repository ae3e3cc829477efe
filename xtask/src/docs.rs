//! `cargo xtask docs`: the reference pages, which the binary writes from its own registry.
//!
//! The pages are committed so that they can be read without building anything; the check keeps them from lying.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::shell;

const REFERENCE: &str = "docs/reference";

/// Writes the pages where they are committed.
pub(crate) fn write() -> Result<()> {
    generate(&shell::root().join(REFERENCE))
}

/// Writes the pages to a scratch folder and compares.
pub(crate) fn check() -> Result<()> {
    let fresh = shell::target_dir().join("xtask/reference");
    if fresh.exists() {
        fs::remove_dir_all(&fresh).with_context(|| format!("cannot clear {}", fresh.display()))?;
    }
    generate(&fresh)?;
    let findings = compare(&pages(&shell::root().join(REFERENCE))?, &pages(&fresh)?);
    for finding in &findings {
        println!("{finding}");
    }
    if !findings.is_empty() {
        bail!("{} of the pages in {REFERENCE} are out of date; run `cargo xtask docs` and commit them", findings.len());
    }
    Ok(())
}

fn generate(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let mut command = shell::cargo(&["run", "--quiet", "--package", "factum", "--", "reference", "--dir"]);
    shell::run(command.arg(dir)).context("the binary's `reference` subcommand did not write the pages")?;
    if pages(dir)?.is_empty() {
        bail!("`factum reference --dir {}` succeeded and wrote nothing", dir.display());
    }
    Ok(())
}

/// A page: its name and what is in it.
type Page = (String, Vec<u8>);

/// The files of one folder. The reference has no folders inside.
fn pages(dir: &Path) -> Result<BTreeSet<Page>> {
    let Ok(entries) = fs::read_dir(dir) else { return Ok(BTreeSet::new()) };
    let page = |entry: fs::DirEntry| -> Result<Page> {
        let bytes = fs::read(entry.path()).with_context(|| format!("cannot read {}", entry.path().display()))?;
        Ok((entry.file_name().to_string_lossy().into_owned(), bytes))
    };
    entries.map(|entry| page(entry?)).collect()
}

fn compare(committed: &BTreeSet<Page>, fresh: &BTreeSet<Page>) -> Vec<String> {
    let names: BTreeSet<&str> = committed.symmetric_difference(fresh).map(|(name, _)| name.as_str()).collect();
    let find = |pages: &'_ BTreeSet<Page>, name: &str| pages.iter().find(|(n, _)| n == name).map(|(_, b)| b.clone());
    let finding = |name: &str| match (find(committed, name), find(fresh, name)) {
        (Some(old), Some(new)) => {
            format!("{REFERENCE}/{name}:{}: differs from what the binary writes", first_difference(&old, &new))
        }
        (Some(_), None) => format!("{REFERENCE}/{name}:1: is no longer written by the binary; delete it"),
        _ => format!("{REFERENCE}/{name}:1: is written by the binary and not committed"),
    };
    names.into_iter().map(finding).collect()
}

/// The number of the first line that differs.
fn first_difference(old: &[u8], new: &[u8]) -> usize {
    let mut pairs = old.split(|b| *b == b'\n').zip(new.split(|b| *b == b'\n'));
    1 + pairs.position(|(a, b)| a != b).unwrap_or_else(|| {
        let lines = |bytes: &[u8]| bytes.iter().filter(|b| **b == b'\n').count();
        lines(old).min(lines(new))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(pages: &[(&str, &str)]) -> BTreeSet<Page> {
        pages.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn current_pages_give_no_findings() {
        let pages = set(&[("a.md", "one\n")]);
        assert!(compare(&pages, &pages).is_empty());
    }

    #[test]
    fn changed_missing_and_left_over_pages_are_named() {
        let committed = set(&[("a.md", "one\ntwo\n"), ("old.md", "x")]);
        let fresh = set(&[("a.md", "one\n2\n"), ("new.md", "y")]);
        assert_eq!(
            compare(&committed, &fresh),
            [
                "docs/reference/a.md:2: differs from what the binary writes",
                "docs/reference/new.md:1: is written by the binary and not committed",
                "docs/reference/old.md:1: is no longer written by the binary; delete it",
            ]
        );
    }

    #[test]
    fn a_page_that_only_grew_differs_at_its_end() {
        assert_eq!(first_difference(b"one\n", b"one\ntwo\n"), 2);
    }
}
