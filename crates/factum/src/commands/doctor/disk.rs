//! The disk below the data directory: can it be written, is it a real one, how long does a sync take.

#![allow(clippy::disallowed_methods, reason = "measures a disk with files of its own, which it removes again")]

use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

use factum_store::{EmbeddedStore, Options};
use rustix::fs::{statfs, statvfs};

use super::Check;
use crate::secret;

/// Syncs that are measured, and the bytes of each.
const SYNCS: usize = 200;
const SYNC_BYTES: usize = 4096;
/// A median below this cannot have reached a device.
const SYNC_SUSPICIOUS: Duration = Duration::from_micros(5);
/// A 99th percentile above this makes commits feel slow.
const SYNC_SLOW: Duration = Duration::from_millis(25);
/// Free space below the first is a failure, below the second worth a warning.
const FREE_BYTES_MIN: u64 = 256 << 20;
const FREE_BYTES_LOW: u64 = 5 << 30;

/// File systems by their magic number, and whether a store should lie on them.
const FILE_SYSTEMS: &[(u64, &str, Fit)] = &[
    (0xef53, "ext4", Fit::Good),
    (0x5846_5342, "xfs", Fit::Good),
    (0x9123_683e, "btrfs", Fit::Slow("it copies on every write; chattr +C on the empty directory helps")),
    (0x2fc1_2fc1, "zfs", Fit::Good),
    (0xf2f5_2010, "f2fs", Fit::Good),
    (
        0x794c_7630,
        "overlayfs",
        Fit::Slow("put the data on a volume: what is written here may vanish with the container"),
    ),
    (0x0102_1994, "tmpfs", Fit::Bad("it is memory: everything is gone after a restart. Choose a directory on a disk")),
    (0x6969, "nfs", Fit::Bad("locks and syncs over a network cannot be relied on. Choose a local disk")),
    (0xff53_4d42, "cifs", Fit::Bad("locks and syncs over a network cannot be relied on. Choose a local disk")),
    (0x6573_5546, "fuse", Fit::Slow("whether a sync reaches a device depends on the program behind it")),
    (0x0102_1997, "9p", Fit::Slow("whether a sync reaches a device depends on the host")),
];

