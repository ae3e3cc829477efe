//! How keys and values of the derived index are laid out. Private to it: no other file reads these bytes.

use super::{IndexError, StreamEntry};
use crate::contract::{Head, Sequence};
use crate::overlay::Location;
use crate::segment::{u32_at, u64_at};

const HEAD_LEN: usize = 56;
const LOCATION_LEN: usize = 16;

pub(super) fn location_key(number: u64, first: Sequence) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key[8..].copy_from_slice(&first.to_be_bytes());
    key
}

pub(super) fn encode_location(location: &Location) -> [u8; LOCATION_LEN] {
    let mut bytes = [0; LOCATION_LEN];
    bytes[..8].copy_from_slice(&location.position.to_le_bytes());
    bytes[8..12].copy_from_slice(&location.frame_len.to_le_bytes());
    bytes[12..].copy_from_slice(&location.count.to_le_bytes());
    bytes
}

pub(super) fn decode_location((key, value): (&[u8], &[u8])) -> Result<Location, IndexError> {
    if key.len() != 16 || value.len() != LOCATION_LEN || u32_at(value, 12) == 0 {
        return Err(IndexError::Malformed("a location is not readable"));
    }
    let mut first = [0; 8];
    first.copy_from_slice(&key[8..]);
    Ok(Location {
        first: u64::from_be_bytes(first),
        count: u32_at(value, 12),
        position: u64_at(value, 0),
        frame_len: u32_at(value, 8),
    })
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
