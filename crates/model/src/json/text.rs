//! Texts: quoted, and escaped where they have to be.
//!
//! Most are names and ids of a few dozen bytes that need no escaping. So they are looked through a word at a time, and copied
//! as they are.

/// Appends a text in its quotes.
pub fn put_text(out: &mut Vec<u8>, text: &str) {
    if is_plain(text.as_bytes()) {
        return put_plain(out, text);
    }
    out.push(b'"');
    put_each(out, text.as_bytes());
    out.push(b'"');
}

/// The same for a text that is known to need no escaping: an id, or a name of ours.
pub fn put_plain(out: &mut Vec<u8>, text: &str) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

/// Appends what stands between the quotes.
pub(super) fn put_escaped(out: &mut Vec<u8>, text: &str) {
    if is_plain(text.as_bytes()) {
        out.extend_from_slice(text.as_bytes());
    } else {
        put_each(out, text.as_bytes());
    }
}

fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Whether none of eight bytes needs one. Subtracting borrows into a byte's highest bit exactly where it was less than what is
/// subtracted; a borrow from below only ever follows a byte that was found already.
fn is_plain_word(word: u64) -> bool {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let below = |word: u64, least: u64| word.wrapping_sub(EACH * least) & !word;
    let is = |byte: u8| below(word ^ (EACH * u64::from(byte)), 1);
    (below(word, 0x20) | is(b'"') | is(b'\\')) & (EACH * 0x80) == 0
}

fn is_plain(bytes: &[u8]) -> bool {
    // The end of a text is looked at with some bytes before it.
    if let Some(last) = bytes.last_chunk::<8>() {
        let (words, _) = bytes.as_chunks::<8>();
        words.iter().chain([last]).all(|word| is_plain_word(u64::from_le_bytes(*word)))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let word = u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32;
        is_plain_word(word)
    } else {
        !bytes.iter().any(|byte| needs_escape(*byte))
    }
}

fn put_each(out: &mut Vec<u8>, bytes: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut from = 0;
    for (at, &byte) in bytes.iter().enumerate().filter(|(_, byte)| needs_escape(**byte)) {
        out.extend_from_slice(&bytes[from..at]);
        from = at + 1;
        let short = match byte {
            0x08 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            0x0c => b'f',
            b'\r' => b'r',
            b'"' | b'\\' => byte,
            _ => {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', short]);
    }
    out.extend_from_slice(&bytes[from..]);
}
