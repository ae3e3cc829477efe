//! Whether two kinds of calls take the same time, as far as an onlooker can tell, on any machine however busy.
//!
//! Each sample is a pair: one call of each kind, in an order that a coin decides. Were the two the same to the server,
//! swapping them would change nothing, so each pair is a fair coin toss, whatever else the machine is doing. Two counts are
//! held against that: how often the first kind took longer (which sees a shift of the middle), and how many of the slowest
//! calls are of the first kind (which sees a difference in the tail). Both are binomial then; eight standard deviations are
//! one false alarm in 10^15 runs.
//!
//! It stands alone: the tests of the runtime, which this crate is built on, take it in as a file.

/// From here on it is no chance any more.
pub const DEVIATIONS_MAX: f64 = 8.0;

/// One in so many calls counts as slow.
const SLOWEST_OF: usize = 20;

/// How far the two counts are from what coins would give, in standard deviations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviations {
    pub middle: f64,
    pub tail: f64,
}

impl Deviations {
    /// Of the times of pairs of calls.
    pub fn of(pairs: &[(u128, u128)]) -> Self {
        let decided = pairs.iter().filter(|(first, second)| first != second);
        let middle = deviations(decided.clone().filter(|(first, second)| first > second).count(), decided.count());
        let mut all: Vec<(u128, bool)> =
            pairs.iter().flat_map(|(first, second)| [(*first, true), (*second, false)]).collect();
        all.sort_unstable();
        let slowest = &all[all.len() - all.len() / SLOWEST_OF..];
        Self { middle, tail: deviations(slowest.iter().filter(|(_, first)| *first).count(), slowest.len()) }
    }

    /// Whether the time tells the two apart.
    pub fn tell(self) -> bool {
        self.middle.abs() >= DEVIATIONS_MAX || self.tail.abs() >= DEVIATIONS_MAX
    }
}

/// Of a count of heads among fair coin tosses.
fn deviations(heads: usize, tosses: usize) -> f64 {
    if tosses == 0 {
        return 0.0;
    }
    (heads as f64 - tosses as f64 / 2.0) / (tosses as f64 / 4.0).sqrt()
}
