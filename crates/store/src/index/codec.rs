//! How keys and values of the derived index are laid out. Private to it: no other file reads these bytes.

use super::{IndexError, StreamEntry};
use crate::contract::{Head, Sequence};
use crate::overlay::Location;
use crate::segment::{u32_at, u64_at};

const HEAD_LEN: usize = 56;
const LOCATION_LEN: usize = 16;
/// Commits whose locations share a row: the row fits its page, next to others.
pub(super) const ROW_LOCATIONS_MAX: usize = 64;

pub(super) fn location_key(number: u64, first: Sequence) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key[8..].copy_from_slice(&first.to_be_bytes());
    key
}

/// The value of commits that follow each other in one stream; its key is that of the first. Not empty.
pub(super) fn encode_locations(locations: &[Location]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(locations.len() * LOCATION_LEN);
    for location in locations {
        bytes.extend_from_slice(&location.position.to_le_bytes());
        bytes.extend_from_slice(&location.frame_len.to_le_bytes());
        bytes.extend_from_slice(&location.count.to_le_bytes());
    }
    bytes
}

pub(super) fn decode_locations(
    (key, value): (&[u8], &[u8]),
) -> Result<impl DoubleEndedIterator<Item = Location>, IndexError> {
    let mut first = [0; 8];
    let whole = key.len() == 16 && !value.is_empty() && value.len().is_multiple_of(LOCATION_LEN);
    if !whole || value.chunks(LOCATION_LEN).any(|bytes| u32_at(bytes, 12) == 0) {
        return Err(IndexError::Malformed("a location is not readable"));
    }
    first.copy_from_slice(&key[8..]);
    let mut next = u64::from_be_bytes(first);
    let decode = |bytes: &[u8]| {
        let (position, frame_len, count) = (u64_at(bytes, 0), u32_at(bytes, 8), u32_at(bytes, 12));
        let first = next;
        next = next.saturating_add(u64::from(count));
        Location { first, count, position, frame_len }
    };
    Ok(value.chunks(LOCATION_LEN).map(decode).collect::<Vec<_>>().into_iter())
}

pub(super) fn encode_head(entry: StreamEntry) -> [u8; HEAD_LEN] {
    let mut bytes = [0; HEAD_LEN];
    bytes[..8].copy_from_slice(&entry.number.to_le_bytes());
    bytes[8..16].copy_from_slice(&entry.head.sequence.to_le_bytes());
    bytes[16..24].copy_from_slice(&entry.head.position.to_le_bytes());
    bytes[24..].copy_from_slice(&entry.head.hash);
    bytes
}

pub(super) fn decode_head(bytes: &[u8]) -> Result<StreamEntry, IndexError> {
    if bytes.len() != HEAD_LEN {
        return Err(IndexError::Malformed("the head of a stream is not readable"));
    }
    let mut hash = [0; 32];
    hash.copy_from_slice(&bytes[24..]);
    let head = Head { sequence: u64_at(bytes, 8), position: u64_at(bytes, 16), hash };
    Ok(StreamEntry { number: u64_at(bytes, 0), head })
}
