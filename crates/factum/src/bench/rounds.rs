//! What the turns of one side gave, and how it is shown.

use std::time::Duration;

use anyhow::Result;

use super::load::Load;
use super::measure::{Latencies, middle, middle_ratio};
use super::report::Cell;

pub(super) struct Rounds {
    rates: Vec<f64>,
    latencies: Latencies,
}

impl Rounds {
    pub(super) fn new() -> Result<Self> {
        Ok(Self { rates: Vec::new(), latencies: Latencies::new()? })
    }

    pub(super) fn add(&mut self, load: Load) {
        self.rates.push(load.per_second);
        self.latencies.merge(&load.latencies);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rates.is_empty()
    }

    pub(super) fn per_second(&self) -> Cell {
        Cell::PerSecond(middle(&self.rates))
    }

    pub(super) fn millis(&self, quantile: f64) -> Cell {
        Cell::Millis(self.latencies.millis(quantile))
    }

    /// Processor time of the server for each request.
    pub(super) fn cpu_each(&self, spent: Duration) -> Cell {
        Cell::Micros(spent.as_secs_f64() * 1e6 / self.latencies.len() as f64)
    }

    /// As a part of the reference that took turns with it.
    pub(super) fn ratio(&self, reference: &Self) -> Cell {
        Cell::Ratio(middle_ratio(&self.rates, &reference.rates))
    }
}
