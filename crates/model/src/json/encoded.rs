//! JSON that was written already: what a command answers, on its way to whoever asked.

use serde::Serialize;
use serde::ser::Error as _;

use super::{Error, put};

/// Room for most answers, so that they are written without moving.
const USUAL_BYTES: usize = 512;

/// A value as the text that stands for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded(String);

impl Encoded {
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, Error> {
        let mut text = Vec::with_capacity(USUAL_BYTES);
        put(&mut text, value)?;
        String::from_utf8(text).map(Self).map_err(Error::custom)
    }

    pub fn get(&self) -> &str {
        &self.0
    }

    pub fn into_text(self) -> String {
        self.0
    }
}
