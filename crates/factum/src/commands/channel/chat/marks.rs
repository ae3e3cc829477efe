//! Marking as read what was shown: the newest of it, now and then, and once more at the end.
//!
//! How far somebody has read is one number, so a mark covers everything before it. Whether that is true is decided before
//! this is started. A mark is a convenience. One that fails is not worth a word; the next says the same and more.

use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::super::Here;
use super::super::read::mark;
use super::super::target::Target;

/// Each mark is a write, so there is one in this time at most.
const EVERY: Duration = Duration::from_secs(1);
/// How long leaving may take.
const LAST_TIMEOUT: Duration = Duration::from_secs(2);

/// What was shown, on its way to the server.
pub(super) struct Marks {
    shown: watch::Sender<u64>,
    /// How far it was read before.
    before: u64,
    /// Absent where nothing is to be marked.
    work: Option<Work>,
}

struct Work {
    here: Here,
    target: Target,
    task: JoinHandle<()>,
}

impl Marks {
    /// Marks what is shown from now on, behind what was read before.
    pub(super) fn start(target: &Target, before: u64, here: &Here) -> Self {
        let (shown, seen) = watch::channel(before);
        let task = tokio::spawn(keep_marking(target.clone(), here.clone(), seen));
        let work = Work { here: here.clone(), target: target.clone(), task };
        Self { shown, before, work: Some(work) }
    }

    /// Marks nothing.
    pub(super) fn none() -> Self {
        Self { shown: watch::Sender::new(0), before: 0, work: None }
    }

    pub(super) fn shown(&self, sequence: u64) {
        self.shown.send_if_modified(|shown| {
            let newer = sequence > *shown;
            *shown = sequence.max(*shown);
            newer
        });
    }

    /// The last mark.
    pub(super) async fn finish(self) {
        let Some(work) = self.work else { return };
        work.task.abort();
        let shown = *self.shown.borrow();
        if shown > self.before {
            let _ = timeout(LAST_TIMEOUT, work.here.run(&mark(&work.target, shown))).await;
        }
    }
}

async fn keep_marking(target: Target, here: Here, mut shown: watch::Receiver<u64>) {
    let mut pace = interval(EVERY);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while shown.changed().await.is_ok() {
        pace.tick().await;
        let sequence = *shown.borrow_and_update();
        if let Err(error) = here.run(&mark(&target, sequence)).await {
            tracing::info!(%error, sequence, "not marked as read");
        }
    }
}
