//! The session aggregate: a session, its threads, their turns and queues, tool calls and open actions.
//!
//! `state` is what is remembered, `apply` the only code that changes it, and each command file decides without changing
//! anything. History is not here: it is in the log, so the state stays small however long a session gets.

mod answer_schema;
mod apply;
mod create_session;
mod crossing;
pub mod delegations;
mod effects;
mod expire_action;
mod index;
mod interrupt_turn;
pub mod jobs;
mod lookup;
mod owners;
mod promote_queued_turn;
pub mod push;
mod questions;
mod read_model;
mod recover;
mod remove_queued_turn;
mod report;
mod respond_action;
mod resting;
mod resume_thread;
mod state;
mod steps;
pub mod subagents;
mod submit_turn;
pub mod tasks;
pub(crate) mod text;
mod thread_start;
mod timers;
mod turn_end;
mod turn_start;
mod update_session;
mod verdict;
mod waiting;
pub mod workers;

#[cfg(test)]
mod tests;

pub use apply::apply;
pub use create_session::create_session;
pub(crate) use crossing::Asked;
pub use effects::{Effect, effects};
pub use expire_action::expire_action;
pub use index::{ActionRow, CommitFold, IdempotencyRow, SessionRow, Timer, TimerKind, apply_commit, keys};
pub(crate) use index::{idempotency_row, idempotency_row_at};
pub use interrupt_turn::interrupt_turn;
pub use lookup::require_session;
pub use owners::name_owners;
pub use promote_queued_turn::promote_queued_turn;
pub use questions::open_questions;
pub use read_model::{queue_snapshot, session_snapshot, step_view, thread_read_model};
pub use recover::recover;
pub use remove_queued_turn::remove_queued_turn;
pub use report::decide_report;
pub use respond_action::{CHANNEL_SCOPED, refuse_for_closed_channel, respond_action};
pub use resting::left_thread_key;
pub use resume_thread::resume_thread;
pub use state::{ActiveTurn, CallState, OpenAction, OpenCall, OpenModelRequest, SessionState, Shell, Thread};
pub use submit_turn::{submit_turn, turn_exists, unknown_thread};
pub use timers::fire_timer;
pub use update_session::update_session;
pub use verdict::{Verdict, answer_text, verdict};
pub(crate) use waiting::asked_in;
