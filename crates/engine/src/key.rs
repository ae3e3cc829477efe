//! Keys of the store's ordered index: how the rules below name what they look up.
//!
//! A key is a table name and some parts. Texts end with a zero byte (ids and accounts never hold one), numbers are eight
//! big-endian bytes, so the byte order of keys is the order of their parts.

use factum_model::{Timestamp, json};
use serde::Serialize;

/// A change of the index, in the words of the engine; the shell hands it to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexChange {
    Put { key: Vec<u8>, value: Vec<u8> },
    Delete { key: Vec<u8> },
}

/// Room for most keys and rows: to grow would cost more than what is left over, which nobody keeps.
const KEY_BYTES: usize = 160;
const ROW_BYTES: usize = 1_280;

/// A row as it is stored. Rows are plain structs of texts and numbers: writing them as JSON cannot fail.
pub(crate) fn row_bytes(row: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ROW_BYTES);
    match json::put(&mut bytes, row) {
        Ok(()) => bytes,
        Err(_) => Vec::new(),
    }
}

/// Builds a key part by part.
#[derive(Clone, Debug)]
pub struct Key(Vec<u8>);

impl Key {
    pub fn table(name: &'static str) -> Self {
        Self(Vec::with_capacity(KEY_BYTES)).text(name)
    }

    /// Parts to put behind a prefix that was made before.
    pub(crate) fn bare() -> Self {
        Self(Vec::with_capacity(64))
    }

    pub fn text(mut self, text: &str) -> Self {
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
        self
    }

    pub fn number(mut self, number: u64) -> Self {
        self.0.extend_from_slice(&number.to_be_bytes());
        self
    }

    /// An instant, oldest first.
    pub fn instant(self, at: Timestamp) -> Self {
        self.number(millis(at))
    }

    /// An instant, newest first.
    pub fn instant_reversed(self, at: Timestamp) -> Self {
        self.number(u64::MAX - millis(at))
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

fn millis(at: Timestamp) -> u64 {
    u64::try_from(at.as_millisecond()).unwrap_or(0)
}

/// Reads the parts of a key back, in the order they were written.
pub struct KeyReader<'a>(&'a [u8]);

impl<'a> KeyReader<'a> {
    pub fn new(key: &'a [u8]) -> Self {
        Self(key)
    }

    /// The next text, or `None` where the key is not of that shape.
    pub fn text(&mut self) -> Option<&'a str> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let (text, rest) = self.0.split_at(end);
        self.0 = rest.get(1..)?;
        std::str::from_utf8(text).ok()
    }

    /// What was not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_be_bytes(*number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_like_their_parts_and_read_back() {
        let key = |text: &str, number| Key::table("t").text(text).number(number).into_bytes();
        let mut keys = vec![key("b", 1), key("a", 2), key("a", 1), key("ab", 0)];
        keys.sort();
        assert_eq!(keys, vec![key("a", 1), key("a", 2), key("ab", 0), key("b", 1)]);
        let bytes = key("ab", 7);
        let mut reader = KeyReader::new(&bytes);
        assert_eq!(
            (reader.text(), reader.text(), reader.number(), reader.number()),
            (Some("t"), Some("ab"), Some(7), None)
        );
    }
}
