//! One commit in the log: a fixed header with two checksums, then the body.
//!
//! ```text
//!  offset  size  frame header, little endian; frames begin at multiples of 8
//!       0     4  magic "FCT1"
//!       4     4  length of the body, without padding
//!       8     8  position of this frame
//!      16     8  position of the first frame written together with this one (its batch)
//!      24     4  header checksum of the frame before it in the log; 0 for the very first
//!      28     4  crc32c of the body and its padding
//!      32     4  how many 512-byte sectors of the body are zero throughout, counted from the first sector that
//!                begins behind the header
//!      36     4  crc32c of the 36 bytes before
//!      40        body, then zeros up to a multiple of 8
//!
//!  offset  size  body
//!       0    32  hash of the commit before it in the same stream; zeros for the first
//!      32     8  sequence of the first record
//!      40     2  length s of the stream's name        42  2  length p of the partition's name
//!      44     4  number n of records                  48  4  number m of index changes
//!      52   s+p  the names
//!           4*n  length of each record
//!           7*m  kind (1 put, 2 delete), key length (2), value length (4) of each index change
//!                the records, back to back
//!                key and value of each index change, back to back
//! ```
//!
//! Each checksum covers what comes before it and the header names the frame before, so one chain of header checksums
//! runs through the whole log: a frame that was moved, swapped or replaced breaks it. The commit's hash is SHA-256 over
//! the hash before it and the SHA-256 of the rest of the body, its content; so each stream is a chain of its own. What is
//! long, the content, is hashed by whoever commits, on as many threads as there are, before the one writer links it.
//!
//! The position of the batch and the count of zero sectors are there for one reader only: the tail check in `tail.rs`
//! that must tell a torn write from damage.

use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::contract::{COMMIT_BYTES_MAX, Commit, Hash, IndexChange, Position, Sequence, StoredCommit};
use crate::segment::{self, u16_at, u32_at, u64_at};

pub(crate) const HEADER_LEN: usize = 40;
pub(crate) const ALIGNMENT: usize = 8;
/// The smallest unit a disk writes whole.
pub(crate) const SECTOR: usize = 512;
const MAGIC: [u8; 4] = *b"FCT1";
const HASH_LEN: usize = 32;
const BODY_FIXED: usize = 52;
const CHANGE_FIXED: usize = 7;
const PUT: u8 = 1;
const DELETE: u8 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) body_len: u32,
    pub(crate) position: Position,
    pub(crate) batch_start: Position,
    pub(crate) previous_crc: u32,
    pub(crate) body_crc: u32,
    pub(crate) zero_sectors: u32,
    /// This header's own checksum: the link that the next frame names.
    pub(crate) crc: u32,
}

impl FrameHeader {
    /// `None` where the bytes are not a frame header, whatever else they are.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < HEADER_LEN || bytes[0..4] != MAGIC {
            return None;
        }
        let header = Self {
            body_len: u32_at(bytes, 4),
            position: u64_at(bytes, 8),
            batch_start: u64_at(bytes, 16),
            previous_crc: u32_at(bytes, 24),
            body_crc: u32_at(bytes, 28),
            zero_sectors: u32_at(bytes, 32),
            crc: u32_at(bytes, 36),
        };
        let intact = crc32c::crc32c(&bytes[..36]) == header.crc
            && header.body_len as usize <= COMMIT_BYTES_MAX
            && header.body_len as usize >= BODY_FIXED;
        intact.then_some(header)
    }

    /// Header, body and padding together.
    pub(crate) fn frame_len(&self) -> u64 {
        frame_len(self.body_len as usize) as u64
    }

    /// Where the next frame begins, if it is in the same segment.
    pub(crate) fn end(&self) -> Position {
        self.position + self.frame_len()
    }

    /// Whether the batch began in this frame's segment and not behind the frame.
    pub(crate) fn is_in_its_batch(&self, segment_first: Position) -> bool {
        (segment_first + segment::HEADER_LEN as u64..=self.position).contains(&self.batch_start)
    }

    /// Whether `padded` is the body this header was made for, padding included.
    pub(crate) fn matches(&self, padded: &[u8]) -> bool {
        crc32c::crc32c(padded) == self.body_crc
    }
}

