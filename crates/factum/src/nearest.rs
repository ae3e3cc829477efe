//! The nearest known word to one that is not known.

/// `; did you mean "say"?` where a known word is close, else nothing.
pub(crate) fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or_else(String::new, |known| format!("; did you mean {known:?}?"))
}

/// The longest word, in bytes, that is compared letter by letter. Nobody mistypes a longer one.
const WORD_BYTES_MAX: usize = 64;

/// The closest of the known words, if it is close enough to be meant.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > WORD_BYTES_MAX {
        return None;
    }
    let tolerated = 1 + word.chars().count() / 3;
    let scored = known.into_iter().map(|known| (distance(&word.to_lowercase(), &known.to_lowercase()), known));
    scored.min().filter(|(distance, _)| *distance <= tolerated).map(|(_, known)| known)
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
    fn a_slip_is_recognised_and_another_word_is_not() {
        let known = ["submit_turn", "interrupt_turn", "get_session"];
        for (word, expected) in [
            ("sumbit_turn", Some("submit_turn")),
            ("SubmitTurn", Some("submit_turn")),
            ("get_sessions", Some("get_session")),
            ("delete_everything", None),
            ("", None),
            (&"x".repeat(10_000_000), None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }
}
