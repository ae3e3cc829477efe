//! What can be tuned, with the bounds that keep memory and queues finite.
//!
//! The defaults suit a server. Tests shrink the segments so that a handful of commits crosses every boundary.

/// How an embedded store behaves. `Options::default()` is right unless a measurement says otherwise.
#[derive(Clone, Debug)]
pub struct Options {
    /// Capacity of the first log segment. Each next one doubles, so that a small store stays small.
    pub first_segment_bytes: u64,
    /// Where doubling stops. A segment is larger than this only where a single commit needs it.
    pub segment_bytes_max: u64,
    /// The derived index is written down after this many bytes of log or of memory. Bounds the replay at start.
    pub checkpoint_bytes: u64,
    /// Memory for what is not yet in the derived index. Beyond it commits are refused: the index cannot be written.
    pub overlay_bytes_max: usize,
    /// The most one write to the log takes together, unless a single commit is larger.
    pub batch_bytes_max: usize,
    /// The most commits that may wait for the writer.
    pub queue_commits_max: usize,
    /// The most bytes that may wait for the writer.
    pub queue_bytes_max: usize,
    /// Address space for the derived index. Costs nothing until it is used; halved where the system has less.
    pub index_map_bytes: usize,
    /// Threads that prepare segments and write checkpoints. Tests that count disk calls turn them off.
    pub background: Background,
}

/// Who prepares the next segment and writes checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    /// Threads of their own, ahead of need.
    Threads,
    /// Nobody ahead of need: a segment is prepared when one is full, a checkpoint is written on request and on close.
    OnDemand,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            first_segment_bytes: 1 << 20,
            segment_bytes_max: 64 << 20,
            checkpoint_bytes: 32 << 20,
            overlay_bytes_max: 256 << 20,
            batch_bytes_max: 4 << 20,
            queue_commits_max: 65_536,
            queue_bytes_max: 64 << 20,
            index_map_bytes: 1 << 40,
            background: Background::Threads,
        }
    }
}

impl Options {
    /// Small segments and no threads: every boundary within a few commits, every disk call in a fixed order.
    pub fn tiny() -> Self {
        Self {
            first_segment_bytes: 4096,
            segment_bytes_max: 16 << 10,
            index_map_bytes: 64 << 20,
            background: Background::OnDemand,
            ..Self::default()
        }
    }
}
