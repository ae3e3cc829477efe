//! Opening a log that was damaged in any way: it is refused as damaged, or what is there is a true prefix of what was
//! committed, to the byte, and the store goes on from it. Where even the checksums were put right behind the damage, opening,
//! reading, `verify` and `repair` still come to an end without a panic.

#![no_main]

use std::path::Path;
use std::sync::{Arc, OnceLock, mpsc};

use arbitrary::Arbitrary;
use bytes::Bytes;
use factum_store::fuzzing::reseal_segment;
use factum_store::sim::SimDisk;
use factum_store::{
    Commit, Disk, EmbeddedStore, IndexChange, OpenError, Options, ReadLimit, RepairMode, Store, StoredCommit,
    append_and_wait, repair_truncate_tail_on, verify_on,
};
use futures::executor::block_on;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Damage {
    /// Whether checksums are put right afterwards.
    reseal: bool,
    /// Whether the derived index is still there.
    index: bool,
    verify: bool,
    repair: bool,
    changes: Vec<Change>,
}

#[derive(Arbitrary, Debug)]
enum Change {
    Flip {
        file: u8,
        bit: u32,
    },
    Write {
        file: u8,
        at: u16,
        bytes: Vec<u8>,
    },
    Zero {
        file: u8,
        sector: u8,
        count: u8,
    },
    Cut {
        file: u8,
        len: u16,
    },
    Grow {
        file: u8,
        by: u16,
    },
    Copy {
        file: u8,
        from: u16,
        to: u16,
        len: u16,
    },
    Delete {
        file: u8,
    },
    Swap {
        one: u8,
        other: u8,
    },
    /// One field of the header of a segment, of a commit, or of a commit's body.
    Field {
        file: u8,
        frame: u8,
        field: u8,
        value: u64,
    },
    Format {
        bytes: Vec<u8>,
    },
    Leftover {
        bytes: Vec<u8>,
    },
}

/// Where the fields are, and how long: those of a segment's header first, then those of a frame from its beginning.
const FIELDS: [(usize, usize); 14] = [
    (8, 4),
    (16, 8),
    (24, 8),
    (32, 8),
    (40, 4),
    (4, 4),
    (8, 8),
    (16, 8),
    (32, 4),
    (72, 8),
    (80, 2),
    (82, 2),
    (84, 4),
    (88, 4),
];
const OF_SEGMENT: usize = 5;

/// A log that was written, and what is in it.
struct Written {
    disk: SimDisk,
    index: tempfile::TempDir,
    commits: Vec<StoredCommit>,
}

fuzz_target!(|damage: Damage| {
    static WRITTEN: OnceLock<Written> = OnceLock::new();
    let written = WRITTEN.get_or_init(write);
    let disk = written.disk.fork(1);
    damage.changes.iter().for_each(|change| apply(&disk, change));
    if damage.reseal {
        reseal(&disk);
    }
    let folder = folder();
    let index = folder.path().join("index");
    if damage.index {
        copy(written.index.path(), &index);
    }
    let disk: Arc<dyn Disk> = Arc::new(disk);
    let findings =
        damage.verify.then(|| verify_on(&disk, &index, &mut |_| ()).map_or(1, |report| report.findings.len()));
    if damage.repair {
        // Refused where the last segment cannot be told from another file.
        drop(repair_truncate_tail_on(&*disk, &index, RepairMode::Apply));
    }
    match EmbeddedStore::open_on(disk.clone(), &index, Options::tiny()) {
        Err(OpenError::Damaged { .. } | OpenError::Format { .. }) => {
            // Nothing that stops a start is overlooked by whoever looks closer. A repair may have changed what there is.
            assert!(damage.repair || findings != Some(0), "refused, and verify found nothing");
        }
        Err(error) => assert!(damage.reseal, "not refused as damage: {error}"),
        Ok((store, _)) if damage.reseal => drop(read(&store)),
        Ok((store, _)) => goes_on(store, &disk, &index, &written.commits),
    }
});

/// What is there is a prefix, and a commit behind it survives the next start.
fn goes_on(store: EmbeddedStore, disk: &Arc<dyn Disk>, index: &Path, commits: &[StoredCommit]) {
    let Some(before) = read(&store) else {
        // Damage in front of what the index knows is met when it is read.
        return;
    };
    assert!(commits.starts_with(&before), "what is there was never written");
    let receipt = block_on(append_and_wait(&store, commit("after", 0, &[b"x"]))).expect("there is room");
    block_on(store.close());
    drop(store);
    let (store, report) = EmbeddedStore::open_on(disk.clone(), index, Options::tiny()).expect("it was fine before");
    assert_eq!(report.position, receipt.position);
    let after = read(&store).expect("it was fine before");
    assert_eq!(after.len(), before.len() + 1);
    assert!(after.starts_with(&before), "the past has changed");
}

/// Every commit, and every stream by itself; `None` where something cannot be read.
fn read(store: &EmbeddedStore) -> Option<Vec<StoredCommit>> {
    let all = ReadLimit { records: usize::MAX, bytes: usize::MAX };
    let commits = block_on(store.feed(0, all)).ok()?;
    for name in ["one", "two", "after"] {
        let records = block_on(store.read(name, 1, all)).ok()?;
        let expected =
            commits.iter().filter(|commit| &*commit.stream == name).flat_map(|commit| commit.records.clone());
        assert!(
            records.iter().map(|record| record.bytes.clone()).eq(expected),
            "stream {name} is not what the feed says"
        );
        assert!(records.iter().zip(1..).all(|(record, sequence)| record.sequence == sequence));
    }
    Some(commits)
}

