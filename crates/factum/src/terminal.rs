//! What is known of the terminal that data goes to: its size, and whether it knows more letters than ASCII.

use std::io;

use rustix::termios::tcgetwinsize;

/// The size of a terminal that does not say.
const COLUMNS: usize = 80;
const ROWS: usize = 24;

/// How wide the terminal is.
pub(crate) fn columns() -> usize {
    size().map_or(COLUMNS, |(columns, _)| columns)
}

/// How many lines it shows.
pub(crate) fn rows() -> usize {
    size().map_or(ROWS, |(_, rows)| rows)
}

fn size() -> Option<(usize, usize)> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col.into(), size.ws_row.into()))
}

/// Whether the locale is one of UTF-8.
#[allow(clippy::disallowed_methods, reason = "the locale is a setting of the person, not of the program")]
pub(crate) fn is_utf8() -> bool {
    let variables = ["LC_ALL", "LC_CTYPE", "LANG"].map(|name| std::env::var(name).ok());
    says_utf8(variables.iter().flatten().map(String::as_str))
}

/// The first that is set decides, as POSIX has it.
fn says_utf8<'a>(mut variables: impl Iterator<Item = &'a str>) -> bool {
    let locale = variables.find(|value| !value.is_empty()).unwrap_or_default().to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_names_the_locale() {
        for (variables, expected) in [
            (vec![], false),
            (vec!["", "de_AT.UTF-8"], true),
            (vec!["C", "de_AT.UTF-8"], false),
            (vec!["C.utf8"], true),
            (vec!["de_AT@euro"], false),
        ] {
            assert_eq!(says_utf8(variables.iter().copied()), expected, "{variables:?}");
        }
    }
}
