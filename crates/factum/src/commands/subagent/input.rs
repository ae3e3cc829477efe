//! What is said to a child agent: words, or stdin.

use std::io::Read;

use anyhow::{Context, Result};
use factum_model::value::Part;

use crate::failure::Problem;

/// The words as one text; `-` alone is all of stdin. Nothing where there are none.
pub(super) fn read(words: &[String]) -> Result<Vec<Part>> {
    let text = match words {
        [] => return Ok(Vec::new()),
        [one] if one == "-" => stdin()?,
        words => words.join(" "),
    };
    Ok(vec![Part::Text { text }])
}

/// Without the line break at its end, which belongs to the file and not to what is said.
fn stdin() -> Result<String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("stdin cannot be read")?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.is_empty() {
        return Err(Problem::cannot_run("there is nothing to say").because("stdin is empty").into());
    }
    Ok(text.to_owned())
}
