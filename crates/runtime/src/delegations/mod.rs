//! Runs that agents elsewhere do: telling them, following them, answering them, stopping them.
//!
//! The core says what is to be done next (`factum_engine::session::delegations::next`); a [`Delegate`] knows how to speak
//! to peers; the driver here does the one with the other and records what came of it. A driver keeps nothing that is
//! not in the log except where a stream left off. It runs as long as its delegation is open: a restart starts it again,
//! and then it asks the peer before it sends anything (`give`, `answer`).

mod answer;
mod backoff;
mod contract;
mod driver;
mod follow;
mod give;
mod news;
mod open;
mod rejected;
mod tool;

use std::sync::Arc;

use factum_engine::session::delegations::peer_named;
use factum_model::Refusal;
use factum_model::id::RunId;
use tokio::sync::Notify;

pub use contract::{
    Answer, ArtifactContent, Delegate, Described, Errand, Follow, Found, Given, PeerView, Remote, Trouble,
    ViewedArtifact,
};

pub use factum_engine::session::delegations::{Terms, WORDS_MAX};
pub(crate) use open::OpenDelegations;
pub(crate) use tool::run as run_tool;

use crate::runtime::Runtime;
use crate::session::SessionCell;

/// Whoever sees to one run that a peer does.
pub(crate) struct Driver {
    run_id: RunId,
    wake: Arc<Notify>,
}

/// The drivers of a session: almost always none.
#[derive(Default)]
pub(crate) struct Drivers(Vec<Driver>);

impl Drivers {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn wake_all(&self) {
        for driver in &self.0 {
            driver.wake.notify_one();
        }
    }

    fn get(&self, run_id: &RunId) -> Option<&Driver> {
        self.0.iter().find(|driver| driver.run_id == *run_id)
    }

    fn remove(&mut self, run_id: &RunId) {
        self.0.retain(|driver| driver.run_id != *run_id);
    }
}

impl Runtime {
    /// Sees to a run, unless somebody does already: then they look again.
    pub(crate) fn delegate(&self, cell: &Arc<SessionCell>, run_id: RunId, fresh: bool) {
        if self.is_closing() {
            return;
        }
        let wake = Arc::new(Notify::new());
        {
            let mut work = cell.work.lock();
            if let Some(driver) = work.drivers.get(&run_id) {
                driver.wake.notify_one();
                return;
            }
            work.drivers.0.push(Driver { run_id: run_id.clone(), wake: wake.clone() });
        }
        self.spawn(driver::drive(self.clone(), cell.clone(), run_id, wake, fresh));
    }

    /// Refuses to give anything to a peer that is not configured.
    pub(crate) fn require_peer<'a>(&self, named: impl IntoIterator<Item = &'a str>) -> Result<(), Refusal> {
        for name in named {
            let peers = self.0.delegate.as_ref().map(|delegate| delegate.peers()).unwrap_or_default();
            if !peers.iter().any(|known| known == name) {
                let known = if peers.is_empty() { "there are none".to_owned() } else { peers.join(", ") };
                let message = format!("there is no peer named {name:?}; [peers] of the configuration names: {known}");
                return Err(Refusal::invalid(message).with("peer", name));
            }
        }
        Ok(())
    }

    /// The same for workers and assignees, which may be peers.
    pub(crate) fn require_peer_of(&self, worker: Option<&str>) -> Result<(), Refusal> {
        self.require_peer(worker.and_then(peer_named))
    }
}
