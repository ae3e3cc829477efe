//! The client against servers on loopback: what it refuses to follow, to wait for and to read.

mod bounds;
mod guard;
mod proxy;
mod world;
