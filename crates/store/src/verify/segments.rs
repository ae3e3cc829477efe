//! Walking every segment byte by byte, past damage where there is some.

use bytes::Bytes;

use super::{Check, Finding, FindingKind};
use crate::contract::Position;
use crate::disk::Disk;
use crate::error::OpenError;
use crate::frame::{self, FrameHeader, HEADER_LEN};
use crate::layout::list_segments;
use crate::log::{Frame, path_of};
use crate::segment::{self, SegmentHeader};
use crate::tail::{self, Tail};

/// Where the log stood at the end of the part that was checked.
#[derive(Clone, Copy)]
struct Link {
    end: Position,
    crc: u32,
    /// Whether the part before was whole; if not, links to it cannot be checked.
    whole: bool,
}

pub(super) fn walk(disk: &dyn Disk, check: &mut Check<'_>) -> Result<(), OpenError> {
    let (segments, _) = list_segments(disk)?;
    check.report.segments = segments.len();
    let mut expected = 0;
    let mut link = Link { end: 0, crc: 0, whole: true };
    for (at, first) in segments.iter().enumerate() {
        if *first != expected {
            let missing = *first > expected;
            let kind = if missing { FindingKind::Missing } else { FindingKind::OutOfPlace };
            let what =
                format!("a segment should begin at position {expected}, the next one there is begins at {first}");
            let file = path_of(if missing { expected } else { *first });
            check.report.add(Finding { kind, file, ..Finding::at(expected, what) });
            link.whole = false;
        }
        let next = segments.get(at + 1).copied();
        expected = segment(disk, *first, next, &mut link, check)?;
    }
    Ok(())
}

/// Checks one segment and says where the next one should begin.
fn segment(
    disk: &dyn Disk,
    first: Position,
    next: Option<Position>,
    link: &mut Link,
    check: &mut Check<'_>,
) -> Result<Position, OpenError> {
    let file = path_of(first);
    let mut bytes = match read_whole(disk, &file) {
        Ok(bytes) => bytes,
        Err(error) => {
            let found = Finding::at(first, error.to_string());
            check.report.add(Finding { kind: FindingKind::Unreadable, file, ..found });
            link.whole = false;
            return Ok(next.unwrap_or(first));
        }
    };
    let len = bytes.len() as u64;
    let capacity = match check_header(&bytes, first, *link) {
        Ok(header) => header.capacity,
        Err((kind, what)) => {
            check.report.add(Finding { kind, file: file.clone(), ..Finding::at(first, what) });
            link.whole = false;
            next.map_or(len, |next| next - first)
        }
    };
    if len != capacity {
        let kind = if len < capacity { FindingKind::Cut } else { FindingKind::OutOfPlace };
        let what = format!("the file has {len} bytes and was made with {capacity}");
        check.report.add(Finding { kind, file: file.clone(), offset: len, ..Finding::at(first + len, what) });
        bytes.resize(capacity as usize, 0);
    }
    let bytes = Bytes::from(bytes);
    if !link.whole {
        // Nothing certain is known about what came before: take the first frame's word for it.
        link.crc = FrameHeader::decode(bytes.get(segment::HEADER_LEN..).unwrap_or_default())
            .map_or(link.crc, |header| header.previous_crc);
    }
    frames(&Segment { file, first, bytes, is_last: next.is_none() }, link, check)?;
    Ok(first + capacity)
}

fn read_whole(disk: &dyn Disk, path: &str) -> std::io::Result<Vec<u8>> {
    let file = disk.open(path)?;
    let mut bytes = vec![0; file.len()? as usize];
    file.read_at(&mut bytes, 0)?;
    Ok(bytes)
}

