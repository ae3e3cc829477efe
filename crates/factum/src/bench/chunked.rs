//! The chunked coding of HTTP/1.1, taken off again. Pure; trailers are not understood, and our servers send none.

use anyhow::{Result, bail};

/// Where in the coding the last byte stood.
#[derive(Default)]
pub(super) struct Chunked(State);

#[derive(Clone, Copy, Default)]
enum State {
    /// In the digits of a size.
    #[default]
    Start,
    Size(usize),
    /// Behind the size, before the end of its line.
    SizeEnd(usize),
    Data(usize),
    /// In the line break behind the data.
    DataEnd,
    /// The chunk of size nothing: what follows is the end.
    Over,
}

impl Chunked {
    /// Adds what `input` holds to `output`.
    pub(super) fn decode(&mut self, mut input: &[u8], output: &mut Vec<u8>) -> Result<()> {
        while let [byte, rest @ ..] = input {
            if let State::Data(left) = self.0 {
                let taken = left.min(input.len());
                output.extend_from_slice(&input[..taken]);
                input = &input[taken..];
                self.0 = if taken == left { State::DataEnd } else { State::Data(left - taken) };
                continue;
            }
            self.0 = self.0.step(*byte)?;
            input = rest;
        }
        Ok(())
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.0, State::Over)
    }
}

impl State {
    fn step(self, byte: u8) -> Result<State> {
        Ok(match (self, byte) {
            (State::Start, _) => State::Size(digit(byte)?),
            (State::Size(size), b'\r') => State::SizeEnd(size),
            (State::Size(size), _) => State::Size(size.saturating_mul(16).saturating_add(digit(byte)?)),
            (State::SizeEnd(0), b'\n') => State::Over,
            (State::SizeEnd(size), b'\n') => State::Data(size),
            (State::DataEnd, b'\r') => State::DataEnd,
            (State::DataEnd, b'\n') => State::Start,
            (State::Over, _) => State::Over,
            _ => bail!("the server sent a chunk that is none"),
        })
    }
}

fn digit(byte: u8) -> Result<usize> {
    match char::from(byte).to_digit(16) {
        Some(digit) => Ok(digit as usize),
        None => bail!("the server sent a chunk without a size"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_is_the_same_however_the_bytes_are_cut() {
        let coded = b"5\r\nhello\r\n1\r\n \r\nB\r\nbrave world\r\n0\r\n\r\n";
        for size in 1..=coded.len() {
            let (mut chunked, mut content) = (Chunked::default(), Vec::new());
            for piece in coded.chunks(size) {
                chunked.decode(piece, &mut content).unwrap();
            }
            assert_eq!(content, b"hello brave world", "pieces of {size}");
            assert!(chunked.is_over());
        }
        assert!(Chunked::default().decode(b"x\r\n", &mut Vec::new()).is_err());
    }
}