fn apply(disk: &SimDisk, change: &Change) {
    let names: Vec<String> = disk.names().into_iter().filter(|name| name.ends_with(".seg")).collect();
    let name = |file: u8| names.get(usize::from(file) % names.len().max(1)).cloned().unwrap_or_default();
    let edit = |file: u8, edit: &dyn Fn(&mut Vec<u8>)| {
        if let Some(mut bytes) = disk.contents(&name(file)) {
            edit(&mut bytes);
            disk.set_contents(&name(file), bytes);
        }
    };
    match change {
        Change::Flip { file, bit } => edit(*file, &|bytes| {
            let at = *bit as usize % (bytes.len() * 8).max(1);
            bytes.iter_mut().nth(at / 8).into_iter().for_each(|byte| *byte ^= 1 << (at % 8));
        }),
        Change::Write { file, at, bytes: new } => edit(*file, &|bytes| {
            let at = usize::from(*at) % bytes.len().max(1);
            bytes.iter_mut().skip(at).zip(new).for_each(|(byte, new)| *byte = *new);
        }),
        Change::Zero { file, sector, count } => edit(*file, &|bytes| {
            bytes
                .iter_mut()
                .skip(usize::from(*sector) * 512)
                .take(usize::from(*count) * 512)
                .for_each(|byte| *byte = 0);
        }),
        Change::Cut { file, len } => edit(*file, &|bytes| bytes.truncate(usize::from(*len))),
        Change::Grow { file, by } => edit(*file, &|bytes| bytes.resize(bytes.len() + usize::from(*by), 0)),
        Change::Copy { file, from, to, len } => edit(*file, &|bytes| {
            let part: Vec<u8> = bytes.iter().skip(usize::from(*from)).take(usize::from(*len)).copied().collect();
            bytes.iter_mut().skip(usize::from(*to)).zip(part).for_each(|(byte, new)| *byte = new);
        }),
        Change::Delete { file } => disk.delete(&name(*file)),
        Change::Swap { one, other } => {
            if let (Some(first), Some(second)) = (disk.contents(&name(*one)), disk.contents(&name(*other))) {
                disk.set_contents(&name(*one), second);
                disk.set_contents(&name(*other), first);
            }
        }
        Change::Field { file, frame, field, value } => edit(*file, &|bytes| {
            let places = (0..bytes.len()).step_by(8);
            let frames: Vec<usize> = places.filter(|at| bytes[*at..].starts_with(b"FCT1")).collect();
            let at = frames.get(usize::from(*frame) % frames.len().max(1)).copied().unwrap_or_default();
            let (from, len) = FIELDS[usize::from(*field) % FIELDS.len()];
            let from = if usize::from(*field) % FIELDS.len() < OF_SEGMENT { from } else { at + from };
            // Capacities are believed where the checksum is right; gigabytes of zeros are not what this is about.
            let value = if from == 24 { value & 0xffff } else { *value };
            bytes.iter_mut().skip(from).zip(value.to_le_bytes()).take(len).for_each(|(byte, new)| *byte = new);
        }),
        Change::Format { bytes } => disk.set_contents("FORMAT", bytes.clone()),
        Change::Leftover { bytes } => disk.set_contents("log/next.tmp", bytes.clone()),
    }
}

fn reseal(disk: &SimDisk) {
    for name in disk.names().into_iter().filter(|name| name.ends_with(".seg")) {
        let mut bytes = disk.contents(&name).unwrap_or_default();
        reseal_segment(&mut bytes);
        disk.set_contents(&name, bytes);
    }
}

/// Batches of one and of several commits, over two streams and several segments, some of it zeros.
fn write() -> Written {
    let (disk, index) = (SimDisk::new(1), folder());
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let (store, _) = EmbeddedStore::open_on(shared, index.path(), Options::tiny()).expect("a new store");
    let (zeros, text, long) = ([0; 900], [b'x'; 700], [b'y'; 5_000]);
    together(&store, vec![commit("one", 0, &[b"first"])]);
    together(
        &store,
        vec![commit("one", 1, &[&text]), commit("two", 0, &[b"", &zeros, b"b"]), commit("one", 2, &[b"c"])],
    );
    together(&store, vec![commit("two", 3, &[&zeros, &zeros])]);
    store.checkpoint().expect("a checkpoint");
    together(&store, vec![commit("one", 3, &[&long])]);
    together(&store, vec![commit("two", 5, &[b"d"]), commit("one", 4, &[&text, &text]), commit("two", 6, &[b"e"])]);
    let commits = read(&store).expect("nothing is damaged yet");
    // Not closed: the index knows the first half and the rest is replayed.
    drop(store);
    Written { disk, index, commits }
}

fn commit(stream: &str, expected: u64, records: &[&[u8]]) -> Commit {
    let records: Vec<Bytes> = records.iter().map(|record| Bytes::copy_from_slice(record)).collect();
    let index = vec![
        IndexChange::Put { key: Bytes::from(format!("{stream}/{expected}")), value: records[0].clone() },
        IndexChange::Delete { key: Bytes::from_static(b"gone") },
    ];
    Commit { stream: stream.into(), partition: "p".into(), expected, records, index }
}

/// All behind the first are one batch: its callback holds the writer until the others wait.
fn together(store: &EmbeddedStore, commits: Vec<Commit>) {
    let (open_gate, gate) = mpsc::channel::<()>();
    let (sender, done) = mpsc::channel();
    let (count, mut gate) = (commits.len(), Some(gate));
    for commit in commits {
        let (sender, gate) = (sender.clone(), gate.take());
        store.append(
            commit,
            Box::new(move |outcome| {
                gate.map(|gate| gate.recv());
                sender.send(outcome).expect("somebody waits");
            }),
        );
    }
    open_gate.send(()).expect("the writer waits");
    assert!((0..count).all(|_| done.recv().expect("an answer").is_ok()));
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        std::fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy");
    }
}
