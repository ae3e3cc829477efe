//! Where the client of a task wants to be told of changes (seed 004, "Setting Task Notifications").
//!
//! Configurations belong to tasks, ended ones too, so nothing of them is in the state: they are rows, and a decision is given
//! those of its task. Sending is not here.

mod configs;
mod rows;

#[cfg(test)]
mod tests;

pub use configs::{NewPushConfig, PushConfig, delete_push_config, set_push_config};
pub(super) use rows::rows_of;
pub use rows::keys;
