//! A deadline that moves with every request and is hardly ever reached.
//!
//! Moving a timer of tokio's takes a lock that all connections share, so it is not moved: when it runs out, it looks whether
//! the deadline has moved on meanwhile.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

pub(super) struct Alarm {
    deadline: Instant,
    /// Never later than the deadline. Made when it is first waited for.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Alarm {
    pub(super) fn new() -> Self {
        Self { deadline: Instant::now(), timer: None }
    }

    /// Sets it anew, never to an earlier time: every use of one alarm sets the same time.
    pub(super) fn set(&mut self, after: Duration) {
        self.deadline = Instant::now() + after;
    }

    pub(super) async fn ring(&mut self) {
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(self.deadline)));
        loop {
            timer.as_mut().await;
            if Instant::now() >= self.deadline {
                return;
            }
            timer.as_mut().reset(self.deadline);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_rings_at_the_deadline_that_was_set_last() {
        let started = Instant::now();
        let mut alarm = Alarm::new();
        alarm.set(Duration::from_secs(10));
        assert!(tokio::time::timeout(Duration::from_secs(7), alarm.ring()).await.is_err());
        alarm.set(Duration::from_secs(10));
        alarm.ring().await;
        assert_eq!(started.elapsed().as_secs(), 17);
    }
}
