//! How the store's own threads are started, and what the system is told of them.
//!
//! They wake for every batch, work for some microseconds and sleep for a device. The system would take that for a thread somebody
//! waits for, and give it a processor at once, in front of whoever is about to commit more: batches get smaller, and every
//! commit pays for more of a sync. So they are batch work to it (`SCHED_BATCH`): woken as soon as ever where a processor is
//! idle, and behind those who are at work where none is.

use std::thread::JoinHandle;

use crate::error::OpenError;

pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, OpenError> {
    let work = move || {
        be_batch_work();
        work();
    };
    let spawned = std::thread::Builder::new().name(name.into()).spawn(work);
    spawned.map_err(OpenError::io(format!("starting the thread {name}")))
}

/// Where the system does not allow it, everything is as correct, and slower under load.
#[cfg(target_os = "linux")]
fn be_batch_work() {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: it reads one struct, which outlives the call, and changes the thread that calls.
    #[allow(unsafe_code)]
    let error = unsafe { libc::pthread_setschedparam(libc::pthread_self(), libc::SCHED_BATCH, &raw const parameters) };
    if error != 0 {
        let error = std::io::Error::from_raw_os_error(error);
        tracing::debug!(%error, "a thread of the store keeps the usual scheduling");
    }
}

#[cfg(not(target_os = "linux"))]
fn be_batch_work() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn its_threads_are_batch_work() {
        let (sender, receiver) = mpsc::channel();
        let policy = || {
            // SAFETY: it takes no pointer; 0 is the thread that calls.
            #[allow(unsafe_code)]
            unsafe {
                libc::sched_getscheduler(0)
            }
        };
        let thread = spawn("factum-test", move || sender.send(policy()).unwrap()).unwrap();
        thread.join().unwrap();
        assert_eq!(receiver.recv().unwrap(), libc::SCHED_BATCH);
    }
}
