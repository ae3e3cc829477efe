//! The changelog always has a place for what comes next.

use super::Finding;
use super::tree::File;

const CHANGELOG: &str = "CHANGELOG.md";

pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let log = files.iter().find(|file| file.path == CHANGELOG);
    let has_section = log.is_some_and(|file| file.lines().any(|(_, line)| is_unreleased(line)));
    let message = "has no Unreleased section; add `## Unreleased` above the newest release";
    if has_section { Vec::new() } else { vec![Finding::new(CHANGELOG, 1, message)] }
}

fn is_unreleased(line: &str) -> bool {
    line.strip_prefix("## ").is_some_and(|title| title.trim_matches(['[', ']', ' ']) == "Unreleased")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_is_asked_for() {
        let found = |text: &str| check(&[File::new(CHANGELOG, text)]).len();
        assert_eq!(found("# Changelog\n\n## Unreleased\n"), 0);
        assert_eq!(found("# Changelog\n\n## [Unreleased]\n"), 0);
        assert_eq!(found("# Changelog\n\nUnreleased\n\n## 1.0\n"), 1);
        assert_eq!(check(&[]).len(), 1);
    }
}
