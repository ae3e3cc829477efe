//! Links between the documents lead somewhere: to a file or folder of the repository, and to a heading that is there.
//!
//! Addresses on the web are not visited.

use std::collections::BTreeSet;

use super::Finding;
use super::tree::File;

pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let pages = files.iter().filter(|file| is_page(&file.path));
    pages
        .flat_map(|page| {
            links(&page.text).into_iter().filter_map(|(line, link)| fault(files, &paths, page, line, link))
        })
        .collect()
}

fn is_page(path: &str) -> bool {
    path.ends_with(".md")
}

fn fault(files: &[File], paths: &BTreeSet<&str>, page: &File, line: usize, link: &str) -> Option<Finding> {
    let (target, heading) = link.split_once('#').unwrap_or((link, ""));
    let path = if target.is_empty() { Some(page.path.clone()) } else { resolve(&page.path, target) };
    let found = path.as_deref().filter(|path| exists(paths, path));
    let Some(path) = found else {
        let message = format!("the link to `{link}` leads nowhere; correct the path or write the page");
        return Some(Finding::new(&page.path, line, message));
    };
    if heading.is_empty() || !is_page(path) {
        return None;
    }
    let there = files.iter().find(|file| file.path == path).is_some_and(|file| headings(&file.text).contains(heading));
    let message = format!("`{path}` has no heading `#{heading}`; link to one it has");
    (!there).then(|| Finding::new(&page.path, line, message))
}

/// A file, a folder that holds one, or the root itself.
fn exists(paths: &BTreeSet<&str>, path: &str) -> bool {
    let folder = format!("{path}/");
    path.is_empty() || paths.contains(path) || paths.iter().any(|other| other.starts_with(&folder))
}

/// The path a link means, from the root. `None` where it leaves the repository.
fn resolve(page: &str, target: &str) -> Option<String> {
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let base = if target.starts_with('/') { "" } else { folder };
    let mut parts: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The links of a page that stay in the repository, with their lines. Code is not looked at.
fn links(text: &str) -> Vec<(usize, &str)> {
    let prose = prose(text);
    let inline = prose.iter().flat_map(|(number, line)| targets(line).into_iter().map(|target| (*number, target)));
    inline.filter(|(_, target)| !is_elsewhere(target)).collect()
}

/// The lines outside fenced code.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut in_code = false;
    let outside = |(_, line): &(usize, &str)| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence
    };
    text.lines().enumerate().map(|(index, line)| (index + 1, line)).filter(outside).collect()
}

/// What the links of a line point at: `[text](target)` and `[name]: target`.
fn targets(line: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    if let Some((_, target)) = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")) {
        targets.push(target);
    }
    for (at, _) in line.match_indices("](") {
        let in_code = line[..at].matches('`').count() % 2 == 1;
        let target = line[at + 2..].split_once(')').map(|(target, _)| target);
        targets.extend(target.filter(|_| !in_code));
    }
    // A title may follow the target.
    targets.into_iter().filter_map(|target| target.split_whitespace().next()).collect()
}

fn is_elsewhere(target: &str) -> bool {
    target.contains("://") || target.starts_with("mailto:")
}

/// The anchors of a page's headings: lower case, spaces as hyphens, no other punctuation.
fn headings(text: &str) -> BTreeSet<String> {
    let titles = prose(text)
        .into_iter()
        .filter(|(_, line)| line.starts_with('#'))
        .map(|(_, line)| line.trim_matches(['#', ' ']));
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let anchor =
        |title: &str| title.to_lowercase().chars().filter(kept).map(|c| if c == ' ' { '-' } else { c }).collect();
    titles.map(anchor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let files = [
            File::new("README.md", "# Factum\n\n## What it is, briefly\n"),
            File::new("crates/model/src/lib.rs", ""),
            File::new("docs/recipes/a.md", text),
        ];
        check(&files).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn links_that_lead_somewhere_are_fine() {
        let text = "\
            [up](../../README.md) [heading](../../README.md#what-it-is-briefly) [folder](../../crates/model)\n\
            [web](https://example.invalid/x) [here](#here) [root](/README.md \"title\")\n\
            `[code](nowhere.md)`\n\
            ```\n[code](nowhere.md)\n```\n\
            # Here\n\
            [name]: ../recipes/a.md\n";
        assert_eq!(found(text), Vec::<String>::new());
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        for text in ["[x](b.md)", "[x](../../../outside.md)", "[x]: b.md", "a [x](a.md) and [y](b.md)"] {
            assert_eq!(found(text).len(), 1, "{text}");
            assert!(found(text)[0].contains("leads nowhere"), "{text}");
        }
    }

    #[test]
    fn a_heading_that_is_not_there_is_found() {
        assert_eq!(
            found("[x](../../README.md#elsewhere)"),
            ["`README.md` has no heading `#elsewhere`; link to one it has"]
        );
    }
}
