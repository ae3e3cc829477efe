//! No path of one person's machine in any file: what works there works nowhere else.

use super::Finding;
use super::tree::File;

/// Folders at the root of a file system that are somebody's own.
const PRIVATE: &[&str] = &["work", "root", "home"];

pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let lines = files.iter().flat_map(|file| file.lines().map(move |(number, line)| (file, number, line)));
    lines
        .flat_map(|(file, number, line)| paths_in(line).into_iter().map(move |path| finding(file, number, &path)))
        .collect()
}

fn finding(file: &File, line: usize, path: &str) -> Finding {
    let message = format!("`{path}` is a path of one machine; use a path from the repository's root, or a placeholder");
    Finding::new(&file.path, line, message)
}

/// The private folders that a line names from the root of the file system.
fn paths_in(line: &str) -> Vec<String> {
    let needles = PRIVATE.iter().map(|folder| format!("/{folder}/"));
    needles.filter(|needle| line.match_indices(needle.as_str()).any(|(at, _)| starts_at_root(&line[..at]))).collect()
}

/// Whether a slash behind `before` is the root: not the middle of a relative path or of a web address.
fn starts_at_root(before: &str) -> bool {
    let inside_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '}' | ')' | '~' | '*');
    before.ends_with("://") || !before.ends_with(inside_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> usize {
        check(&[File::new("docs/a.md", line)]).len()
    }

    #[test]
    fn absolute_private_paths_are_found() {
        for folder in PRIVATE {
            assert_eq!(found(&format!("see /{folder}/me/notes")), 1);
            assert_eq!(found(&format!("PATH=/usr/bin:/{folder}/me")), 1);
            assert_eq!(found(&format!("(file:///{folder}/me)")), 1);
        }
    }

    #[test]
    fn relative_paths_and_web_addresses_are_not() {
        for folder in PRIVATE {
            assert_eq!(found(&format!("src/{folder}/mod.rs and $DIR}}/{folder}/")), 0);
            assert_eq!(found(&format!("https://{folder}/x and https://a.example/{folder}/x")), 0);
        }
    }
}
