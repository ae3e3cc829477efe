//! Tests of the messaging aggregate.
