//! The machine around the disk: clock, limits, memory, port, kernel.

#![allow(clippy::disallowed_methods, reason = "compares the machine's clock with its files")]

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::{Duration, SystemTime};

use factum_store::Options;
use rustix::process::{Resource, getrlimit};

use super::Check;

/// Open files below this do not suffice for many connections.
const OPEN_FILES_LOW: u64 = 4_096;
/// Files from so far in the future mean that the clock was set back.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);
/// 2025: no machine that runs this is older.
const EPOCH_SECONDS_MIN: u64 = 1_735_689_600;

/// A clock that is wrong makes timers fire late and tokens look expired.
pub(super) fn clock(dir: &Path) -> Check {
    const NAME: &str = "clock";
    let now = SystemTime::now();
    if now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs()) < EPOCH_SECONDS_MIN {
        return Check::fail(NAME, "it is years behind", "set it, and keep it right with chrony or systemd-timesyncd");
    }
    let newest = [dir.join("log"), dir.join("index"), dir.to_owned()].iter().filter_map(modified).max();
    if newest.is_some_and(|newest| newest > now + CLOCK_TOLERANCE) {
        return Check::warn(
            NAME,
            "the data directory has files from the future",
            "was the clock set back? timers wait until it has caught up",
        );
    }
    Check::ok(NAME, factum_runtime::Clock::now(&factum_runtime::SystemClock).to_string())
}

fn modified(path: &std::path::PathBuf) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

pub(super) fn open_files() -> Check {
    const NAME: &str = "open files";
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < OPEN_FILES_LOW => Check::warn(
            NAME,
            format!("at most {limit}"),
            "each connection needs one: `ulimit -n 65536`, or LimitNOFILE= of the service",
        ),
        Some(limit) => Check::ok(NAME, format!("at most {limit}")),
        None => Check::ok(NAME, "no limit"),
    }
}

pub(super) fn memory(options: &Options) -> Check {
    const NAME: &str = "memory";
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let Some(available) = meminfo_bytes(&text, "MemAvailable:") else {
        return Check::warn(NAME, "cannot be told", "keep twice overlay_bytes_max free");
    };
    let what = format!("{:.1} GiB available", available as f64 / (1 << 30) as f64);
    let wanted = 2 * options.overlay_bytes_max as u64;
    if available < wanted {
        let advice =
            format!("the store may take up to {} MiB under load; lower overlay_bytes_max below [store]", wanted >> 20);
        return Check::warn(NAME, what, advice);
    }
    Check::ok(NAME, what)
}

fn meminfo_bytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

pub(super) fn port(listen: SocketAddr) -> Check {
    const NAME: &str = "port";
    match TcpListener::bind(listen) {
        Ok(_) => Check::ok(NAME, format!("{listen} is free")),
        Err(error) => Check::warn(
            NAME,
            format!("cannot listen on {listen}: {error}"),
            "is Factum running already? otherwise choose another --listen",
        ),
    }
}

/// What later versions may use to confine processes. Nothing here is needed to start.
pub(super) fn kernel() -> Check {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let release = read("/proc/sys/kernel/osrelease");
    let landlock = read("/sys/kernel/security/lsm").contains("landlock");
    let namespaces = read("/proc/sys/user/max_user_namespaces").trim().parse::<u64>().is_ok_and(|max| max > 0);
    let cgroups = !read("/sys/fs/cgroup/cgroup.controllers").is_empty();
    let has = |what: &str, is: bool| format!("{what} {}", if is { "yes" } else { "no" });
    let features = [has("landlock", landlock), has("user namespaces", namespaces), has("cgroups v2", cgroups)];
    let release = if release.trim().is_empty() { std::env::consts::OS } else { release.trim() };
    Check::ok("kernel", format!("{release}; {}", features.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::Grade;
    use super::*;

    #[test]
    fn memory_is_read_from_the_kernels_words() {
        let text = "MemTotal:       16384 kB\nMemAvailable:    1024 kB\n";
        assert_eq!(meminfo_bytes(text, "MemAvailable:"), Some(1 << 20));
        assert_eq!(meminfo_bytes("", "MemAvailable:"), None);
    }

    #[test]
    fn a_port_in_use_is_a_warning() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(port(taken.local_addr().unwrap()).grade, Grade::Warn);
    }
}
