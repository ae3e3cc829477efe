//! Random histories of jobs: whatever is done, crashes included, the engine and the reference model agree, and the log alone
//! gives the state and every row back.

use factum_model::value::Failure;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::json;

use super::model::{At, ModelJob};
use super::*;

/// Steps of the long run.
const LONG_RUN_STEPS: usize = 6_000;
/// Jobs that may be at work at once.
const JOBS_OPEN: usize = 4;

#[derive(Clone, Debug)]
enum Step {
    Create {
        items: usize,
        concurrency: usize,
        attempts: u32,
        workers: bool,
    },
    /// Of all runs that wait for a worker.
    Claim(usize),
    /// Of all items at work.
    Complete(usize),
    Fail {
        nth: usize,
        retryable: bool,
    },
    Report(usize),
    Release(usize),
    Expire(usize),
    Cancel(usize),
    Retry {
        job: usize,
        item: usize,
    },
    Wait(i64),
    Crash,
}

fn any_step() -> impl Strategy<Value = Step> {
    let n = || 0..64_usize;
    prop_oneof![
        2 => (1..9_usize, 1..4_usize, 1..4_u32, any::<bool>())
            .prop_map(|(items, concurrency, attempts, workers)| Step::Create { items, concurrency, attempts, workers }),
        8 => n().prop_map(Step::Claim),
        8 => n().prop_map(Step::Complete),
        6 => (n(), any::<bool>()).prop_map(|(nth, retryable)| Step::Fail { nth, retryable }),
        4 => n().prop_map(Step::Report),
        2 => n().prop_map(Step::Release),
        2 => n().prop_map(Step::Expire),
        1 => n().prop_map(Step::Cancel),
        3 => (n(), n()).prop_map(|(job, item)| Step::Retry { job, item }),
        4 => prop_oneof![Just(400), Just(1_000), Just(5_000), Just(31_000)].prop_map(Step::Wait),
        1 => Just(Step::Crash),
    ]
}

/// The engine and the model side by side.
struct Pair {
    world: World,
    jobs: Vec<ModelJob>,
    /// Tokens of leases, by job and item.
    tokens: std::collections::BTreeMap<(usize, usize), u64>,
}

fn name(job: usize) -> String {
    format!("j{job}")
}

impl Pair {
    fn new() -> Self {
        Self { world: World::idle(), jobs: Vec::new(), tokens: Default::default() }
    }

    fn now(&self) -> i64 {
        self.world.now.as_millisecond()
    }

    /// Items of open jobs where this holds.
    fn items(&self, is: impl Fn(&ModelJob, At) -> bool) -> Vec<(usize, usize)> {
        let open = self.jobs.iter().enumerate().filter(|(_, job)| job.is_open());
        open.flat_map(|(n, job)| {
            let items = job.items.iter().enumerate().filter(|(_, item)| is(job, item.at));
            items.map(move |(item, _)| (n, item)).collect::<Vec<_>>()
        })
        .collect()
    }

    fn pick(&self, nth: usize, is: impl Fn(&ModelJob, At) -> bool) -> Option<(usize, usize)> {
        let items = self.items(is);
        (!items.is_empty()).then(|| items[nth % items.len()])
    }

    fn run_of(&self, (job, item): (usize, usize)) -> RunId {
        self.world.item(&name(job), item as u64 + 1).expect("a row").run_id.expect("a run")
    }