pub(crate) fn frame_len(body_len: usize) -> usize {
    HEADER_LEN + body_len.next_multiple_of(ALIGNMENT)
}

/// The length of a commit's body: also the measure of how large a commit is.
pub(crate) fn body_len(commit: &Commit) -> usize {
    let records: usize = commit.records.iter().map(|record| 4 + record.len()).sum();
    let index: usize = commit.index.iter().map(|change| CHANGE_FIXED + change_bytes(change)).sum();
    BODY_FIXED + commit.stream.len() + commit.partition.len() + records + index
}

fn change_bytes(change: &IndexChange) -> usize {
    match change {
        IndexChange::Put { key, value } => key.len() + value.len(),
        IndexChange::Delete { key } => key.len(),
    }
}

/// What the log knows about a frame beyond its commit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    pub(crate) position: Position,
    pub(crate) batch_start: Position,
    pub(crate) previous_crc: u32,
    pub(crate) previous_hash: Hash,
}

/// The part of a body that depends on the commit alone: all of it behind the hash before. What is long in it, the records and
/// the index changes, stays where it is until it is written.
pub(crate) struct Content {
    head: Vec<u8>,
    body_len: usize,
    digest: Hash,
}

impl Content {
    /// The commit is within the contract's limits.
    pub(crate) fn of(commit: &Commit) -> Self {
        let mut head = Vec::with_capacity(head_len(commit));
        encode_head(&mut head, commit);
        let mut digest = Sha256::new_with_prefix(&head);
        for piece in pieces(commit) {
            digest.update(piece);
        }
        Self { head, body_len: body_len(commit), digest: digest.finalize().into() }
    }

    /// The length of the frame it makes.
    pub(crate) fn frame_len(&self) -> usize {
        frame_len(self.body_len)
    }
}

/// Appends one frame to `buffer` and returns its header and the commit's hash. `content` is that of the commit.
pub(crate) fn encode(
    buffer: &mut Vec<u8>,
    commit: &Commit,
    content: &Content,
    place: Placement,
) -> (FrameHeader, Hash) {
    let start = buffer.len();
    buffer.reserve(content.frame_len());
    buffer.extend_from_slice(&[0; HEADER_LEN]);
    buffer.extend_from_slice(&place.previous_hash);
    buffer.extend_from_slice(&content.head);
    for piece in pieces(commit) {
        buffer.extend_from_slice(piece);
    }
    let hash = link(&place.previous_hash, &content.digest);
    let body_len = buffer.len() - start - HEADER_LEN;
    buffer.resize(start + frame_len(body_len), 0);
    let (head, body) = buffer[start..].split_at_mut(HEADER_LEN);
    head[0..4].copy_from_slice(&MAGIC);
    head[4..8].copy_from_slice(&(body_len as u32).to_le_bytes());
    head[8..16].copy_from_slice(&place.position.to_le_bytes());
    head[16..24].copy_from_slice(&place.batch_start.to_le_bytes());
    head[24..28].copy_from_slice(&place.previous_crc.to_le_bytes());
    let body_crc = crc32c::crc32c(body);
    head[28..32].copy_from_slice(&body_crc.to_le_bytes());
    let zero_sectors = zero_sectors(place.position, body);
    head[32..36].copy_from_slice(&zero_sectors.to_le_bytes());
    let crc = crc32c::crc32c(&head[..36]);
    head[36..40].copy_from_slice(&crc.to_le_bytes());
    let header = FrameHeader {
        body_len: body_len as u32,
        position: place.position,
        batch_start: place.batch_start,
        previous_crc: place.previous_crc,
        body_crc,
        zero_sectors,
        crc,
    };
    (header, hash)
}

