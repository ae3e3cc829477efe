//! How long something took of this thread's own time, so that a busy machine does not look like a slow parser.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Fails where the work took more than this.
pub fn within<T>(most: Duration, what: &str, work: impl FnOnce() -> T) -> T {
    let started = now();
    let result = work();
    let took = now().saturating_sub(started);
    assert!(took <= most, "{what} took {took:?}, more than {most:?}");
    result
}

fn now() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}
