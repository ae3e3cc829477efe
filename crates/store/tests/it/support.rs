//! A scripted workload, the rig it runs on, and the one question every crash test asks: is what survived a true prefix?

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;

use bytes::Bytes;
use factum_store::conformance::{Dump, dump, put};
use factum_store::sim::SimDisk;
use factum_store::{
    AppendError, Commit, EmbeddedStore, IndexChange, MemoryStore, OpenError, OpenReport, Options, Receipt, Store,
    VerifyReport, verify_on,
};
use tempfile::TempDir;

/// A temporary directory in memory where there is one: LMDB syncs, and these tests are not about real disks.
pub(crate) fn scratch() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Whether the long variants were asked for.
pub(crate) fn long() -> bool {
    std::env::var_os("FACTUM_LONG").is_some()
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// A simulated disk for the log and a real folder for the derived index.
pub(crate) struct Rig {
    pub(crate) disk: SimDisk,
    pub(crate) options: Options,
    index: Arc<TempDir>,
}

impl Rig {
    pub(crate) fn new(seed: u64) -> Self {
        Self { disk: SimDisk::new(seed), options: Options::tiny(), index: Arc::new(scratch()) }
    }

    /// Another fate from this moment. The index is shared: a fork must not write a checkpoint.
    pub(crate) fn fork(&self, seed: u64) -> Self {
        Self { disk: self.disk.fork(seed), options: self.options.clone(), index: self.index.clone() }
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.index.path().join("index")
    }

    pub(crate) fn delete_index(&self) {
        let _ = std::fs::remove_dir_all(self.index());
    }

    pub(crate) fn try_open(&self) -> Result<(EmbeddedStore, OpenReport), OpenError> {
        EmbeddedStore::open_on(Arc::new(self.disk.clone()), &self.index(), self.options.clone())
    }

    pub(crate) fn open(&self) -> EmbeddedStore {
        self.try_open().unwrap().0
    }

    pub(crate) fn verify(&self) -> Result<VerifyReport, OpenError> {
        let disk: Arc<dyn factum_store::Disk> = Arc::new(self.disk.clone());
        verify_on(&disk, &self.index(), &mut |_| ())
    }

    pub(crate) fn segments(&self) -> Vec<String> {
        self.disk.names().into_iter().filter(|name| name.ends_with(".seg")).collect()
    }
}

/// Appends and waits, without a runtime.
pub(crate) fn append(store: &EmbeddedStore, commit: Commit) -> Result<Receipt, AppendError> {
    let (sender, receiver) = mpsc::channel();
    store.append(commit, Box::new(move |outcome| sender.send(outcome).unwrap()));
    receiver.recv().unwrap()
}

/// Appends all of them so that everything behind the first is one batch: the first one's callback holds the writer
/// until the others wait.
pub(crate) fn append_together(store: &EmbeddedStore, commits: Vec<Commit>) -> Vec<Result<Receipt, AppendError>> {
    let (sender, receiver) = mpsc::channel();
    let (open_gate, gate) = mpsc::channel::<()>();
    let mut gate = Some(gate);
    let count = commits.len();
    for commit in commits {
        let (sender, gate) = (sender.clone(), gate.take());
        store.append(
            commit,
            Box::new(move |outcome| {
                if let Some(gate) = gate {
                    gate.recv().unwrap();
                }
                sender.send(outcome).unwrap();
            }),
        );
    }
    open_gate.send(()).unwrap();
    (0..count).map(|_| receiver.recv().unwrap()).collect()
}

/// One step of a workload.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Append(Commit),
    Together(Vec<Commit>),
    Checkpoint,
}

/// What a run was told before it ended.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Every commit in the order it was handed over.
    pub(crate) attempted: Vec<Commit>,
    /// How many of them, from the first, were acknowledged.
    pub(crate) acknowledged: usize,
}

