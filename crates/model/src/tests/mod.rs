//! Tests of the whole catalogue: that everything the seeds name is here, and that everything here is sound.

mod names;
mod round_trip;
mod schemas;
mod standard;
