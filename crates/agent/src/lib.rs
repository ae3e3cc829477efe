//! Turn execution: the loop that works on a turn, and the models and tools it drives.
//!
//! ```text
//!            ┌────────────────────── facts of the turn ◄──────────────────────┐
//!            ▼                                                                │
//!   Transcript (a fold) ──► next (pure) ──► ask the model, run a tool, end ──► Host::report
//! ```
//!
//! The loop is durable execution: it keeps no state that is not in the facts. Before it touches the world it reports the
//! intent, afterwards the outcome, and it goes on with the facts that come back. So a crash at any line leaves facts from
//! which the next run goes on: a model request that was cut off is asked again, a tool that may be repeated runs again, one
//! that may not is put before a person (the engine's `recover` says which).
//!
//! Where to look: [`run_turn`] is the loop, [`next()`] its only decision, [`Transcript`] what it decides from. [`Model`] and
//! [`Tools`] are the seams; [`script`] fills both from a TOML file, which is how demos, tests and replays drive the runtime
//! without a provider.
//!
//! Deliberately absent: storing, timers, deciding what a report means, preventing two runs of one turn. That is the
//! shell's and the engine's, reached through [`Host`].

mod agents;
mod ask;
mod at_once;
mod call;
mod host;
mod model;
mod next;
mod panic;
mod pieces;
pub mod script;

#[cfg(test)]
mod tests;
mod tools;
mod transcript;
mod turn;

pub use agents::{Agent, Agents, BadAgents};
pub use ask::{ANSWER_BYTES_MAX, CALLS_PER_ANSWER_MAX, MODEL_TRIES_MAX};
pub use at_once::at_once;
pub use host::{Host, Stopped};
pub use model::{Answer, Artifact, ArtifactContent, Model, ModelRequest, Piece, Sink, TurnView};
pub use next::{CALLS_AT_ONCE_MAX, MODEL_ROUNDS_MAX, Next, next};
pub use script::{Script, ScriptError};
pub use tools::{DELEGATE_TOOL, ProgressSink, ToolInvocation, ToolOutput, Tools};
pub use transcript::{Call, CallState, FailedTry, OpenRequest, Outcome, Round, Transcript};
pub use turn::{Progress, Turn, run_turn};
