//! Looking at a whole store offline: every byte of the log, and whether the derived index says the same.
//!
//! It owns the walk and the list of findings. It changes nothing and, unlike a start, it does not stop at the first
//! damage: it looks for the next intact commit and goes on, so that one run names all of it. It deliberately does not
//! share the code that reads the log for a running store; two witnesses are better than one.

mod compare;
mod report;
mod segments;

use std::path::Path;
use std::sync::Arc;

pub use report::{Finding, FindingKind, VerifyReport};

use crate::contract::{NO_HASH, StoredCommit};
use crate::disk::{Disk, RealDisk};
use crate::error::OpenError;
use crate::index::{Index, IndexError};
use crate::layout;
use crate::lock::DirLock;
use crate::log::Frame;
use crate::options::Options;
use crate::overlay::{Layer, Reflects};
use crate::replay::Replay;

/// Checks the store in `dir`, which nobody may be running on. `each` sees every intact commit, in order, so that the
/// layer above can check what it keeps in the same walk.
pub fn verify(dir: impl AsRef<Path>, each: &mut dyn FnMut(&StoredCommit)) -> Result<VerifyReport, OpenError> {
    let dir = dir.as_ref();
    let _lock = DirLock::shared(dir)?;
    verify_on(&(Arc::new(RealDisk::read_only(dir)) as Arc<dyn Disk>), &dir.join("index"), each)
}

/// The same for a log on another disk.
pub fn verify_on(
    disk: &Arc<dyn Disk>,
    index_dir: &Path,
    each: &mut dyn FnMut(&StoredCommit),
) -> Result<VerifyReport, OpenError> {
    layout::read_format(&**disk, &layout::format_line())?;
    // The index is made a second time, in a place of its own, with the memory that a start takes and no more.
    let scratch = tempfile::tempdir().map_err(OpenError::io("creating a temporary directory"))?;
    let options = Options::default();
    let rebuilt = Index::open_scratch(scratch.path(), options.index_map_bytes).map_err(index_error)?;
    let mut report = VerifyReport::default();
    let kept = open_kept(index_dir, &options, &mut report);
    let check = Check {
        replay: Replay { index: &rebuilt, layer: Layer::default(), commits: 0 },
        kept: kept.as_ref(),
        options,
        report,
        each,
    };
    check.run(&**disk)
}

fn open_kept(dir: &Path, options: &Options, report: &mut VerifyReport) -> Option<(Index, Reflects)> {
    if !dir.join("data.mdb").exists() {
        return None;
    }
    let opened = Index::open_read_only(dir, options.index_map_bytes).and_then(|index| {
        let reflects = index.read().and_then(|txn| index.reflects(&txn))?;
        Ok((index, reflects))
    });
    match opened {
        Ok((index, reflects)) => {
            report.index_position = Some(reflects.position);
            Some((index, reflects)).filter(|(_, reflects)| reflects.position > 0)
        }
        Err(error) => {
            report.add(Finding::index(format!("it cannot be opened: {error}")));
            None
        }
    }
}

/// One run.
struct Check<'a> {
    replay: Replay<'a>,
    kept: Option<&'a (Index, Reflects)>,
    options: Options,
    report: VerifyReport,
    each: &'a mut dyn FnMut(&StoredCommit),
}

impl Check<'_> {
    fn run(mut self, disk: &dyn Disk) -> Result<VerifyReport, OpenError> {
        segments::walk(disk, &mut self)?;
        if let Some((_, reflects)) = self.kept
            && self.report.position < reflects.position
        {
            let what = format!("it knows a commit at position {}, which the log does not have", reflects.position);
            self.report.add(Finding { position: reflects.position, ..Finding::index(what) });
        }
        Ok(self.report)
    }

    /// One intact frame, in its place in the file.
    fn frame(&mut self, file: &str, offset: u64, frame: &Frame) -> Result<(), OpenError> {
        let finding =
            |kind, what| Finding { kind, file: file.into(), offset, ..Finding::at(frame.header.position, what) };
        let Ok(commit) = frame.decode() else {
            self.report.add(finding(FindingKind::Flipped, "the lengths in the commit do not add up".into()));
            return Ok(());
        };
        let head = self.replay.head(&commit.stream).map_err(index_error)?;
        let (sequence, hash) = head.map_or((0, NO_HASH), |head| (head.sequence, head.hash));
        let wrong = if commit.first_sequence > sequence + 1 {
            Some((
                FindingKind::Missing,
                format!("sequences {} to {} are missing", sequence + 1, commit.first_sequence - 1),
            ))
        } else if commit.first_sequence <= sequence {
            Some((FindingKind::OutOfPlace, format!("the stream had reached sequence {sequence} before")))
        } else if commit.previous_hash != hash {
            Some((FindingKind::OutOfPlace, "it does not follow from the commit before it in its stream".into()))
        } else {
            None
        };
        if let Some((kind, what)) = wrong {
            let (stream, sequence) = (Some(commit.stream.clone()), Some(commit.first_sequence));
            self.report.add(Finding { stream, sequence, ..finding(kind, what) });
        }
        self.replay.add(frame, &commit);
        self.report.count(&commit);
        (self.each)(&commit);
        self.replay.checkpoint_if_due(&self.options).map_err(index_error)?;
        self.compare_at(commit.position)
    }

    /// Compares the indexes at the one position where both should say the same.
    fn compare_at(&mut self, position: u64) -> Result<(), OpenError> {
        let Some((kept, reflects)) = self.kept.filter(|(_, reflects)| reflects.position == position) else {
            return Ok(());
        };
        self.replay.checkpoint().map_err(index_error)?;
        if self.report.findings.is_empty() {
            compare::indexes(kept, self.replay.index, &mut self.report).map_err(index_error)?;
            let made =
                self.replay.index.read().and_then(|txn| self.replay.index.reflects(&txn)).map_err(index_error)?;
            if made != *reflects {
                self.report.add(Finding::index("it reflects another log than this one".into()));
            }
        }
        Ok(())
    }
}

