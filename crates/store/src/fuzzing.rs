//! Doors for the fuzz targets in `fuzz/`: the decoders of what lies on disk, and checksums put right, so that a fuzzer gets
//! past them. Compiled with the feature `fuzzing` alone, no part of the API, and without decoders of its own.

use bytes::Bytes;

use crate::contract::{Commit, Hash, Position, StoredCommit};
use crate::frame::{self, FrameHeader, Placement};
use crate::log::Frame;
use crate::segment::{self, SegmentHeader};

pub const FRAME_HEADER_LEN: usize = frame::HEADER_LEN;
pub const SEGMENT_HEADER_LEN: usize = segment::HEADER_LEN;

/// What a frame's header says beyond its commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    pub batch_start: Position,
    pub previous_crc: u32,
    pub frame_len: u64,
}

/// The commit at the beginning of `bytes`, which were read from `position`: as the log reads it.
pub fn decode_frame(position: Position, bytes: &[u8]) -> Option<(Placed, StoredCommit)> {
    let header = FrameHeader::decode(bytes)?;
    let padded = bytes.get(frame::HEADER_LEN..usize::try_from(header.frame_len()).ok()?)?;
    let frame = Frame::checked(header, position, Bytes::copy_from_slice(padded)).ok()?;
    let placed =
        Placed { batch_start: header.batch_start, previous_crc: header.previous_crc, frame_len: header.frame_len() };
    Some((placed, frame.decode().ok()?))
}

/// The bytes of a commit at `position`, and its hash.
pub fn encode_frame(commit: &Commit, position: Position, placed: Placed, previous_hash: Hash) -> (Vec<u8>, Hash) {
    let Placed { batch_start, previous_crc, .. } = placed;
    let mut bytes = Vec::new();
    let (_, hash) = frame::encode(
        &mut bytes,
        commit,
        &frame::Content::of(commit),
        Placement { position, batch_start, previous_crc, previous_hash },
    );
    (bytes, hash)
}

/// Writes a header with right checksums over the beginning of `bytes`, for the body that follows it.
pub fn seal_frame(bytes: &mut [u8], position: Position, placed: Placed, body_len: usize) {
    let end = frame::frame_len(body_len);
    let Some((head, body)) = bytes.get_mut(..end).and_then(|frame| frame.split_at_mut_checked(frame::HEADER_LEN))
    else {
        return;
    };
    head[0..4].copy_from_slice(b"FCT1");
    head[4..8].copy_from_slice(&u32::try_from(body_len).unwrap_or(u32::MAX).to_le_bytes());
    head[8..16].copy_from_slice(&position.to_le_bytes());
    head[16..24].copy_from_slice(&placed.batch_start.to_le_bytes());
    head[24..28].copy_from_slice(&placed.previous_crc.to_le_bytes());
    head[28..32].copy_from_slice(&crc32c::crc32c(body).to_le_bytes());
    head[32..36].copy_from_slice(&frame::zero_sectors(position, body).to_le_bytes());
    let crc = crc32c::crc32c(&head[..36]);
    head[36..40].copy_from_slice(&crc.to_le_bytes());
}

/// Puts right, in a whole segment, the checksum of its header and of every frame that can be reached from it, so that
/// whatever else was changed is believed. The content of headers stays: positions, batches and lengths may be wrong.
pub fn reseal_segment(bytes: &mut [u8]) {
    let Some(head) = bytes.get_mut(..segment::HEADER_LEN) else { return };
    let crc = crc32c::crc32c(&head[..60]);
    head[60..64].copy_from_slice(&crc.to_le_bytes());
    let (mut at, mut previous) = (segment::HEADER_LEN, segment::u32_at(head, 40));
    while let Some(header) = bytes.get(at..at + frame::HEADER_LEN).filter(|header| header.starts_with(b"FCT1")) {
        let end = at.saturating_add(frame::frame_len(segment::u32_at(header, 4) as usize));
        let Some(frame) = bytes.get_mut(at..end) else { return };
        let (head, body) = frame.split_at_mut(frame::HEADER_LEN);
        head[24..28].copy_from_slice(&previous.to_le_bytes());
        head[28..32].copy_from_slice(&crc32c::crc32c(body).to_le_bytes());
        previous = crc32c::crc32c(&head[..36]);
        head[36..40].copy_from_slice(&previous.to_le_bytes());
        at = end;
    }
}

/// First position, capacity, end and checksum of what came before: what a segment's header says, if it is one.
pub fn decode_segment_header(bytes: &[u8; segment::HEADER_LEN]) -> Result<(Position, u64, Position, u32), String> {
    let SegmentHeader { first, capacity, previous_end, previous_crc } = SegmentHeader::decode(bytes)?;
    Ok((first, capacity, previous_end, previous_crc))
}

/// The other way round.
pub fn encode_segment_header(header: (Position, u64, Position, u32)) -> [u8; segment::HEADER_LEN] {
    let (first, capacity, previous_end, previous_crc) = header;
    SegmentHeader { first, capacity, previous_end, previous_crc }.encode()
}

/// The name of the file that begins at a position, and the position that a name says.
pub fn segment_name(first: Position) -> String {
    segment::file_name(first)
}

pub fn segment_first(name: &str) -> Option<Position> {
    segment::first_of(name)
}
