//! Frames and headers of the log: what decodes was encoded so, to the byte, and a changed bit is seen. Checksums are put
//! right for most inputs, so that what is behind them is reached.
//!
//! The first byte says what the rest is.

#![no_main]

use factum_store::Commit;
use factum_store::fuzzing::{
    FRAME_HEADER_LEN, Placed, SEGMENT_HEADER_LEN, decode_frame, decode_segment_header, encode_frame,
    encode_segment_header, seal_frame, segment_first, segment_name,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((kind, rest)) = data.split_first() else { return };
    match kind % 5 {
        0 => frame(4096, rest),
        1 => body(rest),
        2 => flipped(rest),
        3 => segment_header(rest),
        _ => name(rest),
    }
});

/// Bytes as they are.
fn frame(position: u64, bytes: &[u8]) {
    let Some((placed, stored)) = decode_frame(position, bytes) else { return };
    let expected = stored.first_sequence - 1;
    let (stream, partition) = (stored.stream, stored.partition);
    let commit = Commit { stream, partition, expected, records: stored.records, index: stored.index };
    let (written, hash) = encode_frame(&commit, position, placed, stored.previous_hash);
    assert_eq!(hash, stored.hash);
    // Two frames that say the same would have two hashes: there is one way to write a commit.
    assert_eq!(written, bytes[..written.len()], "what was read is not what would be written");
    assert_eq!(written.len() as u64, placed.frame_len);
}

/// A header with right checksums in front of any body.
fn body(body: &[u8]) {
    for position in [64, 4096, 4000] {
        let bytes = sealed(position, body);
        frame(position, &bytes);
        assert!(decode_frame(position + 8, &bytes).is_none(), "a frame was read from another place");
    }
}

fn sealed(position: u64, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; FRAME_HEADER_LEN];
    bytes.extend_from_slice(body);
    bytes.resize(FRAME_HEADER_LEN + body.len().next_multiple_of(8), 0);
    let placed = Placed { batch_start: position, previous_crc: 7, frame_len: 0 };
    seal_frame(&mut bytes, position, placed, body.len());
    bytes
}

/// A good frame with one bit changed, which the first bytes pick, is not one any more.
fn flipped(rest: &[u8]) {
    let Some((place, body)) = rest.split_first_chunk::<2>() else { return };
    let mut bytes = sealed(4096, body);
    if decode_frame(4096, &bytes).is_none() {
        return;
    }
    let bit = usize::from(u16::from_le_bytes(*place)) % (bytes.len() * 8);
    bytes[bit / 8] ^= 1 << (bit % 8);
    assert!(decode_frame(4096, &bytes).is_none(), "bit {bit} was overlooked");
}

fn segment_header(rest: &[u8]) {
    let Some(bytes) = rest.first_chunk::<SEGMENT_HEADER_LEN>() else { return };
    if let Ok(header) = decode_segment_header(bytes) {
        assert_eq!(decode_segment_header(&encode_segment_header(header)), Ok(header));
    }
    // The fields alone, behind a right checksum.
    let at = |from: usize| u64::from_le_bytes(bytes[from..from + 8].try_into().unwrap_or_default());
    let header = (at(16), at(24), at(32), at(40) as u32);
    if let Ok(read) = decode_segment_header(&encode_segment_header(header)) {
        assert_eq!(read, header);
        let (_, capacity, ..) = read;
        assert!(capacity > 0 && capacity <= 1 << 32 && capacity % 4096 == 0, "a capacity of {capacity}");
    }
}

fn name(rest: &[u8]) {
    let Ok(name) = std::str::from_utf8(rest) else { return };
    if let Some(first) = segment_first(name) {
        assert_eq!(segment_name(first), name);
    }
}
