//! The header of a segment file and the arithmetic of positions.
//!
//! A position is a byte offset in the whole log: a segment's first position plus an offset in its file. The next
//! segment begins where this one's capacity ends, so the file that holds a position is found by name alone.
//!
//! ```text
//!  offset  size  segment header, little endian
//!       0     8  magic "FACTSEG\0"
//!       8     4  format version
//!      12     4  zero
//!      16     8  first position
//!      24     8  capacity in bytes: the file's length, from the first moment to the last
//!      32     8  position right behind the last frame of the segment before; 0 in the first segment
//!      40     4  header checksum of that frame; 0 in the first segment
//!      44    16  zero
//!      60     4  crc32c of the 60 bytes before
//!      64        frames, back to back, then zeros up to the capacity
//! ```
//!
//! The two fields about the segment before are what names a missing or swapped file. A segment is written full of
//! zeros and synced under another name before it gets its own, so a file with its name is never short, except by damage.

use crate::contract::Position;

pub(crate) const HEADER_LEN: usize = 64;
/// Capacities are multiples of this, so that a position and its file offset agree modulo the sector size.
pub(crate) const CAPACITY_UNIT: u64 = 4096;
/// The largest capacity ever written; anything beyond it in a header is damage, not a size to allocate.
const CAPACITY_MAX: u64 = 1 << 32;
/// The version this build writes, in `FORMAT` and in each segment.
pub(crate) const FORMAT_VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"FACTSEG\0";

/// Where a segment stands and what came before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) first: Position,
    pub(crate) capacity: u64,
    pub(crate) previous_end: Position,
    pub(crate) previous_crc: u32,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.capacity.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.previous_end.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.previous_crc.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..60]);
        bytes[60..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Says in words what is wrong where the bytes are not a header of this version.
    pub(crate) fn decode(bytes: &[u8; HEADER_LEN]) -> Result<Self, String> {
        if bytes[0..8] != MAGIC {
            return Err("the file does not begin like a log segment".into());
        }
        if crc32c::crc32c(&bytes[..60]) != u32_at(bytes, 60) {
            return Err("the checksum of the segment header is wrong".into());
        }
        let version = u32_at(bytes, 8);
        if version != FORMAT_VERSION {
            return Err(format!("the segment has format {version}, this build reads format {FORMAT_VERSION}"));
        }
        let header = Self {
            first: u64_at(bytes, 16),
            capacity: u64_at(bytes, 24),
            previous_end: u64_at(bytes, 32),
            previous_crc: u32_at(bytes, 40),
        };
        if !header.capacity.is_multiple_of(CAPACITY_UNIT) || header.capacity == 0 || header.capacity > CAPACITY_MAX {
            return Err(format!("the segment header names a capacity of {} bytes", header.capacity));
        }
        Ok(header)
    }
}

/// The name of the segment that begins at `first`.
pub(crate) fn file_name(first: Position) -> String {
    format!("{first:020}.seg")
}

/// The first position of the segment with this name, if it is a segment's name.
pub(crate) fn first_of(file_name: &str) -> Option<Position> {
    let digits = file_name.strip_suffix(".seg")?;
    (digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok())?
}

/// The capacity of the segment after one of `previous` bytes, large enough for a frame of `needed` bytes.
pub(crate) fn next_capacity(previous: u64, max: u64, needed: u64) -> u64 {
    let planned = previous.saturating_mul(2).min(max).max(CAPACITY_UNIT);
    let least = (needed + HEADER_LEN as u64).next_multiple_of(CAPACITY_UNIT);
    planned.next_multiple_of(CAPACITY_UNIT).max(least)
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    let mut array = [0; 2];
    array.copy_from_slice(&bytes[at..at + 2]);
    u16::from_le_bytes(array)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut array = [0; 4];
    array.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(array)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut array = [0; 8];
    array.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(array)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_carry_positions() {
        assert_eq!(file_name(1 << 20), "00000000000001048576.seg");
        assert_eq!(first_of("00000000000001048576.seg"), Some(1 << 20));
        assert_eq!(first_of("1048576.seg"), None);
        assert_eq!(first_of("0000000000000104857x.seg"), None);
        assert_eq!(first_of("next.tmp"), None);
    }

    #[test]
    fn capacities_double_and_fit() {
        assert_eq!(next_capacity(1 << 20, 64 << 20, 100), 2 << 20);
        assert_eq!(next_capacity(64 << 20, 64 << 20, 100), 64 << 20);
        assert_eq!(next_capacity(4096, 16 << 10, 20_000), 20_480);
    }

    #[test]
    fn every_flipped_bit_of_a_header_is_seen() {
        let header = SegmentHeader { first: 4096, capacity: 8192, previous_end: 4000, previous_crc: 7 };
        let bytes = header.encode();
        assert_eq!(SegmentHeader::decode(&bytes), Ok(header));
        for bit in 0..HEADER_LEN * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(SegmentHeader::decode(&flipped).is_err(), "bit {bit}");
        }
    }
}
