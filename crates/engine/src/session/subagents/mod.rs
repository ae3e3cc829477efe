//! Child agents: threads of the same session that somebody spawned below a thread, each with a life of its own.
//!
//! A child agent is a thread like any other, so its turns queue, run, wait for people and survive crashes as all turns do.
//! What is here is what a thread does not have: who its parent is, what it inherits and may not widen, when its work has
//! come to rest, and closing. Where a child stands is mostly read from its thread; only what a thread cannot tell is a fact.
//!
//! Open child agents are in the state. One that is closed leaves it, and its record becomes a row of the index;
//! its thread follows when enough others were closed behind it.
//!
//! ```text
//!   spawned ─► running ─► completed | failed | cancelled ─► (input, resume) ─► running …
//!                 └────────────────┴──► closing ─► closed          never back
//! ```

mod apply;
mod close;
mod ended;
mod inherit;
mod input;
mod resume;
mod rows;
mod spawn;
mod state;
mod summary;
mod view;
mod waits;

pub(super) use apply::apply;
pub use close::close_subagent;
pub(super) use close::{close_for_task, fire_timer};
pub(super) use ended::turn_ended;
pub use input::send_subagent_input;
pub(super) use input::takes_input;
pub use resume::resume_subagent;
pub(super) use rows::RowDiff;
pub use rows::{SubagentRow, Within, keys};
pub use spawn::{spawn_subagent, subagent_exists};
pub use state::{Closing, Subagent, Subagents};
pub use summary::subagent_job_summary;
pub use view::{is_at_rest, subagent_record};
pub(super) use waits::actions_changed;
