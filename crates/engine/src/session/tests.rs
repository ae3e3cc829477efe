//! Tests of the session aggregate.
