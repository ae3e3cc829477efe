//! A load that is under way, and those who wait for it.
//!
//! It is a task of its own and no part of any of theirs. Whoever waits may stop being polled, because its client does not
//! read on or because it stands behind something else itself; a load that waited for it would then be one that everybody
//! else waits for. Those who wait go on in the order they came, so that what came first is decided first.

use std::sync::{Arc, OnceLock};

use factum_model::Refusal;
use tokio::sync::Notify;

use crate::aggregate::Aggregate;
use crate::cell::Cell;

#[derive(Default)]
pub(crate) struct Loading {
    outcome: OnceLock<Result<(), Refusal>>,
    over: Notify,
}

impl Loading {
    /// The load of a cell that is under way; where there is none, `begin` gets one to carry out.
    pub(crate) fn of<S: Aggregate>(cell: &Arc<Cell<S>>, begin: impl FnOnce(UnderWay<S>)) -> Arc<Self> {
        let mut under_way = cell.loading.lock();
        if let Some(loading) = &*under_way {
            return loading.clone();
        }
        let loading = Arc::<Self>::default();
        *under_way = Some(loading.clone());
        drop(under_way);
        begin(UnderWay { cell: cell.clone(), loading: loading.clone(), outcome: None });
        loading
    }

    /// Waits for how it ends.
    pub(crate) async fn outcome(&self) -> Result<(), Refusal> {
        let over = self.over.notified();
        tokio::pin!(over);
        // From here on its end is heard of, or has been by now.
        over.as_mut().enable();
        if self.outcome.get().is_none() {
            over.await;
        }
        self.outcome.get().cloned().unwrap_or_else(without_outcome)
    }
}

/// A load, in the hands of whoever carries it out. Dropped without an outcome it has failed, and the next one may begin.
pub(crate) struct UnderWay<S: Aggregate> {
    cell: Arc<Cell<S>>,
    loading: Arc<Loading>,
    outcome: Option<Result<(), Refusal>>,
}

impl<S: Aggregate> UnderWay<S> {
    pub(crate) fn cell(&self) -> &Arc<Cell<S>> {
        &self.cell
    }

    pub(crate) fn ended(mut self, outcome: Result<(), Refusal>) {
        self.outcome = Some(outcome);
    }
}

impl<S: Aggregate> Drop for UnderWay<S> {
    fn drop(&mut self) {
        // In this order: whoever comes now finds another load or none, never one that is over.
        *self.cell.loading.lock() = None;
        let outcome = self.outcome.take().unwrap_or_else(without_outcome);
        self.loading.outcome.get_or_init(|| outcome);
        self.loading.over.notify_waiters();
    }
}

fn without_outcome() -> Result<(), Refusal> {
    Err(Refusal::internal("loading this did not come to its end"))
}
