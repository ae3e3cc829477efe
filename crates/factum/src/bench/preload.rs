//! Commits that mean nothing: the bytes, streams and index entries of a store in use, as fast as it takes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use bytes::Bytes;
use factum_store::{Commit, EmbeddedStore, IndexChange, append_and_wait};
use tokio::task::JoinSet;

/// What one commit holds, here and where commits are measured.
pub(super) const RECORDS: u64 = 3;
const RECORD_BYTES: usize = 400;
/// How many commits a stream of the preload has.
const COMMITS_PER_STREAM: u64 = 10;
const WRITERS: usize = 256;

/// Three records of 400 bytes and one index entry.
pub(super) fn commit(stream: &str, expected: u64) -> Commit {
    let pad = "x".repeat(RECORD_BYTES.saturating_sub(stream.len() + 22));
    let record = Bytes::from(format!("{{\"stream\":\"{stream}\",\"pad\":\"{pad}\"}}"));
    Commit {
        stream: stream.into(),
        partition: "bench".into(),
        expected,
        records: vec![record; RECORDS as usize],
        index: vec![IndexChange::Put {
            key: format!("bench/{stream}").into_bytes().into(),
            value: Bytes::from_static(b"running"),
        }],
    }
}

/// At least so many events.
pub(super) async fn fill(store: &Arc<EmbeddedStore>, events: u64) -> Result<()> {
    let streams = events.div_ceil(RECORDS * COMMITS_PER_STREAM);
    let next = Arc::new(AtomicU64::new(0));
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        writers.spawn(write(store.clone(), next.clone(), streams));
    }
    while let Some(done) = writers.join_next().await {
        done??;
    }
    Ok(())
}

async fn write(store: Arc<EmbeddedStore>, next: Arc<AtomicU64>, streams: u64) -> Result<()> {
    loop {
        let stream = next.fetch_add(1, Ordering::Relaxed);
        if stream >= streams {
            return Ok(());
        }
        for n in 0..COMMITS_PER_STREAM {
            append_and_wait(&*store, commit(&format!("preload/{stream:016x}"), n * RECORDS)).await?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_their_size() {
        assert_eq!(commit("preload/0000000000000001", 0).records[0].len(), RECORD_BYTES);
    }
}
