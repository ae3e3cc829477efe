//! Jobs: batches of items, done by workers outside the process or by an agent, a few at once (CONTRACT, "Jobs"); and
//! schedules, which make jobs.
//!
//! ```text
//!   create_job ─► pending ─► in hand ─► completed
//!   schedule ─┘      ▲          │  └──► failed ◄─ retry_job_item takes it up again
//!                    └─ waits ◄─┘
//! ```
//!
//! Nothing here waits for anything in memory: an item that a worker may claim, a lease, an attempt to come and a time that
//! will be over are rows of the index, and an agent's turn is its thread's business. So a restart finds everything as it was.
//! No decision writes more than `max_concurrency` items' worth of facts.

mod apply;
mod cancel_job;
mod check;
mod create_job;
mod hand_out;
mod item_rows;
mod reported;
mod retry_job_item;
mod rows;
mod runs;
mod schedules;
mod settle;
mod state;
mod stop;
mod tally;
mod timers;
mod turn_ended;
mod turn_recovered;

pub(super) use apply::apply;
pub(super) use cancel_job::cancel_for_task;
pub use cancel_job::cancel_job;
pub use create_job::create_job;
pub use retry_job_item::{EndedItem, never_begun, retry_job_item};
pub(super) use rows::RowDiff;
pub use rows::{JobLine, JobRow, ScheduleLine, keys};
pub(super) use runs::{claim_run, complete_run, expire_lease, fail_run, holder, release_run, report_run};
pub use schedules::{create_schedule, end_schedule};
pub use state::Jobs;
pub(super) use timers::fire_timer;
pub(super) use turn_ended::turn_ended;
pub(super) use turn_recovered::turn_recovered;
