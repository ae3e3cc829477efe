//! Workers: who may claim what, that each run is claimed once, that waiting costs nothing and misses nothing, and what
//! becomes of a run whose worker goes.

mod claims;
mod enrolling;
mod leases;
mod reports;
mod waits;
mod yard;
