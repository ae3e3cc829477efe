//! What is done to the two servers, choice by choice: a function of the seed alone.

use rand::RngExt;
use rand::rngs::StdRng;

use super::link::Trouble;

/// Something to give away. Its text is like no other.
#[derive(Clone, Debug)]
pub(super) struct Work {
    number: usize,
    /// In the middle of a turn instead of as a task.
    in_a_turn: bool,
    pub(super) text: String,
}

impl Work {
    /// The id of the task, or of the turn.
    pub(super) fn id(&self) -> String {
        format!("w{}", self.number)
    }

    /// The session of the turn, if it is one.
    pub(super) fn session_id(&self) -> Option<String> {
        self.in_a_turn.then(|| format!("s{}", self.number))
    }

    /// Whether whoever does it fails, as it is asked to.
    pub(super) fn fails(&self) -> bool {
        self.text.contains("fail:")
    }
}

/// The next thing to do.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    Give {
        from: usize,
        work: Work,
    },
    Cancel {
        number: usize,
    },
    Trouble {
        link: usize,
        trouble: Trouble,
    },
    Restore {
        link: usize,
    },
    Kill {
        side: usize,
    },
    /// Asked to end, which it does in its own time.
    Stop {
        side: usize,
    },
    Start {
        side: usize,
    },
    Wait {
        ticks: u32,
    },
}

/// The most work that may be begun between two kills.
const GIVEN_BETWEEN_MAX: usize = 12;
/// The most bytes that still pass before a wire is cut.
const BYTES_MAX: usize = 3_000;

pub(super) struct Chooser {
    rng: StdRng,
    kills_left: u64,
    given: usize,
    given_since: usize,
    up: [bool; 2],
    troubled: [bool; 2],
    wait: bool,
}

impl Chooser {
    pub(super) fn new(rng: StdRng, kills: u64) -> Self {
        Self { rng, kills_left: kills, given: 0, given_since: 0, up: [true; 2], troubled: [false; 2], wait: false }
    }

    pub(super) fn next(&mut self) -> Option<Choice> {
        // A moment passes between any two.
        self.wait = !self.wait;
        if self.wait {
            let ticks = if self.rng.random_bool(0.3) { 0 } else { self.rng.random_range(0..15) };
            return Some(Choice::Wait { ticks });
        }
        loop {
            let one = self.rng.random_range(0..2);
            match self.rng.random_range(0..100) {
                0..45 if self.given_since < GIVEN_BETWEEN_MAX => return Some(self.give(one)),
                45..55 if self.given > 0 => {
                    // Mostly something that is still at work.
                    let back = self.rng.random_range(0..self.given.min(6));
                    return Some(Choice::Cancel { number: self.given - 1 - back });
                }
                55..67 => return Some(self.trouble(one)),
                67..80 if self.troubled[one] => {
                    self.troubled[one] = false;
                    return Some(Choice::Restore { link: one });
                }
                80..92 if self.up[one] => {
                    self.kills_left = self.kills_left.checked_sub(1)?;
                    self.given_since = 0;
                    self.up[one] = false;
                    let gently = self.rng.random_bool(0.25);
                    return Some(if gently { Choice::Stop { side: one } } else { Choice::Kill { side: one } });
                }
                92.. if !self.up[one] => {
                    self.up[one] = true;
                    return Some(Choice::Start { side: one });
                }
                _ => {}
            }
        }
    }

    fn give(&mut self, from: usize) -> Choice {
        let number = self.given;
        self.given += 1;
        self.given_since += 1;
        let first = match self.rng.random_range(0..10) {
            0..3 => "slow:",
            3..6 => "made:",
            6..8 => "relay: slow:",
            8 => "relay: made:",
            _ => "fail:",
        };
        let in_a_turn = self.rng.random_bool(0.4);
        Choice::Give { from, work: Work { number, in_a_turn, text: format!("{first} w{number}") } }
    }

    fn trouble(&mut self, link: usize) -> Choice {
        self.troubled[link] = true;
        let trouble = match self.rng.random_range(0..10) {
            0..2 => Trouble::Cut,
            2..5 => Trouble::CutAfter(self.rng.random_range(0..BYTES_MAX)),
            5 => Trouble::Refuse,
            6..8 => Trouble::Stall,
            _ => Trouble::StallAnswers,
        };
        Choice::Trouble { link, trouble }
    }
}
