//! Tests of the messaging aggregate: tables of who may do what, of what each command writes or refuses, and properties
//! that hold whatever is done.
//!
//! `world` drives the aggregate as the shell will (decide, number, encode, apply, index) and checks the invariants after
//! every commit, in the tables too. `reference` says again, in the plainest code, what a channel is.

mod access;
mod commands;
mod digest;
mod index_rows;
mod limits;
mod moves;
mod properties;
mod publish;
mod reference;
mod views;
mod world;
