//! What is wrong with a script, said so that its author can mend it: the file, the entry, the step, what, and what to do.

use std::cell::RefCell;
use std::fmt;

/// How many problems are told at once.
const PROBLEMS_MAX: usize = 20;

/// A script that cannot be used. One line per problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ScriptError {
    pub problems: Vec<String>,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.join("\n"))
    }
}

/// What reading a script collects on the way: its problems, and the names that later steps may use.
pub(super) struct Reading {
    file: String,
    problems: RefCell<Vec<String>>,
    saved: RefCell<Vec<String>>,
}

impl Reading {
    pub(super) fn new(file: &str) -> Self {
        Self { file: file.to_owned(), problems: RefCell::default(), saved: RefCell::default() }
    }

    /// Notes a problem at a place such as `entry 2, step 3`.
    pub(super) fn problem(&self, place: &str, message: impl fmt::Display) {
        self.problems.borrow_mut().push(format!("{} {message}", self.at(place)));
    }

    /// Whether this key of this table was complained about, so that it need not be called missing as well.
    pub(super) fn has_problem_at(&self, place: &str, key: &str) -> bool {
        let wrong = format!("{} {key} ", self.at(place));
        let inside = format!("{}: {place}, {key}", self.file);
        self.problems.borrow().iter().any(|problem| problem.starts_with(&wrong) || problem.starts_with(&inside))
    }

    fn at(&self, place: &str) -> String {
        if place.is_empty() { format!("{}:", self.file) } else { format!("{}: {place}:", self.file) }
    }

    pub(super) fn save(&self, name: &str) {
        self.saved.borrow_mut().push(name.to_owned());
    }

    pub(super) fn is_saved(&self, name: &str) -> bool {
        self.saved.borrow().iter().any(|saved| saved == name)
    }

    pub(super) fn saved(&self) -> Vec<String> {
        self.saved.borrow().clone()
    }

    /// Each entry is a script of its own: what one saves, another does not know.
    pub(super) fn next_entry(&self) {
        self.saved.borrow_mut().clear();
    }

    /// The value, if all went well.
    pub(super) fn finish<T>(self, value: Option<T>) -> Result<T, ScriptError> {
        let mut problems = self.problems.into_inner();
        let more = problems.len().saturating_sub(PROBLEMS_MAX);
        problems.truncate(PROBLEMS_MAX);
        if more > 0 {
            problems.push(format!("{}: and {more} more", self.file));
        }
        match value {
            Some(value) if problems.is_empty() => Ok(value),
            _ => Err(ScriptError { problems }),
        }
    }
}

/// The longest words, in bytes, that are compared letter by letter. Nobody mistypes longer ones, and comparing costs time and
/// memory by the product of their lengths.
const WORD_BYTES_MAX: usize = 64;

/// `; did you mean "say"?` where something close is known, else the known words.
pub(super) fn suggestion<S: AsRef<str>>(word: &str, known: &[S]) -> String {
    let short = known.iter().map(AsRef::as_ref).filter(|known| known.len().max(word.len()) <= WORD_BYTES_MAX);
    let close = short.map(|known| (distance(word, known), known)).min();
    match close {
        Some((distance, known)) if distance <= 1 + word.chars().count() / 3 => format!("; did you mean {known:?}?"),
        _ if !known.is_empty() => {
            let all: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
            format!("; known: {}", all.join(", "))
        }
        _ => String::new(),
    }
}

/// How many letters have to be added, left out, replaced or swapped with their neighbour.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_name_what_is_close_and_list_what_is_not() {
        let known = ["say", "status", "steps"];
        for (word, expected) in [
            ("sya", r#"; did you mean "say"?"#),
            ("state", r#"; did you mean "status"?"#),
            ("Say", r#"; did you mean "say"?"#),
            ("wibble", "; known: say, status, steps"),
        ] {
            assert_eq!(suggestion(word, &known), expected, "{word}");
        }
    }

    #[test]
    fn long_words_are_not_compared_letter_by_letter() {
        let long = "x".repeat(1_000_000);
        assert_eq!(suggestion(&long, &["say"]), "; known: say");
        assert_eq!(suggestion(&long, &[long.as_str()]), format!("; known: {long}"));
    }
}