/// Runs the steps until the store stops accepting.
pub(crate) fn run(store: &EmbeddedStore, steps: &[Step]) -> Outcome {
    let mut outcome = Outcome::default();
    for step in steps {
        let (commits, results) = match step {
            Step::Checkpoint => {
                let _ = store.checkpoint();
                continue;
            }
            Step::Append(commit) => (vec![commit.clone()], vec![append(store, commit.clone())]),
            Step::Together(commits) => (commits.clone(), append_together(store, commits.clone())),
        };
        for (commit, result) in commits.into_iter().zip(results) {
            match result {
                Ok(_) => {
                    assert_eq!(outcome.acknowledged, outcome.attempted.len(), "an acknowledgement after a failure");
                    outcome.attempted.push(commit);
                    outcome.acknowledged += 1;
                }
                // Refused for good: such a commit must never be seen.
                Err(AppendError::Full { .. } | AppendError::Conflict { .. }) => {}
                Err(_) => outcome.attempted.push(commit),
            }
        }
        if outcome.acknowledged < outcome.attempted.len() {
            break;
        }
    }
    outcome
}

/// A workload over three streams that crosses batches, segments, sectors and checkpoints.
pub(crate) fn workload() -> Vec<Step> {
    let mut heads = [0u64; 3];
    let mut commit = |stream: usize, sizes: &[usize], index: Vec<IndexChange>| {
        let expected = heads[stream];
        heads[stream] += sizes.len() as u64;
        let numbered = sizes.iter().zip(expected + 1..);
        let records = numbered.map(|(size, n)| record(stream, n, *size)).collect();
        Commit { stream: format!("stream-{stream}").into(), partition: "p".into(), expected, records, index }
    };
    vec![
        Step::Append(commit(0, &[10], vec![put("a", "1"), put("b", "1")])),
        Step::Together(vec![
            commit(1, &[5, 600, 3], vec![put("c", "1")]),
            commit(0, &[700], vec![IndexChange::Delete { key: Bytes::from_static(b"a") }]),
            commit(1, &[40], vec![]),
        ]),
        Step::Checkpoint,
        Step::Append(commit(2, &[1200], vec![put("a", "2")])),
        Step::Together(vec![
            commit(2, &[0], vec![]),
            commit(0, &[900, 900], vec![put("b", "2")]),
            commit(2, &[33], vec![]),
        ]),
        // Larger than the first segment: the log rolls with room to spare.
        Step::Append(commit(1, &[5000], vec![put("d", &"v".repeat(300))])),
        Step::Checkpoint,
        Step::Together(vec![
            commit(0, &[100], vec![]),
            commit(1, &[2000], vec![put("a", "3")]),
            commit(0, &[1500], vec![]),
        ]),
        Step::Append(commit(2, &[1], vec![put("e", "")])),
    ]
}

/// A record that says which it is. Every fifth is zeros, which must not be taken for unwritten sectors.
fn record(stream: usize, sequence: u64, size: usize) -> Bytes {
    if sequence.is_multiple_of(5) {
        return Bytes::from(vec![0; size]);
    }
    format!("{stream}:{sequence};").bytes().cycle().take(size).collect::<Vec<u8>>().into()
}

/// What a store that holds exactly these commits answers.
pub(crate) fn dump_of(commits: &[Commit]) -> Dump {
    block_on(async {
        let store = MemoryStore::new();
        for commit in commits {
            factum_store::append_and_wait(&store, commit.clone()).await.unwrap();
        }
        dump(&store).await
    })
}

/// The one question: what is there is a prefix of what was attempted and holds all that was acknowledged, to the byte.
/// Returns how long the prefix is.
pub(crate) fn assert_prefix(store: &EmbeddedStore, outcome: &Outcome) -> usize {
    let found = block_on(dump(store));
    let kept = found.commits.len();
    assert!(kept >= outcome.acknowledged, "{kept} commits survived, {} were acknowledged", outcome.acknowledged);
    assert!(kept <= outcome.attempted.len(), "more commits than were ever handed over");
    assert_eq!(found, dump_of(&outcome.attempted[..kept]), "what survived is not what was written");
    kept
}
