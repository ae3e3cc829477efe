//! Writing JSON where everything goes through: facts, rows of the index, answers.
//!
//! Byte for byte what `serde_json` writes, for less of its work: texts are looked through sixteen bytes at a time
//! (nearly all of what is written here is names and ids, which need no escaping), and everything goes straight into one buffer.
//! Reading is left to `serde_json`; so are numbers with a fraction.

mod encoded;
mod key;
mod text;
mod writer;

#[cfg(test)]
mod tests;

use serde::Serialize;

pub use encoded::Encoded;
pub use text::{put_plain, put_text};
use writer::Writer;

/// Why something cannot be written: it said so itself, or a map has keys that are no texts.
pub type Error = serde_json::Error;

/// Appends `value` to `out`. Where that fails, part of it may stand there.
pub fn put<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) -> Result<(), Error> {
    value.serialize(&mut Writer(out))
}