/// The lengths of everything.
fn head_len(commit: &Commit) -> usize {
    let lengths = 4 * commit.records.len() + CHANGE_FIXED * commit.index.len();
    BODY_FIXED - HASH_LEN + commit.stream.len() + commit.partition.len() + lengths
}

fn encode_head(buffer: &mut Vec<u8>, commit: &Commit) {
    buffer.extend_from_slice(&(commit.expected + 1).to_le_bytes());
    buffer.extend_from_slice(&(commit.stream.len() as u16).to_le_bytes());
    buffer.extend_from_slice(&(commit.partition.len() as u16).to_le_bytes());
    buffer.extend_from_slice(&(commit.records.len() as u32).to_le_bytes());
    buffer.extend_from_slice(&(commit.index.len() as u32).to_le_bytes());
    buffer.extend_from_slice(commit.stream.as_bytes());
    buffer.extend_from_slice(commit.partition.as_bytes());
    for record in &commit.records {
        buffer.extend_from_slice(&(record.len() as u32).to_le_bytes());
    }
    for change in &commit.index {
        let (kind, key, value_len) = match change {
            IndexChange::Put { key, value } => (PUT, key, value.len()),
            IndexChange::Delete { key } => (DELETE, key, 0),
        };
        buffer.push(kind);
        buffer.extend_from_slice(&(key.len() as u16).to_le_bytes());
        buffer.extend_from_slice(&(value_len as u32).to_le_bytes());
    }
}

/// What lies behind the head.
fn pieces(commit: &Commit) -> impl Iterator<Item = &[u8]> {
    let index = commit.index.iter().flat_map(|change| match change {
        IndexChange::Put { key, value } => [&key[..], &value[..]],
        IndexChange::Delete { key } => [&key[..], &[]],
    });
    commit.records.iter().map(|record| &record[..]).chain(index)
}

/// The hash of a commit with this body, which is at least as long as its fixed part.
pub(crate) fn hash_of(body: &[u8]) -> Hash {
    let (previous_hash, content) = body.split_at(HASH_LEN.min(body.len()));
    link(previous_hash, &Sha256::digest(content).into())
}

fn link(previous_hash: &[u8], digest: &Hash) -> Hash {
    Sha256::new().chain_update(previous_hash).chain_update(digest).finalize().into()
}

/// How many sectors that begin behind the header of a frame at `position` hold nothing but zeros of its body.
pub(crate) fn zero_sectors(position: Position, padded_body: &[u8]) -> u32 {
    let body_start = position + HEADER_LEN as u64;
    let skip = (body_start.next_multiple_of(SECTOR as u64) - body_start) as usize;
    let sectors = padded_body.get(skip..).unwrap_or_default().chunks(SECTOR);
    sectors.filter(|share| is_zero(share)).count() as u32
}

pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// Reads a body whose checksum was right. Fails only where a writer of another kind made it: lengths that do not add up.
pub(crate) fn decode_body(position: Position, body: &Bytes, hash: Hash) -> Option<StoredCommit> {
    let mut cursor = Cut { body, at: BODY_FIXED };
    let mut previous_hash = [0; 32];
    previous_hash.copy_from_slice(body.get(..32)?);
    let first_sequence: Sequence = u64_at(body, 32);
    let stream = cursor.text(u16_at(body, 40) as usize)?;
    let partition = cursor.text(u16_at(body, 42) as usize)?;
    let lengths = cursor.take((u32_at(body, 44) as usize).checked_mul(4)?)?;
    let changes = cursor.take((u32_at(body, 48) as usize).checked_mul(CHANGE_FIXED)?)?;
    let records = lengths.chunks(4).map(|len| cursor.take(u32_at(len, 0) as usize)).collect::<Option<Vec<_>>>()?;
    let index = changes.chunks(CHANGE_FIXED).map(|fixed| cursor.change(fixed)).collect::<Option<Vec<_>>>()?;
    let whole = cursor.at == body.len() && !records.is_empty() && first_sequence > 0;
    whole.then(|| StoredCommit { position, stream, partition, first_sequence, records, index, previous_hash, hash })
}