    fn play(&mut self, step: Step) {
        let now = self.now();
        match step {
            Step::Create { items: count, concurrency, attempts, workers } => {
                if self.jobs.iter().filter(|job| job.is_open()).count() == JOBS_OPEN {
                    return;
                }
                let mut params = json!({
                    "job_id": name(self.jobs.len()), "items": items(count),
                    "max_concurrency": concurrency, "max_item_attempts": attempts,
                });
                if workers {
                    params["queue"] = json!("q");
                }
                self.world.create_job(params).expect("created");
                self.jobs.push(ModelJob::new(count, concurrency, attempts, workers));
            }
            Step::Claim(nth) => {
                let Some(at) = self.pick(nth, |job, at| at == At::Ready && job.status == JobStatus::Running) else {
                    return;
                };
                let token = self.world.claim(&self.run_of(at)).expect("claimed").lease_token;
                self.tokens.insert(at, token);
                self.jobs[at.0].claim(at.1);
            }
            Step::Complete(nth) => {
                let Some(at) = self.pick(nth, |_, at| at.is_held()) else { return };
                match self.jobs[at.0].workers {
                    true => self.world.complete_run(&self.run_of(at), self.tokens[&at]),
                    false => self.world.end_item(&name(at.0), at.1 as u64 + 1, None),
                };
                self.jobs[at.0].complete(at.1);
            }
            Step::Fail { nth, retryable } => {
                let Some(at) = self.pick(nth, |_, at| at.is_held()) else { return };
                let error = Failure { retryable, ..failure("broken") };
                match self.jobs[at.0].workers {
                    true => self.world.fail_run(&self.run_of(at), self.tokens[&at], retryable),
                    false => self.world.end_item(&name(at.0), at.1 as u64 + 1, Some(error)),
                };
                self.jobs[at.0].fail(at.1, retryable, now);
            }
            Step::Report(nth) => {
                let Some(at) = self.pick(nth, |job, at| job.workers && at.is_held()) else { return };
                self.world.report_result(&self.run_of(at), self.tokens[&at]);
                self.jobs[at.0].report(at.1);
            }
            Step::Release(nth) => {
                let Some(at) = self.pick(nth, |job, at| job.workers && at.is_held()) else { return };
                self.world.release_run(&self.run_of(at), self.tokens[&at]);
                self.jobs[at.0].release(at.1);
            }
            Step::Expire(nth) => {
                let Some(at) = self.pick(nth, |job, at| job.workers && at.is_held()) else { return };
                self.world.lose(&self.run_of(at), self.tokens[&at]);
                self.jobs[at.0].lose(at.1, now);
            }
            Step::Cancel(nth) => {
                let open: Vec<usize> = (0..self.jobs.len()).filter(|job| self.jobs[*job].is_open()).collect();
                if open.is_empty() {
                    return;
                }
                let job = open[nth % open.len()];
                self.world.cancel_job(&name(job));
                let settle_ms = self.world.limits.job_settle_ms as i64;
                self.jobs[job].cancel(now, settle_ms);
            }
            Step::Retry { job, item } => {
                let open = self.jobs.iter().filter(|job| job.is_open()).count();
                let recent = self.jobs.len().min(6);
                if recent == 0 {
                    return;
                }
                let job = self.jobs.len() - 1 - job % recent;
                let item = item % self.jobs[job].items.len();
                if open >= JOBS_OPEN && !self.jobs[job].is_open() {
                    return;
                }
                let told = self.world.retry_item(&name(job), item as u64 + 1);
                let taken_up = self.jobs[job].retry(item);
                assert_eq!(taken_up, told[0].starts_with("job.item.retrying"), "{told:?}");
            }
            Step::Wait(ms) => {
                self.world.later(ms);
                self.world.fire_due();
                let now = self.now();
                self.jobs.iter_mut().for_each(|job| job.pass(now));
            }
            Step::Crash => {
                let state = self.world.state.clone();
                self.world.watch.restore_from_snapshot(&state);
                self.world.recover();
                let attempts_max = self.world.limits.job_item_attempts_max;
                self.jobs.iter_mut().filter(|job| job.is_open()).for_each(|job| job.crash(attempts_max));
            }
        }
        self.compare();
    }

    /// Both see the same jobs and items. Jobs that ended long ago cannot change; the newest are enough.
    fn compare(&self) {
        let mut ready = 0;
        for (n, job) in self.jobs.iter().enumerate().rev().take(2 * JOBS_OPEN) {
            let record = self.world.record(&name(n));
            assert_eq!(record.status, job.status, "{}: {job:?}", name(n));
            let count = |status| job.count(|at| at.status() == status) as u64;
            let expected =
                [JobItemStatus::Pending, JobItemStatus::Running, JobItemStatus::Completed, JobItemStatus::Failed];
            assert_eq!(self.world.counts(&name(n)), expected.map(count), "{}: {job:?}", name(n));
            assert_eq!(record.progress.reported, count(JobItemStatus::Reported), "{}: {job:?}", name(n));
            for (item, model) in job.items.iter().enumerate() {
                let Some(row) = self.world.item(&name(n), item as u64 + 1) else {
                    assert_eq!((model.at.status(), model.attempts), (JobItemStatus::Pending, 0));
                    continue;
                };
                assert_eq!((row.status, row.attempt_count), (model.at.status(), model.attempts), "{} {item}", name(n));
            }
            if job.status == JobStatus::Running {
                ready += job.count(|at| at == At::Ready);
            }
        }
        if self.jobs.len() <= 2 * JOBS_OPEN {
            assert_eq!(self.world.ready().len(), ready, "what waits for a worker");
        }
        let leased = self.items(|job, at| job.workers && at.is_held()).len();
        assert_eq!(self.world.table("lease").count(), leased, "what workers hold");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_done_the_model_agrees_and_the_log_gives_everything_back(
        steps in proptest::collection::vec(any_step(), 0..160),
    ) {
        let mut pair = Pair::new();
        for step in steps {
            pair.play(step);
        }
        prop_assert_eq!(&pair.world.replayed(), &pair.world.state);
        prop_assert_eq!(pair.world.reindexed(), pair.world.index.clone());
    }
}

/// A long life. It also sees every kind of end, so the property above is not about nothing.
#[test]
fn a_long_history_sees_everything() {
    let mut runner = TestRunner::deterministic();
    let mut pair = Pair::new();
    for _ in 0..LONG_RUN_STEPS {
        let step = any_step().new_tree(&mut runner).expect("a step").current();
        pair.play(step);
    }
    for status in [JobStatus::Completed, JobStatus::Failed, JobStatus::Cancelled] {
        let count = pair.jobs.iter().filter(|job| job.status == status).count();
        assert!(count > 5, "{count} jobs are {status:?}");
    }
    let items = || pair.jobs.iter().flat_map(|job| &job.items);
    assert!(items().any(|item| item.attempts > 3), "items were retried by hand");
    assert!(items().any(|item| item.at == At::LeftReported), "workers vanished behind their reports");
    assert_eq!(pair.world.replayed(), pair.world.state);
    assert_eq!(pair.world.reindexed(), pair.world.index);
}