#[derive(Clone, Copy)]
enum Fit {
    Good,
    Slow(&'static str),
    Bad(&'static str),
}

pub(super) fn writable(dir: &Path) -> Check {
    const NAME: &str = "data directory";
    let tried = std::fs::create_dir_all(dir).and_then(|()| tempfile::NamedTempFile::new_in(dir));
    match tried {
        Ok(_) => Check::ok(NAME, format!("{} can be written", dir.display())),
        Err(error) => Check::fail(
            NAME,
            format!("{} cannot be written: {error}", dir.display()),
            "give the user that runs Factum the right to write there, or choose another --data-dir",
        ),
    }
}

pub(super) fn file_system(dir: &Path) -> Check {
    const NAME: &str = "file system";
    let Ok(stat) = statfs(dir) else { return Check::warn(NAME, "cannot be told", "look at `df -T`") };
    // The kernel's type is signed on some machines and not on others.
    let magic = stat.f_type as u64 & 0xffff_ffff;
    match FILE_SYSTEMS.iter().find(|(known, _, _)| *known == magic) {
        Some((_, name, Fit::Good)) => Check::ok(NAME, *name),
        Some((_, name, Fit::Slow(why))) => Check::warn(NAME, *name, *why),
        Some((_, name, Fit::Bad(why))) => Check::fail(NAME, *name, *why),
        None => Check::warn(NAME, format!("unknown (0x{magic:x})"), "it has to keep what fdatasync promises"),
    }
}

pub(super) fn free_space(dir: &Path) -> Check {
    const NAME: &str = "free space";
    let Ok(stat) = statvfs(dir) else { return Check::warn(NAME, "cannot be told", "look at `df`") };
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    let what = format!("{:.1} GiB", free as f64 / (1 << 30) as f64);
    if free < FREE_BYTES_MIN {
        Check::fail(NAME, what, "free some: without room for the next segment commits are refused")
    } else if free < FREE_BYTES_LOW {
        Check::warn(NAME, what, "the log only grows; plan for more")
    } else {
        Check::ok(NAME, what)
    }
}

pub(super) fn sync_latency(dir: &Path) -> Check {
    const NAME: &str = "sync latency";
    match measure(dir) {
        Ok(durations) => grade_latency(NAME, &durations),
        Err(error) => Check::fail(NAME, format!("a sync failed: {error}"), "look at the disk: commits would fail too"),
    }
}

fn measure(dir: &Path) -> std::io::Result<Vec<Duration>> {
    let file = tempfile::tempfile_in(dir)?;
    // Into space that is written already, as the log does it.
    file.write_all_at(&vec![0; SYNCS * SYNC_BYTES], 0)?;
    file.sync_all()?;
    let mut durations = Vec::with_capacity(SYNCS);
    for index in 0..SYNCS {
        let start = Instant::now();
        file.write_all_at(&[1; SYNC_BYTES], (index * SYNC_BYTES) as u64)?;
        file.sync_data()?;
        durations.push(start.elapsed());
    }
    durations.sort_unstable();
    Ok(durations)
}

fn grade_latency(name: &'static str, sorted: &[Duration]) -> Check {
    let at = |percent: usize| sorted.get(sorted.len() * percent / 100).copied().unwrap_or_default();
    let (median, p99) = (at(50), at(99));
    let what = format!("p50 {} p99 {} over {} syncs of {SYNC_BYTES} bytes", shown(median), shown(p99), sorted.len());
    if median < SYNC_SUSPICIOUS {
        Check::warn(name, what, "no device is that fast: what is synced here may not survive a power failure")
    } else if p99 > SYNC_SLOW {
        Check::warn(name, what, "commits wait for a sync; a local SSD takes about a millisecond")
    } else {
        Check::ok(name, what)
    }
}

fn shown(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1_000.0)
}

/// Opens a store of its own beside the real one: locks, segments and LMDB's address space, all in one go.
pub(super) fn scratch_store(dir: &Path, options: &Options) -> Check {
    const NAME: &str = "store";
    let opened = tempfile::Builder::new().prefix(".doctor-").tempdir_in(dir).map_err(|error| error.to_string());
    let opened = opened.and_then(|scratch| {
        EmbeddedStore::open(scratch.path(), options.clone()).map(|_| ()).map_err(|error| error.to_string())
    });
    let map = options.index_map_bytes >> 30;
    match opened {
        Ok(()) => Check::ok(NAME, format!("a new one opens here; up to {map} GiB of address space for the index")),
        Err(error) => Check::fail(
            NAME,
            format!("a new one does not open here: {error}"),
            "lower index_map_bytes below [store], or look at `ulimit -v`",
        ),
    }
}

pub(super) fn secret(dir: &Path) -> Check {
    const NAME: &str = "secret";
    match std::fs::metadata(dir.join(secret::FILE)) {
        Ok(metadata) if metadata.mode() & 0o077 != 0 => {
            Check::fail(NAME, "others on this machine may read it", secret::exposed_advice(dir))
        }
        Ok(_) => Check::ok(NAME, "readable by its owner only"),
        Err(_) => Check::ok(NAME, "not made yet; the first start does"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Grade;
    use super::*;

    #[test]
    fn latencies_are_graded() {
        let grade = |micros: &[u64]| {
            let durations: Vec<Duration> = micros.iter().map(|micros| Duration::from_micros(*micros)).collect();
            grade_latency("sync latency", &durations).grade
        };
        assert_eq!(grade(&[300, 400, 900]), Grade::Ok);
        assert_eq!(grade(&[1, 1, 2]), Grade::Warn);
        assert_eq!(grade(&[300, 400, 90_000]), Grade::Warn);
    }
}
