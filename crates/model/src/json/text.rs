//! Texts: quoted, and escaped where they have to be.
//!
//! Most are names and ids of a few dozen bytes that need no escaping. So they are looked through sixteen bytes at a time, and
//! copied as they are.

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

/// Control characters, quotes and backslashes. To flip the bit 2 leaves the control characters among themselves and makes a
/// quote the one behind them, so that one comparison finds both.
#[inline]
fn needs_escape(byte: u8) -> bool {
    (byte ^ 2 <= 0x20) | (byte == b'\\')
}

/// Whether none of these bytes needs one. Without a way out in between, so that they are looked at all at once.
#[inline]
fn is_plain_chunk(chunk: &[u8; 16]) -> bool {
    !chunk.iter().fold(false, |found, byte| found | needs_escape(*byte))
}

/// The same of two halves of one. Subtracting borrows into a byte's highest bit exactly where it was less than what is
/// subtracted; a borrow from below only ever follows a byte that was found already.
#[inline]
fn are_plain_words(first: u64, last: u64) -> bool {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let found = |word: u64| {
        let low = (word ^ (EACH * 2)).wrapping_sub(EACH * 0x21);
        let backslash = (word ^ (EACH * 0x5c)).wrapping_sub(EACH);
        (low | backslash) & !word
    };
    (found(first) | found(last)) & (EACH * 0x80) == 0
}

/// What does not fit into chunks is looked at with some of its bytes twice.
#[inline]
fn is_plain(bytes: &[u8]) -> bool {
    if let Some(last) = bytes.last_chunk::<16>() {
        let (chunks, _) = bytes.as_chunks::<16>();
        for chunk in chunks {
            if !is_plain_chunk(chunk) {
                return false;
            }
        }
        is_plain_chunk(last)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        are_plain_words(u64::from_le_bytes(*first), u64::from_le_bytes(*last))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        let word = u64::from(first) | u64::from(last) << 32;
        are_plain_words(word, word)
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
