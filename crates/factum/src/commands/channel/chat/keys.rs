//! Bytes of a terminal as keys. Pure: pieces may be cut anywhere, and what is not finished waits for its rest.

/// What was pressed, by what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// Characters, typed or pasted.
    Text(String),
    Enter,
    Backspace,
    Delete,
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    Up,
    Down,
    KillToEnd,
    KillToStart,
    KillWord,
    /// An empty screen.
    Clear,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    EndOfInput,
}

const ESCAPE: u8 = 0x1b;
const PASTE_END: &[u8] = b"\x1b[201~";
/// The longest sequence that is waited for. What is longer is no key.
const SEQUENCE_BYTES_MAX: usize = 32;

/// Remembers what is not finished.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    bytes: Vec<u8>,
    pasting: bool,
}

/// What the bytes begin with.
enum Step {
    Key(Key, usize),
    /// So many bytes that mean nothing here.
    Skip(usize),
    PasteStart(usize),
    More,
}

impl Decoder {
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.bytes.extend_from_slice(bytes);
        let mut keys = Vec::new();
        loop {
            let step = if self.pasting { pasted(&self.bytes) } else { step(&self.bytes) };
            let used = match step {
                Step::More => return keys,
                Step::Skip(used) => used,
                Step::PasteStart(used) => {
                    self.pasting = true;
                    used
                }
                Step::Key(key, used) => {
                    self.pasting = false;
                    keys.push(key);
                    used
                }
            };
            self.bytes.drain(..used);
        }
    }
}

/// Everything up to the end of what is pasted, as one text.
fn pasted(bytes: &[u8]) -> Step {
    let Some(end) = bytes.windows(PASTE_END.len()).position(|window| window == PASTE_END) else { return Step::More };
    let text = String::from_utf8_lossy(&bytes[..end]).replace("\r\n", "\n").replace('\r', "\n");
    Step::Key(Key::Text(text), end + PASTE_END.len())
}

fn step(bytes: &[u8]) -> Step {
    let Some(first) = bytes.first() else { return Step::More };
    let key = match first {
        0x01 => Key::Home,
        0x02 => Key::Left,
        0x03 => Key::Interrupt,
        0x04 => Key::EndOfInput,
        0x05 => Key::End,
        0x06 => Key::Right,
        0x08 | 0x7f => Key::Backspace,
        b'\r' | b'\n' => Key::Enter,
        0x0b => Key::KillToEnd,
        0x0c => Key::Clear,
        0x0e => Key::Down,
        0x10 => Key::Up,
        0x15 => Key::KillToStart,
        0x17 => Key::KillWord,
        &ESCAPE => return escape(bytes),
        0x00..=0x1f => return Step::Skip(1),
        _ => return character(bytes),
    };
    Step::Key(key, 1)
}

fn character(bytes: &[u8]) -> Step {
    let length = match bytes[0] {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    };
    let Some(bytes) = bytes.get(..length) else { return Step::More };
    match std::str::from_utf8(bytes) {
        Ok(text) => Step::Key(Key::Text(text.to_owned()), length),
        Err(_) => Step::Skip(1),
    }
}

fn escape(bytes: &[u8]) -> Step {
    match bytes.get(1) {
        None => Step::More,
        Some(b'[') => control_sequence(bytes),
        Some(b'O') => match bytes.get(2) {
            None => Step::More,
            Some(last) => named(&[], *last).map_or(Step::Skip(3), |key| Step::Key(key, 3)),
        },
        Some(b'b') => Step::Key(Key::WordLeft, 2),
        Some(b'f') => Step::Key(Key::WordRight, 2),
        Some(0x7f) => Step::Key(Key::KillWord, 2),
        // Alt and Enter: a line break inside the message.
        Some(b'\r' | b'\n') => Step::Key(Key::Text("\n".to_owned()), 2),
        Some(&ESCAPE) => Step::Skip(1),
        Some(_) => Step::Skip(2),
    }
}

/// `ESC [`, parameters, and one byte that ends it.
fn control_sequence(bytes: &[u8]) -> Step {
    let Some(end) = bytes.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte)) else {
        return if bytes.len() > SEQUENCE_BYTES_MAX { Step::Skip(2) } else { Step::More };
    };
    let (params, last, used) = (&bytes[2..2 + end], bytes[2 + end], end + 3);
    if (params, last) == (b"200", b'~') {
        return Step::PasteStart(used);
    }
    named(params, last).map_or(Step::Skip(used), |key| Step::Key(key, used))
}

fn named(params: &[u8], last: u8) -> Option<Key> {
    Some(match (params, last) {
        // With Ctrl or Alt held.
        (b"1;5" | b"1;3", b'C') => Key::WordRight,
        (b"1;5" | b"1;3", b'D') => Key::WordLeft,
        (_, b'A') => Key::Up,
        (_, b'B') => Key::Down,
        (_, b'C') => Key::Right,
        (_, b'D') => Key::Left,
        (_, b'H') | (b"1" | b"7", b'~') => Key::Home,
        (_, b'F') | (b"4" | b"8", b'~') => Key::End,
        (b"3", b'~') => Key::Delete,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Key {
        Key::Text(text.to_owned())
    }

    #[test]
    fn keys_are_the_same_however_the_bytes_are_cut() {
        let typed = "aü日\u{1b}[D\u{1b}OC\u{1b}[1;5C\u{1b}[3~\u{1b}[200~x\r\ny\u{1b}[201~\u{7f}\u{1b}b\u{1b}[99q\t\r";
        let expected = vec![
            text("a"),
            text("ü"),
            text("日"),
            Key::Left,
            Key::Right,
            Key::WordRight,
            Key::Delete,
            text("x\ny"),
            Key::Backspace,
            Key::WordLeft,
            Key::Enter,
        ];
        for size in 1..=typed.len() {
            let mut decoder = Decoder::default();
            let keys: Vec<Key> = typed.as_bytes().chunks(size).flat_map(|piece| decoder.feed(piece)).collect();
            assert_eq!(keys, expected, "pieces of {size}");
        }
    }

    #[test]
    fn nonsense_is_passed_over() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.feed(b"\xff\xc3\x28\x00\x1b[?1;2c!"), [text("("), text("!")]);
        let long = [b"\x1b[".as_slice(), &[b'1'; 100]].concat();
        assert_eq!(decoder.feed(&long).len(), 100, "a sequence without an end becomes what it looks like");
    }
}
