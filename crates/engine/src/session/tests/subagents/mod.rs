//! Child agents: a table of where one stands and what can be done to it, trees that close, bounds, and properties.

mod bounds;
mod closing;
pub(super) mod family;
mod inherited;
mod lists;
mod properties;
mod states;
