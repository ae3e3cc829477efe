//! Schedules: when jobs are made by themselves.
//!
//! A schedule knows its next time, which is a durable timer. When it comes, one commit says that the schedule fired, makes
//! the job and sets the next time; so a crash finds either none of it or all of it. Times that passed while nobody was there
//! are one late timer, and the schedule's policies say what to make of them.

mod create_schedule;
mod cron;
#[cfg(test)]
mod cron_tests;
mod end_schedule;
mod fire;
mod times;

pub use create_schedule::create_schedule;
pub use end_schedule::end_schedule;
pub(super) use fire::fire_schedule;
