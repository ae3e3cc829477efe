//! How a text is said: in which pieces, and how fast.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::step::expected;
use super::table::Table;

/// A word that is longer than this is said in pieces of this many characters, so that no fact gets large.
const PIECE_CHARS_MAX: usize = 1_000;

/// The rhythm of a `say`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    pub cut: Cut,
    pub spread: Spread,
}

/// Where a text is cut. The pieces joined are always the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    Words,
    /// Pieces of this many characters.
    Chars(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// This long between two pieces.
    Between(Duration),
    /// This long for all of them.
    Over(Duration),
}

pub(super) fn read_pace(table: &mut Table<'_>) -> Pace {
    let cut = match table.value("chunk") {
        None => Cut::Words,
        Some(Value::String(word)) if word == "words" => Cut::Words,
        Some(Value::String(word)) if word == "chars" => Cut::Chars(1),
        Some(other) => match other.as_u64().and_then(|chars| usize::try_from(chars).ok()).filter(|chars| *chars > 0) {
            Some(chars) => Cut::Chars(chars),
            None => {
                expected(table, r#"chunk to be "words", "chars" or a number of characters"#, &other);
                Cut::Words
            }
        },
    };
    let between = table.whole("delay_ms");
    let over = table.whole("over_ms");
    if between.is_some() && over.is_some() {
        table.problem("delay_ms and over_ms in one step; keep the one you mean");
    }
    let spread = match over {
        Some(ms) => Spread::Over(Duration::from_millis(ms)),
        None => Spread::Between(Duration::from_millis(between.unwrap_or(0))),
    };
    Pace { cut, spread }
}

impl Pace {
    pub(super) fn takes_no_time(&self) -> bool {
        let (Spread::Between(time) | Spread::Over(time)) = self.spread;
        time.is_zero()
    }

    /// The pieces of a text, each with the time from the start at which it is due. What is spread over a time ends with it.
    pub(super) fn pieces<'t>(&self, text: &'t str) -> Vec<(Duration, &'t str)> {
        let pieces = self.cut.pieces(text);
        let count = u32::try_from(pieces.len()).unwrap_or(u32::MAX);
        let due = |at: u32| match self.spread {
            Spread::Between(delay) => delay.saturating_mul(at),
            Spread::Over(time) => time.saturating_mul(at + 1) / count.max(1),
        };
        (0..count).map(due).zip(pieces).collect()
    }
}

/// Waits until this long after `start`. Even a wait for nothing would cost a tick of the timer, so there is none.
pub(super) async fn sleep_to(start: Instant, due: Duration) {
    if !due.is_zero() {
        tokio::time::sleep_until(start + due).await;
    }
}

impl Cut {
    fn pieces(self, text: &str) -> Vec<&str> {
        match self {
            Cut::Words => {
                let words = text.split_inclusive(char::is_whitespace);
                words.flat_map(|word| Cut::Chars(PIECE_CHARS_MAX).pieces(word)).collect()
            }
            Cut::Chars(size) => {
                let size = size.min(PIECE_CHARS_MAX);
                let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).step_by(size).collect();
                let ends = starts.iter().skip(1).copied().chain([text.len()]);
                starts.iter().zip(ends).map(|(start, end)| &text[*start..end]).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_joined_are_the_text() {
        for (cut, text, expected) in [
            (Cut::Words, "one two  three", vec!["one ", "two ", " ", "three"]),
            (Cut::Words, "", vec![]),
            (Cut::Words, "eins", vec!["eins"]),
            (Cut::Chars(1), "äö", vec!["ä", "ö"]),
            (Cut::Chars(2), "日本語", vec!["日本", "語"]),
            (Cut::Chars(9), "abc", vec!["abc"]),
        ] {
            assert_eq!(cut.pieces(text), expected, "{cut:?} {text:?}");
        }
        let long = "x".repeat(2 * PIECE_CHARS_MAX + 1);
        assert_eq!(Cut::Words.pieces(&long).iter().map(|piece| piece.len()).collect::<Vec<_>>(), [1_000, 1_000, 1]);
    }

    #[test]
    fn a_time_is_spread_to_its_end_and_a_delay_starts_at_once() {
        let ms = Duration::from_millis;
        let over = Pace { cut: Cut::Chars(1), spread: Spread::Over(ms(100)) };
        assert_eq!(over.pieces("abcd"), [(ms(25), "a"), (ms(50), "b"), (ms(75), "c"), (ms(100), "d")]);
        let between = Pace { cut: Cut::Chars(1), spread: Spread::Between(ms(5)) };
        assert_eq!(between.pieces("abc"), [(ms(0), "a"), (ms(5), "b"), (ms(10), "c")]);
    }
}
