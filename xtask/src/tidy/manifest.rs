//! Just enough TOML for our own files: tables and one `key = value` a line, with line numbers for findings.
//!
//! It does not read values that span lines, and does not need to: what follows the first line of one has no key of its
//! own at its start. It is here because a real parser would be most of what this program compiles.

/// One `key = value` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    /// From 1.
    pub(super) line: usize,
    /// The header this entry stands under, without brackets; empty before the first.
    pub(super) table: &'a str,
    /// How many headers stand above; tells two `[[tables]]` of one name apart.
    pub(super) table_number: usize,
    /// As written, without quotes; `serde.workspace` stays whole.
    pub(super) key: &'a str,
    pub(super) value: &'a str,
}

impl<'a> Entry<'a> {
    /// The value without its quotes, where it is a plain string.
    pub(super) fn string(&self) -> Option<&'a str> {
        self.value.strip_prefix('"')?.strip_suffix('"')
    }

    /// The value, where it is a whole number.
    pub(super) fn number(&self) -> Option<usize> {
        self.value.replace('_', "").parse().ok()
    }
}

/// The entries of a file, in order.
pub(super) fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    let (mut table, mut table_number) = ("", 0);
    for (index, line) in text.lines().enumerate() {
        let line = without_comment(line).trim();
        if let Some(header) = header(line) {
            (table, table_number) = (header, table_number + 1);
        } else if let Some((key, value)) = key_and_value(line) {
            entries.push(Entry { line: index + 1, table, table_number, key, value });
        }
    }
    entries
}

fn header(line: &str) -> Option<&str> {
    let inside = line.strip_prefix('[')?.strip_suffix(']')?;
    // An element of an array that spans lines may look like a header; a real one holds no comma.
    let inside = inside.strip_prefix('[').and_then(|i| i.strip_suffix(']')).unwrap_or(inside).trim();
    (!inside.contains(',')).then_some(inside)
}

fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = match line.strip_prefix('"') {
        Some(rest) => {
            let (key, rest) = rest.split_once('"')?;
            (key, rest.trim_start().strip_prefix('=')?)
        }
        None => line.split_once('=')?,
    };
    let key = key.trim();
    (!key.is_empty() && !key.starts_with(['{', '}', '[', ']', ','])).then_some((key, value.trim()))
}

fn without_comment(line: &str) -> &str {
    let mut in_string = false;
    let start = line.char_indices().find(|(_, c)| {
        in_string ^= *c == '"';
        *c == '#' && !in_string
    });
    start.map_or(line, |(at, _)| &line[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_keys_quotes_and_comments() {
        let text = "a = 1 # one\n[x.y]\n# nothing\n\"b/c.rs\" = \"#2\"\n[[z]]\nserde.workspace = true\n";
        let entry = |line, table, table_number, key, value| Entry { line, table, table_number, key, value };
        assert_eq!(
            entries(text),
            [
                entry(1, "", 0, "a", "1"),
                entry(4, "x.y", 1, "b/c.rs", "\"#2\""),
                entry(6, "z", 2, "serde.workspace", "true")
            ]
        );
    }

    #[test]
    fn the_rest_of_a_value_over_lines_is_not_a_key() {
        let text = "[dependencies]\nhyper = { version = \"1\", features = [\n  \"full\",\n] }\n";
        assert_eq!(entries(text).iter().map(|e| e.key).collect::<Vec<_>>(), ["hyper"]);
    }
}
