//! The items of a batch: one for each line of a file or of stdin, and those given one by one.
//!
//! A line that is JSON is what it says; any other is a text. Empty lines are none.

use std::fs::File;
use std::io::Read;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;

use crate::failure::Problem;

/// The most that is read: more than any server takes in one request.
const ITEMS_BYTES_MAX: u64 = 64 * 1024 * 1024;

// (No doc comment: it would become the subcommand's help.)
#[derive(Debug, Args)]
pub(super) struct ItemArgs {
    /// An item, as JSON or as text; may be given several times.
    #[arg(long = "item", value_name = "ITEM")]
    one: Vec<String>,
    /// Items, one in each line, as JSON or as text; - for stdin.
    #[arg(long = "items", value_name = "FILE")]
    file: Option<String>,
    /// Every item is a text, even where it looks like JSON.
    #[arg(long)]
    text: bool,
}

impl ItemArgs {
    /// Those given one by one, then those of the file.
    pub(super) fn read(&self) -> Result<Vec<Value>> {
        let lines = match self.file.as_deref() {
            None => String::new(),
            Some("-") => read_all(std::io::stdin(), "stdin")?,
            Some(path) => read_all(File::open(path).with_context(|| format!("{path} cannot be read"))?, path)?,
        };
        let words = self.one.iter().map(String::as_str).chain(lines.lines().filter(|line| !line.trim().is_empty()));
        Ok(words.map(|word| item(word, self.text)).collect())
    }
}

/// Where a batch has nothing to do.
pub(super) fn none() -> Problem {
    Problem::cannot_run("there are no items").advice("give --items FILE with one in each line, or --item for each")
}

fn item(word: &str, text: bool) -> Value {
    let json = (!text).then(|| serde_json::from_str(word).ok()).flatten();
    json.unwrap_or_else(|| Value::from(word))
}

fn read_all(from: impl Read, name: &str) -> Result<String> {
    let mut text = String::new();
    from.take(ITEMS_BYTES_MAX + 1).read_to_string(&mut text).with_context(|| format!("{name} cannot be read"))?;
    if text.len() as u64 > ITEMS_BYTES_MAX {
        let problem = Problem::cannot_run(format!("{name} has more than {ITEMS_BYTES_MAX} bytes"));
        return Err(problem.advice("make several jobs of it").into());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_is_json_or_text() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"{\"url\": 1}\n\nplain text\r\n42\n").unwrap();
        let path = Some(file.path().to_str().unwrap().to_owned());
        let mut args = ItemArgs { one: vec!["first".into()], file: path, text: false };
        assert_eq!(args.read().unwrap(), [json!("first"), json!({ "url": 1 }), json!("plain text"), json!(42)]);
        args.text = true;
        assert_eq!(args.read().unwrap()[3], json!("42"));
        args.file = Some("/nowhere/items".into());
        assert!(args.read().unwrap_err().to_string().contains("/nowhere/items cannot be read"));
    }
}