struct Cut<'a> {
    body: &'a Bytes,
    at: usize,
}

impl Cut<'_> {
    fn take(&mut self, len: usize) -> Option<Bytes> {
        let end = self.at.checked_add(len).filter(|end| *end <= self.body.len())?;
        let slice = self.body.slice(self.at..end);
        self.at = end;
        Some(slice)
    }

    fn text(&mut self, len: usize) -> Option<Arc<str>> {
        Some(Arc::from(std::str::from_utf8(&self.take(len)?).ok()?))
    }

    fn change(&mut self, fixed: &[u8]) -> Option<IndexChange> {
        let key = self.take(u16_at(fixed, 1) as usize)?;
        let value = self.take(u32_at(fixed, 3) as usize)?;
        match fixed[0] {
            PUT => Some(IndexChange::Put { key, value }),
            // A delete has no value: one with a value would not be written back as it was read.
            DELETE if value.is_empty() => Some(IndexChange::Delete { key }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit() -> Commit {
        Commit {
            stream: "s".into(),
            partition: "p".into(),
            expected: 4,
            records: vec![Bytes::from_static(b"one"), Bytes::new(), Bytes::from(vec![0; 2000])],
            index: vec![
                IndexChange::Put { key: Bytes::from_static(b"k"), value: Bytes::from_static(b"v") },
                IndexChange::Delete { key: Bytes::from_static(b"gone") },
            ],
        }
    }

    #[test]
    fn a_frame_comes_back_as_it_went() {
        let mut buffer = Vec::new();
        let place = Placement { position: 4096, batch_start: 64, previous_crc: 9, previous_hash: [3; 32] };
        let (header, hash) = encode(&mut buffer, &commit(), &Content::of(&commit()), place);
        assert_eq!(FrameHeader::decode(&buffer), Some(header));
        assert_eq!(buffer.len() as u64, header.frame_len());
        assert!(header.matches(&buffer[HEADER_LEN..]));
        assert_eq!(header.zero_sectors, 3);
        let body = Bytes::copy_from_slice(&buffer[HEADER_LEN..HEADER_LEN + body_len(&commit())]);
        let stored = decode_body(4096, &body, hash_of(&body)).unwrap();
        let expected = StoredCommit {
            position: 4096,
            stream: "s".into(),
            partition: "p".into(),
            first_sequence: 5,
            records: commit().records,
            index: commit().index,
            previous_hash: [3; 32],
            hash,
        };
        assert_eq!(stored, expected);
    }

    #[test]
    fn a_body_whose_lengths_do_not_add_up_is_refused() {
        let mut buffer = Vec::new();
        let place = Placement { position: 64, batch_start: 64, previous_crc: 0, previous_hash: [0; 32] };
        encode(&mut buffer, &commit(), &Content::of(&commit()), place);
        let body = &buffer[HEADER_LEN..HEADER_LEN + body_len(&commit())];
        for cut in 0..body.len() {
            assert_eq!(decode_body(64, &Bytes::copy_from_slice(&body[..cut.max(BODY_FIXED)]), [0; 32]), None);
        }
    }

    #[test]
    fn a_delete_with_a_value_is_refused() {
        let put = IndexChange::Put { key: Bytes::from_static(b"k"), value: Bytes::from_static(b"v") };
        let commit = Commit { index: vec![put], ..commit() };
        let mut buffer = Vec::new();
        let place = Placement { position: 64, batch_start: 64, previous_crc: 0, previous_hash: [0; 32] };
        encode(&mut buffer, &commit, &Content::of(&commit), place);
        let mut body = buffer[HEADER_LEN..HEADER_LEN + body_len(&commit)].to_vec();
        assert!(decode_body(64, &Bytes::copy_from_slice(&body), [0; 32]).is_some());
        let kind = BODY_FIXED + 2 + 4 * commit.records.len();
        assert_eq!(std::mem::replace(&mut body[kind], DELETE), PUT);
        assert_eq!(decode_body(64, &Bytes::from(body), [0; 32]), None);
    }
}
