//! How long a driver waits: after trouble, longer each time; between two looks at a peer that is well, by how it stands.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use super::contract::{ArtifactContent, PeerView, ViewedArtifact};

/// After the first trouble, and at most.
const RETRY_MIN: Duration = Duration::from_millis(250);
const RETRY_MAX: Duration = Duration::from_secs(60);
/// Between two looks at a task that nothing streams, at first and at most.
const POLL_MIN: Duration = Duration::from_millis(500);
const POLL_MAX: Duration = Duration::from_secs(30);

/// The most words for how a task stands that make a driver look sooner: a peer that has ever new ones is in no hurry.
const STANDS_MAX: usize = 16;

/// How often a stream may say what it said before: how the task stands, or another version of what was made. Looks tell that, too,
/// at their own pace.
const REPEATS_MAX: u32 = 32;
/// How much of what was made a stream may tell of for the first time, and the most bytes of it in all its versions.
const MADE_MAX: usize = 1_000;
const STREAMED_BYTES_MAX: usize = 64 << 20;

/// Grows until something works.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    troubles: u32,
    looks: u32,
    /// How the task stood, in the peer's words, since something was done about it.
    stood: BTreeSet<String>,
    streamed: Streamed,
}

/// What streams told, since something was done about the task.
#[derive(Debug, Default)]
struct Streamed {
    /// How the task stood last.
    stands: String,
    /// What it made, by what that holds.
    made: BTreeMap<String, u64>,
    repeats: u32,
    bytes: usize,
}

impl Backoff {
    /// The peer did what it was asked.
    pub(super) fn worked(&mut self) {
        self.troubles = 0;
    }

    /// Something was done about the task: whatever comes next may come soon.
    pub(super) fn anew(&mut self) {
        *self = Self::default();
    }

    /// A connection lasted. What was told over it was told all the same.
    pub(super) fn lasted(&mut self) {
        (self.troubles, self.looks) = (0, 0);
    }

    /// The task stands so. Where it never did before, the next change may come soon; one that goes to and fro is not looked at
    /// more often for it.
    pub(super) fn stands(&mut self, native_status: &str) {
        if self.is_new(native_status) {
            self.looks = 0;
        }
    }

    fn is_new(&mut self, native_status: &str) -> bool {
        self.stood.len() < STANDS_MAX && self.stood.insert(native_status.to_owned())
    }

    /// A stream tells this. True where it has told so much that the task is better looked at.
    pub(super) fn streamed(&mut self, view: &PeerView) -> bool {
        if self.streamed.stands != view.native_status {
            let again = !self.is_new(&view.native_status);
            self.streamed.repeats += u32::from(again);
            self.streamed.stands.clone_from(&view.native_status);
        }
        for artifact in &view.artifacts {
            let held = content_of(artifact);
            if self.streamed.made.get(&artifact.remote_id) == Some(&held) {
                continue;
            }
            let full = self.streamed.made.len() >= MADE_MAX;
            let again = full || self.streamed.made.insert(artifact.remote_id.clone(), held).is_some();
            self.streamed.repeats += u32::from(again);
            self.streamed.bytes = self.streamed.bytes.saturating_add(size_of(artifact));
        }
        self.streamed.repeats > REPEATS_MAX || self.streamed.bytes > STREAMED_BYTES_MAX
    }

    pub(super) fn after_trouble(&mut self) -> Duration {
        self.troubles = self.troubles.saturating_add(1);
        doubled(RETRY_MIN, self.troubles - 1).min(RETRY_MAX)
    }

    pub(super) fn between_looks(&mut self) -> Duration {
        self.looks = self.looks.saturating_add(1);
        doubled(POLL_MIN, self.looks - 1).min(POLL_MAX)
    }
}

/// What tells one version from the next, well enough to count them.
fn content_of(artifact: &ViewedArtifact) -> u64 {
    let mut hasher = DefaultHasher::new();
    match &artifact.content {
        ArtifactContent::Bytes { bytes, .. } => bytes.hash(&mut hasher),
        ArtifactContent::Link { url, .. } => url.hash(&mut hasher),
    }
    hasher.finish()
}

fn size_of(artifact: &ViewedArtifact) -> usize {
    match &artifact.content {
        ArtifactContent::Bytes { bytes, .. } => bytes.len(),
        ArtifactContent::Link { url, .. } => url.len(),
    }
}

fn doubled(first: Duration, times: u32) -> Duration {
    first.saturating_mul(1u32.checked_shl(times).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_their_bounds_and_begin_anew() {
        let mut backoff = Backoff::default();
        let waits: Vec<u128> = (0..12).map(|_| backoff.after_trouble().as_millis()).collect();
        assert_eq!(waits[..4], [250, 500, 1_000, 2_000]);
        assert_eq!(waits[11], 60_000);
        backoff.worked();
        assert_eq!(backoff.after_trouble(), RETRY_MIN);
        let looks: Vec<u128> = (0..80).map(|_| backoff.between_looks().as_millis()).collect();
        assert_eq!((looks[0], looks[79]), (500, 30_000));
        backoff.anew();
        assert_eq!(backoff.between_looks(), POLL_MIN);
    }

    #[test]
    fn a_task_that_goes_to_and_fro_is_looked_at_no_more_often_for_it() {
        let mut backoff = Backoff::default();
        let waits = |backoff: &mut Backoff, word: &str| {
            backoff.stands(word);
            backoff.between_looks().as_millis()
        };
        assert_eq!([waits(&mut backoff, "submitted"), waits(&mut backoff, "working")], [500, 500], "each is new");
        let waited: Vec<u128> =
            ["submitted", "working"].into_iter().cycle().take(8).map(|word| waits(&mut backoff, word)).collect();
        assert_eq!((waited[0], waited[7]), (1_000, 30_000), "{waited:?}");
        backoff.anew();
        let waited: Vec<u128> = (0..64).map(|at| waits(&mut backoff, &format!("word {at}"))).collect();
        assert_eq!((waited[0], waited[63]), (500, 30_000), "nor is one with ever new words: {waited:?}");
    }
}
