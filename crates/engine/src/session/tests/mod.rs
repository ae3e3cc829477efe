//! Tests of the session aggregate: tables of what each command writes, and properties that hold whatever is done.
//!
//! `world` drives the aggregate as the shell will (decide, number, encode, apply, index) and checks the invariants after
//! every commit, in the tables too. `story` says in a line what a fact says, so that a table shows all facts of a commit.

mod actions;
mod index_rows;
mod invariants;
mod jobs;
mod limits;
mod moves;
mod properties;
mod queue;
mod read_models;
mod recovery;
mod reports;
mod resting;
mod story;
mod subagents;
mod timeouts;
mod turns;
pub(super) mod world;

use world::World;

/// Brings a world to where a row of a table begins.
type Setup = fn(&mut World);

/// Does the one thing a row is about, and tells what it wrote.
type Act = fn(&mut World) -> Vec<String>;

/// Sets an idle session up, does one thing, and compares everything that it wrote, or how it was refused.
fn check(name: &str, setup: Setup, act: Act, expected: &[&str]) {
    let mut world = World::idle();
    setup(&mut world);
    assert_eq!(act(&mut world), expected, "{name}");
}