fn index_error(error: IndexError) -> OpenError {
    OpenError::Index { reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Commit, Hash, Sequence};
    use crate::frame::{self, Placement};
    use crate::segment::SegmentHeader;
    use crate::sim::SimDisk;

    /// A log whose checksums are all right and whose second commit of one stream says this about the first.
    fn forged(expected: Sequence, previous_hash: impl FnOnce(Hash) -> Hash) -> SimDisk {
        let header = SegmentHeader { first: 0, capacity: 4096, previous_end: 0, previous_crc: 0 };
        let mut bytes = header.encode().to_vec();
        let commit = |expected| Commit {
            stream: "s".into(),
            partition: "p".into(),
            expected,
            records: vec!["x".into()],
            index: Vec::new(),
        };
        let first = Placement { position: 64, batch_start: 64, previous_crc: 0, previous_hash: NO_HASH };
        let (frame, hash) = frame::encode(&mut bytes, &commit(0), &frame::Content::of(&commit(0)), first);
        let (position, previous_hash) = (bytes.len() as u64, previous_hash(hash));
        let second = Placement { position, batch_start: position, previous_crc: frame.crc, previous_hash };
        frame::encode(&mut bytes, &commit(expected), &frame::Content::of(&commit(expected)), second);
        bytes.resize(4096, 0);
        let disk = SimDisk::new(1);
        disk.set_contents("FORMAT", layout::format_line().into_bytes());
        disk.set_contents("log/00000000000000000000.seg", bytes);
        disk
    }

    fn check(disk: SimDisk, wrong: Option<FindingKind>) {
        let index = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Disk> = Arc::new(disk);
        let report = verify_on(&disk, &index.path().join("none"), &mut |_| ()).unwrap();
        assert_eq!(report.findings.first().map(|finding| finding.kind), wrong, "{:?}", report.findings);
        let opened = crate::EmbeddedStore::open_on(disk, &index.path().join("index"), Options::tiny());
        assert_eq!(opened.is_err(), wrong.is_some());
    }

    #[test]
    fn a_stream_must_continue_where_it_was() {
        check(forged(1, |hash| hash), None);
        check(forged(1, |_| [7; 32]), Some(FindingKind::OutOfPlace));
        check(forged(0, |hash| hash), Some(FindingKind::OutOfPlace));
        check(forged(5, |hash| hash), Some(FindingKind::Missing));
    }

    /// The same log, whose second commit names a batch that began here. Its checksums are right again.
    fn batched(batch_start: impl FnOnce(u64) -> u64) -> SimDisk {
        let (disk, name) = (forged(1, |hash| hash), "log/00000000000000000000.seg");
        let mut bytes = disk.contents(name).unwrap();
        let at = 64 + frame::FrameHeader::decode(&bytes[64..]).unwrap().frame_len() as usize;
        bytes[at + 16..at + 24].copy_from_slice(&batch_start(at as u64).to_le_bytes());
        let crc = crc32c::crc32c(&bytes[at..at + 36]);
        bytes[at + 36..at + 40].copy_from_slice(&crc.to_le_bytes());
        disk.set_contents(name, bytes);
        disk
    }

    #[test]
    fn a_commit_is_in_its_batch_and_the_batch_in_its_segment() {
        check(batched(|position| position), None);
        check(batched(|_| 64), None);
        check(batched(|_| 0), Some(FindingKind::Flipped));
        check(batched(|position| position + 8), Some(FindingKind::Flipped));
    }
}
