//! The end of the log after a crash: telling a torn write, which nobody was told of, from damage, which somebody was.
//!
//! It owns that one decision, as a pure function of the bytes behind the last good frame. It does not read or write.
//!
//! ```text
//!   batch 7, synced and acknowledged      batch 8, being written when the power went
//!  ┌──────────┬──────────┬──────────┐    ┌──────────┬──────────┬──────────┐
//!  │ frame    │ frame    │ frame    │    │ frame    │ 000000000│ frame    │ 0000000000000000000000000…
//!  └──────────┴──────────┴──────────┘    └──────────┴──────────┴──────────┘
//!    good                                  good       ▲ bad      dropped with it: same batch
//!                                                     └ the walk stops here
//! ```
//!
//! A batch is written by one call and acknowledged after one sync. The writer starts the next batch only when that sync
//! has returned. So a bad frame may be dropped only where both of these hold:
//!
//! 1. **Nothing proves that its batch was synced.** Each frame names where its batch began. A good header anywhere
//!    behind the bad frame whose batch began behind it is such a proof; so is a later segment, and an index that
//!    reflects a later position (both are checked by the caller). No record can pose as a header: records are JSON
//!    text, which holds no NUL byte, and every header does.
//! 2. **An unwritten sector explains it.** Segments are zeroed before use and never reused, so whatever a crash left
//!    unwritten is zero, in whole sectors. A bad frame in which every sector was written is a flipped bit. A body may
//!    hold zero sectors by nature; the header counts those, and there must be more.
//!
//! What is behind the bad frame then belongs to the same batch and goes with it. It cannot reach further than the
//! largest batch does; anything there is damage too.

use crate::contract::{COMMIT_BYTES_MAX, Position};
use crate::frame::{self, ALIGNMENT, FrameHeader, HEADER_LEN, SECTOR};

