//! Tests of tasks: the table of moves walked pair by pair, scenarios of each promise, and a reference model that random
//! commands, crashes and timers are played against.
//!
//! `board` drives a session's tasks as the shell does and looks after every commit whether everything in `invariants`
//! still holds.

mod agents;
mod any_move;
mod attempts;
mod blockers;
mod board;
mod bounds;
mod cancelling;
mod completion;
mod fields;
mod given_away;
mod graph;
mod helpers;
mod invariants;
mod leases;
mod model;
mod model_graph;
mod model_helpers;
mod model_runs;
mod moves;
mod pausing;
mod peer_channels;
mod peer_questions;
pub(super) mod peers;
mod peers_random;
mod play;
mod properties;
mod read_models;
mod recall;
mod retries;
mod timers;
mod weight;
