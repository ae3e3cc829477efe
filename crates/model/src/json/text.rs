//! Texts: quoted, and escaped where they have to be.
//!
//! Most are names and ids of a few dozen bytes: what they cost is deciding and calling, not copying. So they are looked
//! through a word at a time, and the short ones are put down in pieces of a fixed size, which need no call.

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
    let bytes = text.as_bytes();
    let end = out.len() + bytes.len() + 2;
    if bytes.len() <= SHORT_MAX {
        let mut piece = [b'"'; SHORT_MAX + 2];
        copy_short(&mut piece[1..=SHORT_MAX], bytes);
        piece[bytes.len() + 1] = b'"';
        out.extend_from_slice(&piece);
        out.truncate(end);
    } else {
        out.reserve(bytes.len() + 2);
        out.push(b'"');
        out.extend_from_slice(bytes);
        out.push(b'"');
    }
    debug_assert_eq!(out.len(), end);
}

/// Appends what stands between the quotes.
pub(super) fn put_escaped(out: &mut Vec<u8>, text: &str) {
    if is_plain(text.as_bytes()) {
        out.extend_from_slice(text.as_bytes());
    } else {
        put_each(out, text.as_bytes());
    }
}

/// The longest text that is put down as one piece of a fixed size.
const SHORT_MAX: usize = 62;

/// Puts up to [`SHORT_MAX`] bytes at the start of a room for as many. Two pieces that may overlap make any length between one
/// and two of them.
fn copy_short(room: &mut [u8], bytes: &[u8]) {
    let len = bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk::<32>(), bytes.last_chunk::<32>()) {
        room[..32].copy_from_slice(first);
        room[len - 32..len].copy_from_slice(last);
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<16>(), bytes.last_chunk::<16>()) {
        room[..16].copy_from_slice(first);
        room[len - 16..len].copy_from_slice(last);
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        room[..8].copy_from_slice(first);
        room[len - 8..len].copy_from_slice(last);
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        room[..4].copy_from_slice(first);
        room[len - 4..len].copy_from_slice(last);
    } else {
        room.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
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
