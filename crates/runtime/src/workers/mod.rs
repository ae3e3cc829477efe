//! Workers outside the process: how they find runs, wait for them, and are missed when they go.
//!
//! ```text
//!   claim_runs ─► search: the ready rows, queue by queue, only what the worker can do
//!        │           └─ reserve one, so that no two workers try the same ─► engine decides ─► durable
//!        └─ nothing ready ─► waiting: in line, asleep ◄── a commit with a ready row wakes exactly one
//!
//!   heartbeat_run ─► leases: a deadline in memory, moved without writing ─► passed ─► engine: the run is lost
//! ```
//!
//! What a claim, a report or a lost lease means is decided in `engine::session::workers`. Nothing here has to survive: rows
//! of the index say what is ready and what is held, and after a restart every lease begins anew.

mod claim;
mod complete;
mod fail;
mod groups;
mod heads;
mod heartbeat;
mod keeper;
mod late;
mod leases;
mod release;
mod report;
mod reserved;
mod search;
mod waiting;

use std::time::Duration;

use factum_engine::IndexChange;
use factum_engine::session::workers::{LeaseRow, keys};
use factum_model::Command;
use factum_model::commands::ClaimRuns;

use crate::options::ShellLimits;
use crate::runtime::Runtime;
use heads::Heads;
use late::LateReports;
use leases::Leases;
use reserved::Reserved;
use waiting::{Waiting, Wake};

pub(crate) use keeper::keep;

impl Runtime {
    /// How much longer than others a command may take, because it waits for something to happen.
    pub fn wait_max(&self, command: &str) -> Duration {
        if command == ClaimRuns::NAME { self.0.shell.claim_wait_max } else { Duration::ZERO }
    }
}

/// What is known in memory of workers and their runs.
pub(crate) struct Workers {
    waiting: Waiting,
    reserved: Reserved,
    heads: Heads,
    leases: Leases,
    late: LateReports,
}

impl Workers {
    pub(crate) fn new(limits: &ShellLimits) -> Self {
        Self {
            waiting: Waiting::new(limits.waiting_workers_max),
            reserved: Reserved::default(),
            heads: Heads::default(),
            leases: Leases::default(),
            late: LateReports::default(),
        }
    }

    /// Takes note of a commit that is durable. Called in commit order, on the store's thread.
    pub(crate) fn committed(&self, news: News) {
        for (key, row) in news.leased {
            self.leases.begin(key, row);
        }
        for key in news.ended {
            self.leases.end(&key);
        }
        for key in &news.put {
            self.heads.put(key);
        }
        for wake in news.ready {
            self.waiting.wake(wake);
        }
    }
}

/// What a commit changes for workers.
#[derive(Default)]
pub(crate) struct News {
    ready: Vec<Wake>,
    /// The keys of ready rows.
    put: Vec<Vec<u8>>,
    leased: Vec<(leases::Key, LeaseRow)>,
    ended: Vec<leases::Key>,
}

impl News {
    /// What these changes of the index say; nothing for almost every commit.
    pub(crate) fn of(index: &[IndexChange]) -> Option<Box<News>> {
        let mut news: Option<Box<News>> = None;
        for change in index {
            match change {
                IndexChange::Put { key, .. } if key.starts_with(b"ready\0") => {
                    let news = news.get_or_insert_default();
                    news.ready.extend(Wake::of(key));
                    news.put.push(key.clone());
                }
                IndexChange::Put { key, value } if key.starts_with(b"lease\0") => {
                    let row = serde_json::from_slice(value).ok();
                    news.get_or_insert_default().leased.extend(keys::read_lease(key).zip(row));
                }
                IndexChange::Delete { key } if key.starts_with(b"lease\0") => {
                    news.get_or_insert_default().ended.extend(keys::read_lease(key));
                }
                _ => {}
            }
        }
        news
    }
}
