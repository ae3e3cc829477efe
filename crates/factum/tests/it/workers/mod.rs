//! Workers over real sockets: long polls on every transport, clients that go while they wait, and the example in Python.

mod example;
mod polls;