/// What the bytes behind the last good frame are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// Zeros to the end.
    Clean,
    /// The rest of a batch that was never acknowledged.
    Torn(Torn),
    Damaged {
        position: Position,
        reason: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Torn {
    /// Bytes from the end of the log to the last one that is not zero.
    pub(crate) bytes: u64,
    /// Frames whose header is still intact, counting the torn one where it is.
    pub(crate) frames: usize,
}

/// Judges `rest`: everything from `end`, where the walk stopped, to the end of the last segment.
pub(crate) fn judge(end: Position, rest: &[u8], batch_bytes_max: usize) -> Tail {
    let Some(last) = rest.iter().rposition(|byte| *byte != 0) else { return Tail::Clean };
    let bytes = last as u64 + 1;
    let behind = headers_in(end, &rest[..rest.len().min(last + HEADER_LEN)]);
    if let Some(proof) = behind.iter().find(|header| header.batch_start > end) {
        let reason =
            format!("a later commit at position {} proves that what stood here had been acknowledged", proof.position);
        return Tail::Damaged { position: end, reason };
    }
    if let Some(reason) = unexplained(end, rest) {
        return Tail::Damaged { position: end, reason: reason.into() };
    }
    if bytes as usize > batch_bytes_max.max(frame::frame_len(COMMIT_BYTES_MAX)) {
        let reason = "there are bytes further behind the end of the log than any write reaches".to_owned();
        return Tail::Damaged { position: end + last as u64, reason };
    }
    Tail::Torn(Torn { bytes, frames: behind.len() })
}

/// Every intact header that stands in the place it names.
pub(crate) fn headers_in(start: Position, bytes: &[u8]) -> Vec<FrameHeader> {
    let places = (0..bytes.len().saturating_sub(HEADER_LEN - 1)).step_by(ALIGNMENT);
    places
        .filter_map(|at| FrameHeader::decode(&bytes[at..]).filter(|header| header.position == start + at as u64))
        .collect()
}

/// Why no unwritten sector can be the reason for the bad frame at `end`, or `None` where one can.
fn unexplained(end: Position, rest: &[u8]) -> Option<&'static str> {
    let to_sector_end = ((end + 1).next_multiple_of(SECTOR as u64) - end) as usize;
    let first_sector = &rest[..to_sector_end.min(rest.len())];
    if frame::is_zero(first_sector) {
        return None;
    }
    if let Some(header) = FrameHeader::decode(rest) {
        let Some(body) = rest.get(HEADER_LEN..header.frame_len() as usize) else {
            return Some("the commit reaches beyond the end of its segment");
        };
        if header.position != end || header.matches(body) {
            return Some("the commit is intact but does not belong here");
        }
        let torn = frame::zero_sectors(end, body) > header.zero_sectors;
        return if torn { None } else { Some("the checksum of the commit is wrong although all of it was written") };
    }
    let second_sector = &rest[first_sector.len()..rest.len().min(first_sector.len() + SECTOR)];
    let header_crosses = first_sector.len() < HEADER_LEN;
    if header_crosses && frame::is_zero(second_sector) {
        return None;
    }
    Some("the commit header is wrong although all of it was written")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Commit;
    use crate::frame::Placement;
    use bytes::Bytes;

    /// Frames from 64 on, one batch for each inner slice of record lengths, and where each begins.
    fn log(batches: &[&[usize]]) -> (Vec<u8>, Vec<Position>) {
        let (mut bytes, mut places, mut crc) = (Vec::new(), Vec::new(), 0);
        for batch in batches {
            let batch_start = 64 + bytes.len() as u64;
            for len in *batch {
                let commit = Commit {
                    stream: "s".into(),
                    partition: "".into(),
                    expected: 0,
                    records: vec![Bytes::from(vec![b'x'; *len])],
                    index: vec![],
                };
                let position = 64 + bytes.len() as u64;
                let place = Placement { position, batch_start, previous_crc: crc, previous_hash: [0; 32] };
                crc = frame::encode(&mut bytes, &commit, &frame::Content::of(&commit), place).0.crc;
                places.push(position);
            }
        }
        bytes.resize(16 << 10, 0);
        (bytes, places)
    }

    fn judge_from(bytes: &[u8], end: Position) -> Tail {
        judge(end, &bytes[(end - 64) as usize..], 4 << 20)
    }

    fn zero(bytes: &mut [u8], sector: u64) {
        let from = (sector * 512).saturating_sub(64) as usize;
        bytes[from..(sector as usize + 1) * 512 - 64].fill(0);
    }

    #[test]
    fn zeros_are_the_end() {
        assert_eq!(judge(64, &[0; 4000], 4 << 20), Tail::Clean);
    }

    #[test]
    fn an_unwritten_sector_is_a_torn_write() {
        let (mut bytes, places) = log(&[&[2000, 300]]);
        zero(&mut bytes, 2);
        assert!(matches!(judge_from(&bytes, places[0]), Tail::Torn(Torn { frames: 2, .. })));
    }

    #[test]
    fn a_flipped_bit_is_damage() {
        let (mut bytes, places) = log(&[&[2000]]);
        bytes[700] ^= 4;
        assert!(matches!(judge_from(&bytes, places[0]), Tail::Damaged { .. }));
    }

    #[test]
    fn a_later_batch_proves_that_the_hole_was_acknowledged() {
        let (mut bytes, places) = log(&[&[2000], &[300]]);
        zero(&mut bytes, 2);
        assert!(matches!(judge_from(&bytes, places[0]), Tail::Damaged { .. }));
    }

    #[test]
    fn zeros_in_a_record_do_not_explain_a_flipped_bit() {
        let commit = Commit {
            stream: "s".into(),
            partition: "".into(),
            expected: 0,
            records: vec![Bytes::from(vec![0; 3000])],
            index: vec![],
        };
        let mut bytes = Vec::new();
        let place = Placement { position: 64, batch_start: 64, previous_crc: 0, previous_hash: [0; 32] };
        frame::encode(&mut bytes, &commit, &frame::Content::of(&commit), place);
        bytes.resize(8 << 10, 0);
        bytes[60] ^= 1;
        assert!(matches!(judge(64, &bytes, 4 << 20), Tail::Damaged { .. }));
    }
}
