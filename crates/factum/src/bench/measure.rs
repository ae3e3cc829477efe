//! Latencies and middles.

use std::time::Duration;

use anyhow::Result;
use hdrhistogram::Histogram;

/// Durations, to three digits.
pub(super) struct Latencies(Histogram<u32>);

impl Latencies {
    pub(super) fn new() -> Result<Self> {
        Ok(Self(Histogram::new(3)?))
    }

    pub(super) fn record(&mut self, duration: Duration) {
        // It grows to whatever is recorded, so nothing is out of its range.
        let _ = self.0.record(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(super) fn merge(&mut self, other: &Latencies) {
        let _ = self.0.add(&other.0);
    }

    pub(super) fn len(&self) -> u64 {
        self.0.len()
    }

    pub(super) fn millis(&self, quantile: f64) -> f64 {
        self.nanos(quantile) / 1e6
    }

    /// The middle one.
    pub(super) fn middle_micros(&self) -> f64 {
        self.nanos(0.5) / 1e3
    }

    fn nanos(&self, quantile: f64) -> f64 {
        self.0.value_at_quantile(quantile) as f64
    }
}

/// The middle of the rounds; the lower one of two.
pub(super) fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
}

/// The middle of what each of ours was beside the reference measured next to it.
pub(super) fn middle_ratio(ours: &[f64], references: &[f64]) -> f64 {
    middle(&ours.iter().zip(references).map(|(ours, reference)| ours / reference).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_not_moved_by_one_bad_round() {
        assert_eq!(middle(&[3.0, 900.0, 1.0]), 3.0);
        assert_eq!(middle(&[2.0, 1.0]), 1.0);
        assert!(middle(&[]).is_nan());
    }

    #[test]
    fn quantiles_of_merged_latencies() {
        let (mut all, mut some) = (Latencies::new().unwrap(), Latencies::new().unwrap());
        for ms in 1..=50 {
            all.record(Duration::from_millis(ms));
            some.record(Duration::from_millis(ms + 50));
        }
        all.merge(&some);
        assert_eq!(all.len(), 100);
        assert!((all.millis(0.5) - 50.0).abs() < 0.1 && (all.millis(0.99) - 99.0).abs() < 0.1);
    }
}
