//! The client against peers on loopback that say what a test wants, in every version and binding it speaks.

mod cards;
mod failures;
mod fake;
mod grpc;
mod operations;
