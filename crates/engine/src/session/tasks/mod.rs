//! Tasks: units of work with a lifecycle, attempts, a graph and acceptance, as a part of the session they belong to.
//!
//! `state` is what is remembered, `apply` (with `attempts`, `endings` and `graph`) the only code that changes it, `moves` the table of
//! statuses, `draft` how a decision is made step by step, `agenda` how orders and completions spread, `rows` the index.
//! Each command is one file.

mod agenda;
mod agent_turn;
mod append_task_progress;
mod apply;
mod attempts;
mod cancel_task;
mod clock;
mod complete_task;
mod create_task;
mod draft;
mod endings;
mod fail_task;
mod fields;
mod finish_attempt;
mod given_away;
mod graph;
mod helped;
mod helpers;
pub mod inbound;
mod known;
mod link_tasks;
mod moves;
mod pause_task;
mod peer_runs;
mod produced;
mod propagated;
mod read_model;
mod reconcile;
mod resume_task;
mod retry_task;
mod rows;
mod runs;
mod start_task;
mod state;
mod timers;
mod turn_ended;
mod turn_recovered;
mod turn_started;
mod turn_waits;
mod unlink_tasks;
mod update_task;
mod weight;

#[cfg(test)]
mod tests;

pub(super) use agenda::carry_on;
pub use agenda::continue_tasks;
pub use agent_turn::PAUSED;
pub(super) use agent_turn::require_going;
pub use append_task_progress::append_task_progress;
pub(super) use apply::apply;
pub use cancel_task::cancel_task;
pub use complete_task::complete_task;
pub use create_task::create_task;
pub use fail_task::fail_task;
pub(super) use given_away::call_back;
pub use given_away::{GivenAway, give_away, task_of_call};
pub(super) use helped::{helpers_settled, require_takes_helpers, spawned_edge};
pub(super) use known::require_known;
pub use link_tasks::{Found, edge_of, link_tasks};
pub use moves::{may_move, moves};
pub use pause_task::pause_task;
pub use peer_runs::observe_peer;
pub(super) use produced::artifacts_produced;
pub use read_model::{TaskHistory, task_record, task_snapshot};
pub use resume_task::resume_task;
pub use retry_task::retry_task;
pub(super) use rows::RowDiff;
pub use rows::keys;
pub(super) use runs::{
    claim_run, complete_run, expire_lease, fail_run, has_run, holder, release_run, report_run, task_of_run,
};
pub(super) use start_task::delegated;
pub use start_task::start_task;
pub use state::Tasks;
pub(super) use timers::fire_timer;
pub(super) use turn_ended::turn_ended;
pub(super) use turn_recovered::turn_recovered;
pub(super) use turn_started::turn_started;
pub(super) use turn_waits::actions_changed;
pub use unlink_tasks::unlink_tasks;
pub use update_task::update_task;
pub(super) use weight::Weight;
