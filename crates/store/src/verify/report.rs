//! What `verify` found, in a form for machines and in words for people.

use std::fmt;
use std::sync::Arc;

use crate::contract::{Position, Sequence, StoredCommit};

/// Findings beyond this are counted, not kept.
const FINDINGS_MAX: usize = 1000;

/// The outcome of one run. The store is sound where `findings` is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    pub segments: usize,
    /// Intact commits, and the records in them.
    pub commits: u64,
    pub records: u64,
    pub streams: u64,
    /// The newest intact commit.
    pub position: Position,
    /// What the derived index reflects; `None` where there is no index, which is not an error.
    pub index_position: Option<Position>,
    pub findings: Vec<Finding>,
    /// How many more there were.
    pub findings_left_out: u64,
}

impl VerifyReport {
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    pub(crate) fn add(&mut self, finding: Finding) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
        } else {
            self.findings_left_out += 1;
        }
    }

    pub(crate) fn count(&mut self, commit: &StoredCommit) {
        self.commits += 1;
        self.records += commit.records.len() as u64;
        self.streams += u64::from(commit.first_sequence == 1);
        self.position = commit.position;
    }
}

/// One thing that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub kind: FindingKind,
    /// Relative to the store's directory.
    pub file: String,
    pub offset: u64,
    pub position: Position,
    pub stream: Option<Arc<str>>,
    pub sequence: Option<Sequence>,
    pub what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingKind {
    /// Bytes differ from what their checksum says.
    Flipped,
    /// A file, a commit or a sequence is not there.
    Missing,
    /// A file is shorter than it was made.
    Cut,
    /// Intact, but not where or after what it was written.
    OutOfPlace,
    /// The remains of an interrupted write, which nobody was told of. The next start drops them.
    Torn,
    /// The derived index says something else than the log. Deleting `index/` has it made again.
    IndexDiffers,
    /// The operating system would not read it.
    Unreadable,
}

impl Finding {
    pub(crate) fn at(position: Position, what: String) -> Self {
        let (kind, file) = (FindingKind::Flipped, String::new());
        Self { kind, file, offset: 0, position, stream: None, sequence: None, what }
    }

    pub(crate) fn index(what: String) -> Self {
        Self { kind: FindingKind::IndexDiffers, file: "index/".into(), ..Self::at(0, what) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            FindingKind::Flipped => "flipped",
            FindingKind::Missing => "missing",
            FindingKind::Cut => "cut",
            FindingKind::OutOfPlace => "out of place",
            FindingKind::Torn => "torn",
            FindingKind::IndexDiffers => "index differs",
            FindingKind::Unreadable => "unreadable",
        };
        write!(f, "{kind}: {} at offset {} (position {}", self.file, self.offset, self.position)?;
        if let Some(stream) = &self.stream {
            write!(f, ", stream {stream}")?;
        }
        if let Some(sequence) = self.sequence {
            write!(f, ", sequence {sequence}")?;
        }
        write!(f, "): {}", self.what)
    }
}
