//! Reports that come too late: refused, and recorded, but not so often that a worker that does not give up fills the log.

use std::time::Duration;

use factum_engine::session::SessionState;
use factum_engine::session::workers::{LATE_REPORT, record_late_report};
use factum_model::Refusal;
use factum_model::id::{RunId, SessionId};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::time::Instant;

use super::leases::Key;
use crate::caller::Caller;
use crate::commit::Accept;
use crate::runtime::Runtime;

/// How many late reports on one run are recorded in a window.
const RECORDED_MAX: u32 = 5;
const WINDOW: Duration = Duration::from_secs(60);
/// How many runs are counted at once. Late reports on further ones are refused without a record.
const RUNS_MAX: usize = 10_000;

#[derive(Default)]
pub(super) struct LateReports(Mutex<FxHashMap<Key, Window>>);

struct Window {
    since: Instant,
    recorded: u32,
}

impl LateReports {
    /// Whether one more is to be recorded.
    fn admit(&self, key: Key, now: Instant) -> bool {
        let mut windows = self.0.lock();
        if windows.len() >= RUNS_MAX && !windows.contains_key(&key) {
            windows.retain(|_, window| now - window.since < WINDOW);
            if windows.len() >= RUNS_MAX {
                return false;
            }
        }
        let window = windows.entry(key).or_insert(Window { since: now, recorded: 0 });
        if now - window.since >= WINDOW {
            *window = Window { since: now, recorded: 0 };
        }
        window.recorded += 1;
        window.recorded <= RECORDED_MAX
    }
}

impl Runtime {
    /// Records a late report, if that is what was refused.
    pub(super) async fn record_if_late(
        &self,
        caller: &Caller,
        session_id: &SessionId,
        run_id: &RunId,
        report: Report,
        refusal: &Refusal,
    ) {
        if refusal.details.get("cause").and_then(|cause| cause.as_str()) != Some(LATE_REPORT) {
            return;
        }
        if !self.0.workers.late.admit((caller.account.to_string(), run_id.clone()), Instant::now()) {
            return;
        }
        let actor = caller.actor();
        let recorded = self
            .execute(&caller.account, session_id, &actor, &Accept::default(), |state: &SessionState, context| {
                record_late_report(state, run_id, report.token, report.command, context)
            })
            .await;
        if let Err(error) = recorded {
            tracing::warn!(%run_id, %error, "a late report could not be recorded");
        }
    }
}

/// What was reported, and with which token.
#[derive(Clone, Copy)]
pub(super) struct Report {
    pub(super) command: &'static str,
    pub(super) token: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_a_few_in_a_window_and_again_in_the_next() {
        let late = LateReports::default();
        let run = |name: &str| ("acme".to_owned(), name.parse::<RunId>().unwrap());
        let start = Instant::now();
        let admitted = (0..20).filter(|_| late.admit(run("a"), start)).count();
        assert_eq!(admitted as u32, RECORDED_MAX);
        assert!(late.admit(run("b"), start), "each run is counted alone");
        assert!(!late.admit(run("a"), start + WINDOW / 2));
        assert!(late.admit(run("a"), start + WINDOW));
    }

    #[test]
    fn counts_a_bounded_number_of_runs() {
        let late = LateReports::default();
        let run = |number: usize| ("acme".to_owned(), format!("run_{number}").parse::<RunId>().unwrap());
        let start = Instant::now();
        assert!((0..RUNS_MAX).all(|number| late.admit(run(number), start)));
        assert!(!late.admit(run(RUNS_MAX), start));
        assert!(late.admit(run(RUNS_MAX), start + WINDOW), "those of an older window make room");
        assert_eq!(late.0.lock().len(), 1);
    }
}
