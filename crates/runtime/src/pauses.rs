//! The pause before something that failed is tried again: longer each time, up to a bound.

use std::time::Duration;

/// The pause after the first failure.
pub(crate) const FIRST: Duration = Duration::from_millis(500);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(300);

/// The pause after a try that `failed` others came before.
pub(crate) fn growing(failed: u32) -> Duration {
    FIRST.saturating_mul(2_u32.saturating_pow(failed)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_bound() {
        let seconds = |failed| growing(failed).as_millis();
        assert_eq!([0, 1, 2, 9].map(seconds), [500, 1_000, 2_000, 256_000]);
        assert_eq!([10, 40, u32::MAX].map(growing), [LONGEST; 3]);
    }
}
