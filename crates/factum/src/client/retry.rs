//! When to try again, and when to give up: one answer for everything that outlives a connection.

use std::time::Duration;

use anyhow::Result;

use crate::failure::{Exit, exit_of, retry_after};

/// The pauses between attempts: this, doubled each time, up to the next.
const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// Attempts in a row that bring nothing before it ends: about five minutes.
const ATTEMPTS_MAX: u32 = 64;

/// How often it went wrong in a row.
#[derive(Debug, Default)]
pub(crate) struct Retry {
    attempts: u32,
    reached: bool,
}

impl Retry {
    /// For something that goes on where the server was reached before.
    pub(crate) fn reached_before() -> Self {
        Self { attempts: 0, reached: true }
    }

    /// The server is there, so that it is worth waiting for.
    pub(crate) fn reached(&mut self) {
        self.reached = true;
    }

    /// Something came of it.
    pub(crate) fn progressed(&mut self) {
        self.attempts = 0;
    }

    /// How long to wait before the next attempt; the error itself where waiting will not help. `asked` is the pause that
    /// the server would like.
    pub(crate) fn pause(&mut self, error: anyhow::Error, asked: Option<Duration>) -> Result<Duration> {
        let later = retry_after(&error);
        let refused = exit_of(&error) == Exit::Findings && later.is_none();
        if refused || !self.reached || self.attempts >= ATTEMPTS_MAX {
            return Err(error);
        }
        let usual = asked.unwrap_or(PAUSE_MIN).saturating_mul(1 << self.attempts.min(5)).min(PAUSE_MAX);
        let pause = later.map_or(usual, |later| later.max(PAUSE_MIN));
        tracing::info!(%error, pause_ms = pause.as_millis() as u64, "trying again");
        self.attempts += 1;
        Ok(pause)
    }
}

#[cfg(test)]
mod tests {
    use factum_model::{ErrorCode, Refusal};

    use super::*;
    use crate::failure::Problem;

    fn away() -> anyhow::Error {
        Problem::unreachable("away").into()
    }

    fn refused(refusal: &Refusal) -> anyhow::Error {
        Problem::refusal("it", refusal).into()
    }

    #[test]
    fn only_what_may_pass_is_waited_for() {
        assert!(Retry::default().pause(away(), None).is_err(), "a server that was never there");
        let mut retry = Retry::reached_before();
        assert_eq!(retry.pause(away(), None).ok(), Some(PAUSE_MIN));
        assert_eq!(retry.pause(away(), None).ok(), Some(PAUSE_MIN * 2));
        assert!(retry.pause(refused(&Refusal::not_found()), None).is_err());
        let busy = Refusal::new(ErrorCode::RateLimited, "slow down").with("retry_after_ms", 700);
        assert_eq!(retry.pause(refused(&busy), None).ok(), Some(Duration::from_millis(700)));
    }

    #[test]
    fn waiting_has_an_end_unless_something_comes_of_it() {
        let mut retry = Retry::reached_before();
        let attempts = (0..).take_while(|_| retry.pause(away(), None).is_ok()).count();
        assert_eq!(attempts, ATTEMPTS_MAX as usize);
        retry.progressed();
        assert!(retry.pause(away(), None).is_ok());
    }
}