fn check_header(bytes: &[u8], first: Position, link: Link) -> Result<SegmentHeader, (FindingKind, String)> {
    let head = bytes.first_chunk().ok_or((FindingKind::Cut, "the file is shorter than its header".to_owned()))?;
    let header = SegmentHeader::decode(head).map_err(|what| (FindingKind::Flipped, what))?;
    if header.first != first {
        let what = format!("the header says that this segment begins at position {}", header.first);
        return Err((FindingKind::OutOfPlace, what));
    }
    if link.whole && (header.previous_end, header.previous_crc) != (link.end, link.crc) {
        let what = format!(
            "the segment follows a commit that ended at position {}, but the log before it ends at {}",
            header.previous_end, link.end
        );
        let kind = if header.previous_end > link.end { FindingKind::Missing } else { FindingKind::OutOfPlace };
        return Err((kind, what));
    }
    Ok(header)
}

struct Segment {
    file: String,
    first: Position,
    bytes: Bytes,
    is_last: bool,
}

fn frames(segment: &Segment, link: &mut Link, check: &mut Check<'_>) -> Result<(), OpenError> {
    let mut at = segment::HEADER_LEN;
    // An empty segment ends where its frames would begin.
    link.end = segment.first + at as u64;
    loop {
        match intact_frame(segment, at) {
            Ok(frame) => {
                if frame.header.previous_crc != link.crc {
                    let what = "the commit does not follow the one before it in the log".to_owned();
                    check.report.add(finding(segment, at, FindingKind::OutOfPlace, what));
                }
                check.frame(&segment.file, at as u64, &frame)?;
                *link = Link { end: frame.header.end(), crc: frame.header.crc, whole: true };
                at += frame.header.frame_len() as usize;
            }
            Err(what) => {
                let rest = &segment.bytes[at.min(segment.bytes.len())..];
                if frame::is_zero(rest) {
                    return Ok(());
                }
                match past_damage(segment, at, what, check) {
                    Some((next, crc)) => {
                        at = next;
                        link.crc = crc;
                    }
                    None => {
                        link.whole = false;
                        return Ok(());
                    }
                }
            }
        }
    }
}

fn intact_frame(segment: &Segment, at: usize) -> Result<Frame, &'static str> {
    let rest = segment.bytes.get(at..).unwrap_or_default();
    let header = FrameHeader::decode(rest).ok_or("there is no intact commit header")?;
    let position = segment.first + at as u64;
    if header.position != position {
        return Err("the commit belongs to another position");
    }
    if !header.is_in_its_batch(segment.first) {
        return Err("the commit names a batch that cannot hold it");
    }
    if header.frame_len() as usize > rest.len() {
        return Err("the commit reaches beyond the end of its segment");
    }
    let padded = segment.bytes.slice(at + HEADER_LEN..at + header.frame_len() as usize);
    Frame::checked(header, position, padded)
}

/// Reports what is wrong at `at` and finds the next intact commit behind it, with the link it names.
fn past_damage(segment: &Segment, at: usize, what: &str, check: &mut Check<'_>) -> Option<(usize, u32)> {
    let position = segment.first + at as u64;
    if segment.is_last
        && let Tail::Torn(torn) = tail::judge(position, &segment.bytes[at..], check.options.batch_bytes_max)
    {
        let what = format!("{} bytes of an interrupted write; the next start drops them", torn.bytes);
        check.report.add(finding(segment, at, FindingKind::Torn, what));
        return None;
    }
    let nothing_here = frame::is_zero(&segment.bytes[at..segment.bytes.len().min(at + HEADER_LEN)]);
    let behind = tail::headers_in(position + 8, segment.bytes.get(at + 8..).unwrap_or_default());
    let next =
        behind.into_iter().find(|header| intact_frame(segment, (header.position - segment.first) as usize).is_ok());
    let kind = if nothing_here && next.is_some() { FindingKind::Missing } else { FindingKind::Flipped };
    let what = match &next {
        Some(next) => format!("{what}; the next intact commit is at position {}", next.position),
        None => format!("{what}, and no intact commit is behind it in this segment"),
    };
    check.report.add(finding(segment, at, kind, what));
    next.map(|header| ((header.position - segment.first) as usize, header.previous_crc))
}

fn finding(segment: &Segment, at: usize, kind: FindingKind, what: String) -> Finding {
    let position = segment.first + at as u64;
    Finding { kind, file: segment.file.clone(), offset: at as u64, ..Finding::at(position, what) }
}
